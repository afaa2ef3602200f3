//===- MachineProfileFileTest.cpp - Messages about wrong profiles ---------===//

#include "compiler/spec/MachineProfileFile.h"
#include "TemporaryFolder.h"

#include <gtest/gtest.h>

using namespace hone;

static const std::string rates =
    R"("flops_per_second": 1, "other_flops_per_second": 1,
       "bytes_per_second": 1, "fills_per_second": 1)";

static rt::Message messageOf(const std::string &profile) {
  TemporaryFolder folder;
  auto costs = readProfile(folder.write("profile.json", profile));
  return costs.isOk() ? rt::Message() : costs.status().message();
}

static std::string problemOf(const std::string &profile) {
  return messageOf(profile).problem;
}

TEST(MachineProfileFile, NamesTheRangeOfARate) {
  EXPECT_EQ(problemOf("{" + rates + "}"), "");
  EXPECT_EQ(problemOf(R"({"flops_per_second": 0})"),
            "expected 'flops_per_second' to be a number from 1e-6 to 1e24");
  EXPECT_EQ(problemOf("{" + rates + R"(, "launch_seconds": 0})"),
            "expected 'launch_seconds' to be a number from 1e-24 to 1e6");
}

TEST(MachineProfileFile, CutsALongNameBetweenCharacters) {
  for (const std::string character : {"x", "\u00e9", "\u20ac", "\U0001f600"}) {
    std::string name, shown = "families.";
    for (int i = 0; i < 100; ++i)
      name += character;
    while (shown.size() + character.size() <= 80)
      shown += character;
    EXPECT_EQ(
        problemOf("{" + rates + R"(, "families": {")" + name + R"(": 1}})"),
        "expected '" + shown + "...' to be an object");
  }
  // A name of 80 bytes is whole.
  const std::string name(80 - std::string("families.").size(), 'x');
  EXPECT_EQ(problemOf("{" + rates + R"(, "families": {")" + name + R"(": 1}})"),
            "expected 'families." + name + "' to be an object");
}

TEST(MachineProfileFile, RefusesAKeyThatItDoesNotKnow) {
  rt::Message message = messageOf("{" + rates + R"(, "launch_second": 1})");
  EXPECT_EQ(message.problem, "'launch_second' is no key of a profile");
  EXPECT_EQ(message.remedy, "did you mean 'launch_seconds'?");
  message = messageOf("{" + rates + R"(, "families": {"f": {"flops": 1}}})");
  EXPECT_EQ(message.problem, "'families.f.flops' is no key of a profile");
  EXPECT_EQ(message.remedy, "did you mean 'flop'?");
  message = messageOf("{" + rates + R"(, "notes": 1})");
  EXPECT_EQ(message.remedy.substr(0, 40),
            "its keys are step_seconds, threads, fami");
}
