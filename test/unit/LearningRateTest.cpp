//===- LearningRateTest.cpp - The learning rate of each step --------------===//
//
// Values by hand from the formulas of transformers/optimization.py.
//
//===----------------------------------------------------------------------===//

#include "step/LearningRate.h"

#include <gtest/gtest.h>

using namespace hone::rt;

TEST(LearningRate, LinearFallsFromThePeakToZero) {
  LearningRate rate{LrScheduler::Linear, 1.0, 0, 4};
  EXPECT_EQ(rate.at(0), 1.0);
  EXPECT_EQ(rate.at(1), 0.75);
  EXPECT_EQ(rate.at(3), 0.25);
  EXPECT_EQ(rate.at(4), 0.0);
  EXPECT_EQ(rate.at(9), 0.0);
}

TEST(LearningRate, LinearDecaysOverWhatTheWarmupLeaves) {
  LearningRate rate{LrScheduler::Linear, 2.0, 2, 6};
  EXPECT_EQ(rate.at(0), 0.0);
  EXPECT_EQ(rate.at(1), 1.0);
  EXPECT_EQ(rate.at(2), 2.0);
  EXPECT_EQ(rate.at(3), 1.5);
  EXPECT_EQ(rate.at(5), 0.5);
}

TEST(LearningRate, CosineIsHalfAWave) {
  LearningRate rate{LrScheduler::Cosine, 1.0, 1, 5};
  EXPECT_EQ(rate.at(0), 0.0);
  EXPECT_EQ(rate.at(1), 1.0);
  EXPECT_DOUBLE_EQ(rate.at(2), 0.8535533905932737); // (1 + cos(pi/4)) / 2
  EXPECT_DOUBLE_EQ(rate.at(3), 0.5);
  EXPECT_DOUBLE_EQ(rate.at(4), 0.14644660940672627); // (1 + cos(3 pi/4)) / 2
  EXPECT_EQ(rate.at(5), 0.0);
}

TEST(LearningRate, ConstantStaysAfterTheWarmup) {
  LearningRate rate{LrScheduler::Constant, 3.0, 3, 5};
  EXPECT_EQ(rate.at(0), 0.0);
  EXPECT_EQ(rate.at(1), 3.0 * (1.0 / 3.0));
  EXPECT_EQ(rate.at(3), 3.0);
  EXPECT_EQ(rate.at(100), 3.0);
}

TEST(LearningRate, WarmupMayOutlastTheRun) {
  LearningRate rate{LrScheduler::Linear, 1.0, 10, 4};
  EXPECT_EQ(rate.at(3), 0.3);
}
