//===- TextStreamTest.cpp - Text as it may be shown while it is made ------===//

#include "generate/TextStream.h"

#include <gtest/gtest.h>

using namespace hone::rt;

/// The shown part of `text`, given in pieces of `size` bytes.
static std::string shown(const std::string &text, size_t size,
                         const std::vector<std::string> &stops = {}) {
  TextStream stream(stops);
  std::string out;
  for (size_t at = 0; at < text.size(); at += size)
    out += stream.add(std::string_view(text).substr(at, size));
  return out + stream.finish();
}

TEST(TextStream, NeverShowsAPartOfACharacter) {
  const std::string text = "a\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80z";
  TextStream stream;
  EXPECT_EQ(stream.add("a\xC3"), "a");
  EXPECT_EQ(stream.add("\xA9\xE2\x82"), "\xC3\xA9");
  EXPECT_EQ(stream.add("\xAC"), "\xE2\x82\xAC");
  for (size_t size = 1; size <= text.size(); ++size)
    EXPECT_EQ(shown(text, size), text);
}

TEST(TextStream, ReplacesWhatIsNoCharacter) {
  const std::string bad = "\xEF\xBF\xBD";
  for (size_t size = 1; size < 5; ++size) {
    EXPECT_EQ(shown("a\xFFz", size), "a" + bad + "z");
    EXPECT_EQ(shown("\x80z", size), bad + "z");
    EXPECT_EQ(shown("\xE2\x82z", size), bad + "z");
    EXPECT_EQ(shown("\xE2\x82", size), bad);
    EXPECT_EQ(shown("\xC0\xAFz", size), bad + bad + "z");
    EXPECT_EQ(shown("\xED\xA0\x80", size), bad + bad + bad);
  }
}

TEST(TextStream, EndsBeforeTheStopText) {
  for (size_t size = 1; size < 12; ++size) {
    EXPECT_EQ(shown("one END two", size, {"END"}), "one ");
    EXPECT_EQ(shown("one EN two", size, {"END"}), "one EN two");
    EXPECT_EQ(shown("aab aaab", size, {"aaab"}), "aab ");
    EXPECT_EQ(shown("one EN", size, {"END"}), "one EN");
  }
  TextStream stream({"END"});
  EXPECT_EQ(stream.add("a E"), "a ");
  EXPECT_FALSE(stream.isStopped());
  EXPECT_EQ(stream.add("ND"), "");
  EXPECT_TRUE(stream.isStopped());
  EXPECT_EQ(stream.add("more"), "");
  EXPECT_EQ(stream.finish(), "");
}

TEST(TextStream, EndsBeforeWhicheverStopTextIsWholeFirst) {
  for (size_t size = 1; size < 12; ++size) {
    EXPECT_EQ(shown("one STOP END", size, {"END", "STOP"}), "one ");
    EXPECT_EQ(shown("one END STOP", size, {"END", "STOP"}), "one ");
    // One that begins earlier may be whole later.
    EXPECT_EQ(shown("xabcdy", size, {"abcd", "bc"}), "xa");
    EXPECT_EQ(shown("xabz", size, {"abcd", "bc"}), "xabz");
    // Of those that end at one place the longest goes.
    EXPECT_EQ(shown("xabcd", size, {"cd", "abcd"}), "x");
    EXPECT_EQ(shown("x\nab", size, {"\n\n", "b"}), "x\na");
  }
}
