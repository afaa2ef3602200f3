//===- SelectionRuleTest.cpp - How many layers a step selects -------------===//

#include "passes/derive/SelectLayers.h"

#include <gtest/gtest.h>

using namespace hone;
using Kind = SelectionRule::Kind;

TEST(SelectionRule, PartsAreRoundedUp) {
  EXPECT_EQ(partOf(24, 0.5), 12);
  EXPECT_EQ(partOf(24, 0.51), 13);
  EXPECT_EQ(partOf(36, 0.3), 11);
  EXPECT_EQ(partOf(24, 1), 24);
  EXPECT_EQ(partOf(24, 1e-300), 1);
}

TEST(SelectionRule, AWholePartIsNotRoundedUp) {
  EXPECT_EQ(partOf(30, 0.1), 3);
  EXPECT_EQ(partOf(100, 0.07), 7) << "100 * 0.07 is above 7 in double";
  for (int64_t layers = 1; layers <= 200; ++layers)
    for (int64_t part = 1; part <= layers; ++part)
      EXPECT_EQ(partOf(layers, double(part) / double(layers)), part);
}

TEST(SelectionRule, KindsAreFoundByName) {
  EXPECT_EQ(SelectionRule::parseKind("uniform"), Kind::Uniform);
  EXPECT_EQ(SelectionRule::parseKind("round-robin"), Kind::RoundRobin);
  EXPECT_EQ(SelectionRule::parseKind("Uniform"), std::nullopt);
}

TEST(SelectionRule, MostIsWhatNoStepExceeds) {
  EXPECT_EQ((SelectionRule{Kind::Uniform, 0.3, 4, 0}).mostOf(10), 3);
  EXPECT_EQ((SelectionRule{Kind::RoundRobin, 0.3, 4, 0}).mostOf(10), 3);
  EXPECT_EQ((SelectionRule{Kind::Cyclic, 0.3, 4, 0}).mostOf(10), 3);
  EXPECT_EQ((SelectionRule{Kind::Bernoulli, 0.3, 4, 0}).mostOf(10), 10);
  EXPECT_EQ((SelectionRule{Kind::Uniform, 0.3, 4, 9}).mostOf(10), 3)
      << "a warm-up has no selection";
}
