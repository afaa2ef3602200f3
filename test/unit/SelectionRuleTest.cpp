//===- SelectionRuleTest.cpp - How many layers a step selects -------------===//

#include "passes/selection/SelectionRule.h"

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

static SelectionRule ruleOf(const char *kind, double ratio) {
  SelectionRule rule;
  rule.ratio = ratio;
  rule.groups = 4;
  EXPECT_EQ(rule.parse(kind, "constant"), "");
  return rule;
}

TEST(SelectionRule, NamesAreFoundOrListed) {
  EXPECT_EQ(ruleOf("uniform", 1).kind, Kind::Uniform);
  EXPECT_EQ(ruleOf("stochastic-depth", 1).kind, Kind::StochasticDepth);
  SelectionRule rule;
  EXPECT_EQ(rule.parse("Uniform", "constant"),
            "expects selection to be one of uniform, bernoulli, cyclic, "
            "round-robin, importance, freeze, lisa, badam, stochastic-depth "
            "but got 'Uniform'");
  EXPECT_EQ(rule.parse("uniform", "even"),
            "expects selection-schedule to be one of constant, step, linear, "
            "cosine but got 'even'");
}

TEST(SelectionRule, NumbersAreChecked) {
  SelectionRule rule;
  rule.lastRatio = 0;
  EXPECT_NE(rule.parse("uniform", "linear"), "");
  rule.lastRatio = 1;
  EXPECT_EQ(rule.parse("uniform", "linear"), "");
  EXPECT_NE(rule.parse("round-robin", "linear"), "");
  rule.period = 0;
  EXPECT_NE(rule.parse("uniform", "linear"), "");
}

TEST(SelectionRule, MostIsWhatNoStepExceeds) {
  EXPECT_EQ(ruleOf("uniform", 0.3).mostOf(10), 3);
  EXPECT_EQ(ruleOf("round-robin", 0.3).mostOf(10), 3);
  EXPECT_EQ(ruleOf("cyclic", 0.3).mostOf(10), 3);
  EXPECT_EQ(ruleOf("bernoulli", 0.3).mostOf(10), 10);
  EXPECT_EQ(ruleOf("stochastic-depth", 0.3).mostOf(10), 10);
  EXPECT_EQ(ruleOf("badam", 0.3).mostOf(10), 1);
  SelectionRule rule = ruleOf("freeze", 0.3);
  rule.warmup = 9;
  EXPECT_EQ(rule.mostOf(10), 3) << "a warm-up has no selection";
  rule.lastRatio = 0.7;
  EXPECT_EQ(rule.parse("freeze", "cosine"), "");
  EXPECT_EQ(rule.mostOf(10), 7);
}
