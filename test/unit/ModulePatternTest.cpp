//===- ModulePatternTest.cpp - Keys of rank_pattern and alpha_pattern -----===//
//
// Expectations are what Python's re.match(r"(.*\.)?(KEY)$", path) says.
//
//===----------------------------------------------------------------------===//

#include "compiler/spec/ModulePattern.h"

#include "gtest/gtest.h"

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
