//===- ProfileTest.cpp - Which kernel a loop's time goes to ---------------===//

#include "program/Profile.h"
#include "TemporaryFolder.h"

#include <gtest/gtest.h>

using namespace hone::rt;

static void first(void *, int64_t, int64_t) {}
static void second(void *, int64_t, int64_t) { asm volatile(""); }
static void unnamed(void *, int64_t, int64_t) { asm volatile("" ::: "memory"); }

static const hone_module &module() {
  static const hone_kernel kernels[] = {
      {first, "decoder", "lora_linear q_proj"},
      {second, "decoder.backward", "attention_adjoint self_attn"}};
  static hone_module m = {};
  m.kernels = kernels;
  m.kernel_count = 2;
  return m;
}

static std::string written(const Profile &profile) {
  TemporaryFolder folder;
  EXPECT_TRUE(profile.write(folder.file("profile.json")).isOk());
  return folder.read("profile.json");
}

TEST(Profile, CountsCallsAndSecondsOfEachKernel) {
  Profile profile(module());
  profile.start(3);
  profile.ran(first, 0.25);
  profile.ran(second, 1.5);
  profile.ran(second, 0.5);
  profile.ran(unnamed, 8);
  profile.stop(5);
  std::string text = written(profile);
  EXPECT_NE(text.find("{\"steps\": 2, "), std::string::npos);
  EXPECT_NE(text.find("{\"block\": \"decoder\", \"kernel\": "
                      "\"lora_linear q_proj\", \"calls\": 1, "
                      "\"seconds\": 0.25}"),
            std::string::npos);
  EXPECT_NE(text.find("\"calls\": 2, \"seconds\": 2}"), std::string::npos);
}

TEST(Profile, ShowsTheLongestFirst) {
  Profile profile(module());
  profile.start(0);
  profile.ran(first, 0.25);
  profile.ran(second, 0.5);
  profile.stop(1);
  std::string text = profile.render();
  size_t backward = text.find("decoder.backward: attention_adjoint self_attn");
  size_t forward = text.find("decoder: lora_linear q_proj");
  ASSERT_NE(backward, std::string::npos);
  ASSERT_NE(forward, std::string::npos);
  EXPECT_LT(backward, forward);
  EXPECT_NE(text.find("500.00 ms"), std::string::npos);
}

TEST(Profile, IsToldOfEachLoop) {
  auto pool = Pool::create(2);
  ASSERT_TRUE(pool.isOk());
  Profile profile(module());
  pool.value()->observe(&profile);
  profile.start(0);
  pool.value()->run(first, nullptr, 100);
  pool.value()->run(second, nullptr, 0);
  profile.stop(1);
  EXPECT_NE(written(profile).find("\"lora_linear q_proj\", \"calls\": 1"),
            std::string::npos);
}
