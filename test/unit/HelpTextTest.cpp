//===- HelpTextTest.cpp - The text of --help, in columns ------------------===//

#include "base/HelpText.h"
#include "program/GenerateOptions.h"
#include "program/Options.h"

#include <gtest/gtest.h>
#include <sstream>

using namespace hone::rt;

static size_t widestOf(const std::string &text) {
  std::istringstream lines(text);
  size_t widest = 0;
  for (std::string line; std::getline(lines, line);)
    widest = std::max(widest, line.size());
  return widest;
}

TEST(HelpText, DividesBetweenWords) {
  EXPECT_EQ(wrapped("", 4), "");
  EXPECT_EQ(wrapped("a b", 4), "a b");
  const std::string word(40, 'w');
  EXPECT_EQ(wrapped(word + " " + word.substr(1), 4),
            word + " " + word.substr(1));
  EXPECT_EQ(wrapped(word + " " + word, 4), word + "\n    " + word);
  EXPECT_EQ(wrapped(word + " b", 4, /*used=*/39), word + "\n    b");
  // A word that no line has room for stays whole.
  const std::string wide(100, 'w');
  EXPECT_EQ(wrapped("a " + wide + " b", 2), "a\n  " + wide + "\n  b");
}

TEST(HelpText, CountsCharactersAndNotBytes) {
  std::string text;
  for (int i = 0; i < 40; ++i)
    text += i ? " \xC3\xA9" : "\xC3\xA9";
  EXPECT_EQ(wrapped(text + " e", 0).find('\n'), text.size());
}

TEST(HelpText, TextsStandBelowEachOther) {
  EXPECT_EQ(helpTable({{"--a", "one"}, {"--long N", "two"}, {"-b", ""}}),
            "  --a       one\n"
            "  --long N  two\n"
            "  -b\n");
  EXPECT_EQ(helpTable({{"-a", "one"}, {std::string(30, 'n'), "two"}}),
            "  -a  one\n  " + std::string(30, 'n') + "\n      two\n");
}

TEST(HelpText, OfProgramsFitsATerminal) {
  EXPECT_LE(widestOf(Options::usage(Options())), helpWidth);
  EXPECT_LE(widestOf(GenerateOptions::usage()), helpWidth);
}
