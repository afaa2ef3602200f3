//===- BestEvaluationTest.cpp - Which evaluation was the best -------------===//

#include "program/BestEvaluation.h"

#include <gtest/gtest.h>

#include <cmath>

using namespace hone::rt;

TEST(BestEvaluation, TheFirstOfTheLeastLosses) {
  BestEvaluation best("loss", "data");
  EXPECT_FALSE(best.exists());
  EXPECT_TRUE(best.add(10, {2.0}));
  EXPECT_TRUE(best.add(20, {1.5}));
  EXPECT_FALSE(best.add(30, {1.5}));
  EXPECT_FALSE(best.add(40, {NAN}));
  EXPECT_EQ(best.step(), 20u);
  EXPECT_EQ(best.waited(), 2u);
  EXPECT_TRUE(best.add(50, {1.25}));
  EXPECT_EQ(best.waited(), 0u);
}

TEST(BestEvaluation, OrTheGreatestAccuracy) {
  BestEvaluation best("accuracy", "data");
  EXPECT_TRUE(best.add(1, {2.0, 1, 8, 4}));
  EXPECT_FALSE(best.add(2, {1.0, 1, 8, 4}));
  EXPECT_TRUE(best.add(3, {3.0, 1, 8, 5}));
  EXPECT_EQ(best.value(), 0.625);
}

TEST(BestEvaluation, NothingIsBestBeforeALossIsFinite) {
  BestEvaluation best("loss", "data");
  EXPECT_FALSE(best.add(1, {INFINITY}));
  EXPECT_FALSE(best.exists());
  EXPECT_EQ(best.waited(), 0u);
  EXPECT_TRUE(best.fields().empty());
}

TEST(BestEvaluation, GoesOnFromACheckpointToTheBit) {
  BestEvaluation before("loss", "data");
  before.add(3, {1.0 / 3});
  before.add(4, {2.0});
  BestEvaluation after("loss", "data");
  bool isSame = false;
  ASSERT_TRUE(after.restore(before.fields(), "c", isSame).isOk());
  EXPECT_TRUE(isSame);
  EXPECT_EQ(after.step(), 3u);
  EXPECT_EQ(after.value(), 1.0 / 3);
  EXPECT_EQ(after.waited(), 1u);
}

TEST(BestEvaluation, OtherDataOrMetricBeginAnew) {
  BestEvaluation before("loss", "data");
  before.add(3, {1.0});
  for (BestEvaluation after :
       {BestEvaluation("loss", "other"), BestEvaluation("accuracy", "data")}) {
    bool isSame = true;
    ASSERT_TRUE(after.restore(before.fields(), "c", isSame).isOk());
    EXPECT_FALSE(isSame);
    EXPECT_FALSE(after.exists());
  }
}

TEST(BestEvaluation, RefusesFieldsThatItDidNotWrite) {
  BestEvaluation before("loss", "data");
  before.add(3, {1.0});
  const std::pair<const char *, const char *> edits[] = {
      {"best_step", "-1"},
      {"best_step", ""},
      {"best_value", "nan"},
      {"best_value", "1.0x"},
      {"best_step", "99999999999999999999"},
      {"evaluations_since_best", "two"}};
  for (auto [name, value] : edits) {
    CheckpointFields fields = before.fields();
    fields[name] = value;
    BestEvaluation after("loss", "data");
    bool isSame = false;
    Status status = after.restore(fields, "folder", isSame);
    EXPECT_EQ(status.errorCode(), ErrorCode::CheckpointMisfit) << value;
    EXPECT_EQ(status.message().place, "folder");
  }
}
