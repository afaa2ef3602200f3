//===- ProfileTest.cpp - Which kernel time goes to      ---------------===//

#include "program/Profile.h"
#include "TemporaryFolder.h"
#include "device/HostDevice.h"

#include <gtest/gtest.h>

using namespace hone::rt;

static void first(void *, int64_t, int64_t) {}
static void second(void *, int64_t, int64_t) {}

static const hone_module &module() {
  static const hone_kernel kernels[] = {
      {first, nullptr, "decoder", "lora_linear q_proj", 0, 0, nullptr, 0},
      {second, nullptr, "decoder.backward", "attention_adjoint self_attn", 0, 0,
       nullptr, 0}};
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
  profile.ran(0, 0.25);
  profile.ran(1, 1.5);
  profile.ran(1, 0.5);
  profile.stop(5, 0.125);
  std::string text = written(profile);
  EXPECT_NE(text.find("{\"steps\": 2, "), std::string::npos);
  EXPECT_NE(text.find(", \"waited\": 0.125, "), std::string::npos);
  EXPECT_NE(text.find("{\"block\": \"decoder\", \"kernel\": "
                      "\"lora_linear q_proj\", \"calls\": 1, "
                      "\"seconds\": 0.25}"),
            std::string::npos);
  EXPECT_NE(text.find("\"calls\": 2, \"seconds\": 2}"), std::string::npos);
}

TEST(Profile, ShowsTheLongestFirst) {
  Profile profile(module());
  profile.start(0);
  profile.ran(0, 0.25);
  profile.ran(1, 0.5);
  profile.stop(1);
  std::string text = profile.render();
  size_t backward = text.find("decoder.backward: attention_adjoint self_attn");
  size_t forward = text.find("decoder: lora_linear q_proj");
  ASSERT_NE(backward, std::string::npos);
  ASSERT_NE(forward, std::string::npos);
  EXPECT_LT(backward, forward);
  EXPECT_NE(text.find("500.00 ms"), std::string::npos);
}

TEST(Profile, IsToldOfEachKernel) {
  auto pool = Pool::create(2);
  ASSERT_TRUE(pool.isOk());
  HostDevice device(*pool.value());
  auto frame = device.load(module(), {});
  ASSERT_TRUE(frame.isOk());
  Profile profile(module());
  device.observe(&profile);
  profile.start(0);
  hone_launch(&frame.value(), 0, nullptr, 100);
  hone_launch(&frame.value(), 1, nullptr, 0);
  profile.stop(1);
  EXPECT_NE(written(profile).find("\"lora_linear q_proj\", \"calls\": 1"),
            std::string::npos);
}
