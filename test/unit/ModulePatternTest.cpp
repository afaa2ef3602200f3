//===- ModulePatternTest.cpp - Keys of rank_pattern and alpha_pattern -----===//
//
// Expectations are those of Python's re.match(r"(.*\.)?(KEY)$", path).
//
//===----------------------------------------------------------------------===//

#include "compiler/spec/ModulePattern.h"

#include "gtest/gtest.h"

#include <chrono>

using namespace hone;

static const char *const path = "model.layers.1.self_attn.q_proj";

TEST(ModulePattern, NamesTheEndOfAPathBehindADot) {
  for (const char *key :
       {"q_proj", "self_attn.q_proj", "model.layers.1.self_attn.q_proj",
        "^model.layers.1.self_attn.q_proj", "q_proj$", ".*", "[qk]_proj",
        R"(layers\.[0-3]\..*)", "(q|k)_proj", "self_attn..*", "..proj",
        "[^k]_proj", R"(self_attn\.q\_proj)"})
    EXPECT_TRUE(ModulePattern(key).names(path)) << key;
  for (const char *key : {"proj", "_proj", "layers.1", "^q_proj",
                          "layers.[02].self_attn.q_proj", "q_pro", "[^q]_proj"})
    EXPECT_FALSE(ModulePattern(key).names(path)) << key;
}

TEST(ModulePattern, AlternativesAreOfTheWholeKey) {
  EXPECT_TRUE(ModulePattern("k_proj|q_proj").names(path));
  EXPECT_FALSE(ModulePattern("k_proj|v_proj").names(path));
}

TEST(ModulePattern, RefusesWhatIsOfOneLanguageOnly) {
  for (const char *key :
       {"", "\\d", "layers\\.\\d+", "(?:q)", "q{2}", "[[:alpha:]]", "[\\d]",
        "q*?", "q++", "(q", "q)", "q)|(k", "[q", "*q", "\\1", "q\\"})
    EXPECT_FALSE(ModulePattern::problemOf(key).empty()) << key;
  EXPECT_FALSE(ModulePattern::problemOf(std::string(257, 'q')).empty());
  for (const char *key : {"q", "[]q]", "[^]q]", "\\.", "a.b"})
    EXPECT_EQ(ModulePattern::problemOf(key), "") << key;
}

TEST(PatternNumbers, TheFirstKeyThatNamesAModuleCounts) {
  const PatternNumbers numbers(
      {{"k_proj", 1}, {"self_attn..*", 2}, {"q_proj", 3}});
  EXPECT_EQ(numbers.numberOf(path, 9), 2);
  EXPECT_EQ(numbers.numberOf("model.layers.1.mlp.up_proj", 9), 9);
  EXPECT_EQ(numbers.find(path), 1u);
  EXPECT_EQ(numbers.find(path, 2), 2u);
  EXPECT_EQ(numbers.find(path, 3), numbers.size());
}

TEST(PatternNumbers, HasABound) {
  rt::ModuleNumbers numbers(PatternNumbers::mostKeys, {"q_proj", 1});
  EXPECT_EQ(PatternNumbers::problemOf(numbers), "");
  numbers.push_back(numbers.front());
  EXPECT_NE(PatternNumbers::problemOf(numbers), "");
}

// To compile them for each module would take longer.
TEST(PatternNumbers, KeysAreCompiledOnce) {
  rt::ModuleNumbers numbers;
  for (size_t i = 0; i < PatternNumbers::mostKeys; ++i)
    numbers.emplace_back("layers." + std::to_string(i) + ".(q|k|v)_pro[j]", 1);
  const auto start = std::chrono::steady_clock::now();
  const PatternNumbers compiled(numbers);
  for (int i = 0; i < 1000; ++i)
    EXPECT_EQ(compiled.numberOf("m" + std::to_string(i), 9), 9);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(5));
}
