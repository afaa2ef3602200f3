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

static SelectionRule ruleOf(const char *kind, double ratio,
                            const char *schedule = "constant",
                            double lastRatio = 1) {
  rt::LcsbSettings settings;
  settings.selection = kind;
  settings.selection_ratio = ratio;
  settings.selection_schedule = schedule;
  settings.selection_ratio_end = lastRatio;
  return SelectionRule::of(settings);
}

TEST(SelectionRule, EveryWordOfTheSettingsHasARow) {
  rt::LcsbSettings settings;
  for (const std::string &word : settings.selection.choices()->allowed)
    EXPECT_NE(ruleOf(word.c_str(), 1).formula(), "") << word;
  for (const std::string &word : settings.selection_schedule.choices()->allowed)
    EXPECT_EQ(ruleOf("uniform", 1, word.c_str()).ratioFormula() == "",
              word == "constant");
  EXPECT_EQ(ruleOf("stochastic-depth", 1).kind, Kind::StochasticDepth);
}

TEST(SelectionRule, WithoutAScheduleARatioIsConstant) {
  EXPECT_EQ(ruleOf("round-robin", 0.5, "linear").ratioFormula(), "");
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
  EXPECT_EQ(ruleOf("freeze", 0.3, "cosine", 0.7).mostOf(10), 7);
}
