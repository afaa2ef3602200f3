//===- SettingTest.cpp - The table of settings, and its kinds of value ----===//

#include "module/Settings.h"

#include <cmath>
#include <gtest/gtest.h>
#include <set>

using namespace hone::rt;

TEST(Setting, ExactNumbersReadBackToTheBit) {
  Settings settings;
  for (double value :
       {0.0, 0.1, 1.0 / 3, 5e-324, 1e-310, 0.1 + 0.2, 1.7976931348623157e308}) {
    settings.train.learning_rate = value;
    ASSERT_TRUE(
        settings.train.weight_decay.parse(settings.train.learning_rate.text()));
    EXPECT_EQ(settings.train.weight_decay, value);
  }
  EXPECT_EQ(formatExact(0.1), "0.1");
  EXPECT_EQ(formatExact(5e-5), "5e-05");
}

TEST(Setting, ARefusedSettingChangesNothing) {
  Settings settings;
  for (const char *text : {"", "-1", "1.5", " 1", "1x", "99999999999999999999"})
    EXPECT_FALSE(settings.train.seed.parse(text)) << text;
  EXPECT_EQ(settings.train.seed, 42);
  for (const char *text : {"nan", "inf", "0x1", "1e999", "-1e-9", "1e"})
    EXPECT_FALSE(settings.train.learning_rate.parse(text)) << text;
  EXPECT_EQ(settings.train.learning_rate, 5e-5);
  EXPECT_FALSE(settings.train.adam_beta1.parse("1"));
  EXPECT_FALSE(settings.train.optimizer.parse("adamax"));
  EXPECT_EQ(settings.train.optimizer, "adamw");
}

TEST(Setting, SaysWhatItExpects) {
  Settings settings;
  EXPECT_EQ(settings.lora.r.expected(), "an integer from 1 to 65536");
  EXPECT_EQ(settings.lora.lora_alpha.expected(), "a number greater than 0");
  EXPECT_EQ(settings.train.adam_beta1.expected(),
            "a number at least 0 and below 1");
  EXPECT_EQ(settings.train.warmup_steps.expected(), "an integer at least 0");
  EXPECT_EQ(settings.train.optimizer.expected(),
            "one of adamw, sgd, lion, adamw-8bit, adafactor, sinkgd");
  EXPECT_EQ(settings.model.expected(), "a path");
}

TEST(Setting, SaysTheBoundThatANumberIsBeyond) {
  Settings settings;
  const TrainSettings &train = settings.train;
  EXPECT_EQ(train.seed.expectedNot("18446744073709551615"),
            "an integer at least 0 and at most 9223372036854775807");
  EXPECT_EQ(train.warmup_steps.expectedNot("9007199254740993"),
            "an integer at least 0 and at most 9007199254740992");
  EXPECT_EQ(train.seed.expectedNot("-1"), train.seed.expected());
  EXPECT_EQ(train.seed.expectedNot("ten"), train.seed.expected());
  EXPECT_EQ(settings.lora.r.expectedNot("99999999999999999999"),
            settings.lora.r.expected());
  EXPECT_EQ(train.learning_rate.expectedNot("1e999"),
            train.learning_rate.expected());
}

TEST(Setting, NamesNumbersThatAreNotFiniteWithoutASignOfNaN) {
  for (double nan : {std::nan(""), -std::nan("")}) {
    EXPECT_EQ(formatShort(nan), "NaN");
    EXPECT_EQ(formatExact(nan), "NaN");
  }
  EXPECT_EQ(formatShort(HUGE_VAL), "infinity");
  EXPECT_EQ(formatShort(-HUGE_VAL), "-infinity");
}

TEST(Setting, IsSpelledAsItsUserKnowsIt) {
  Settings settings;
  EXPECT_EQ(settings.train.learning_rate.spelling(), "--learning-rate");
  EXPECT_EQ(settings.train.adam_beta1.spelling(), "train.adam_beta1");
  PartSettings &lower = settings.parts.add("lower");
  EXPECT_EQ(lower.learning_rate.spelling(), "--lower-learning-rate");
  EXPECT_EQ(lower.method.key(), "parts.lower.method");
  EXPECT_EQ(settings.model.key(), "model");
}

TEST(Settings, HaveNamesOfTheirOwnAndDefaultsThatAreAllowed) {
  Settings settings;
  std::set<std::string> names;
  for (Setting *setting : settings.all()) {
    EXPECT_TRUE(names.insert(setting->key()).second) << setting->key();
    std::string standard = setting->text();
    EXPECT_TRUE(standard.empty() || setting->parse(standard)) << standard;
    EXPECT_EQ(setting->text(), standard);
  }
  EXPECT_EQ(names.count("train.seed"), 1u);
}

TEST(Setting, NumbersByNameKeepTheirOrder) {
  Settings settings;
  NamedNumbers &ranks = settings.lora.rank_pattern;
  EXPECT_EQ(ranks.text(), "{}");
  EXPECT_TRUE(ranks.parse(R"({"v_proj": 4, "a\\.b": 1})"));
  EXPECT_EQ(ranks.text(), R"({"v_proj":4,"a\\.b":1})");
  for (const char *text : {"", "[]", R"({"q": 0})", R"({"q": 1.5})",
                           R"({"q": "4"})", R"({"q": 65537})"})
    EXPECT_FALSE(ranks.parse(text)) << text;
  EXPECT_EQ(ranks.size(), 2u);
  EXPECT_TRUE(settings.lora.alpha_pattern.parse(R"({"q": 0.5})"));
  EXPECT_EQ(ranks.expected(), "names, each with an integer from 1 to 65536");
}

TEST(Settings, CopiesAreOfTheirOwn) {
  Settings settings;
  settings.train.seed = 1;
  Settings copy = settings;
  copy.train.seed = 2;
  copy.lora.target_modules.push_back("x");
  EXPECT_EQ(settings.train.seed, 1);
  EXPECT_EQ(settings.lora.target_modules.size(), 2u);
  for (Setting *setting : copy.all())
    if (setting->key() == "train.seed")
      EXPECT_EQ(setting->text(), "2");
}
