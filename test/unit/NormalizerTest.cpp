//===- NormalizerTest.cpp - NFC -------------------------------------------===//
//
// Expected values are from Unicode Standard Annex #15. The tables are those
// of Unicode 9, so newer marks stay where they are.
//
//===----------------------------------------------------------------------===//

#include "text/Normalizer.h"
#include "base/Utf8.h"

#include <gtest/gtest.h>

#include <string>

using namespace hone::rt;

static std::string utf8(std::initializer_list<uint32_t> points) {
  std::string out;
  for (uint32_t point : points)
    appendUtf8(out, point);
  return out;
}

static std::string nfc(const std::string &text) {
  NfcNormalizer normalizer;
  normalizer.reset(text);
  std::string out;
  EXPECT_TRUE(normalizer.append(out, ~size_t(0), 1u << 20));
  EXPECT_TRUE(normalizer.atEnd());
  return out;
}

TEST(Normalizer, ComposesMarks) {
  EXPECT_EQ(nfc(utf8({'e', 0x301})), utf8({0xE9}));
  // Two marks below and above, in either order, give one form.
  EXPECT_EQ(nfc(utf8({'o', 0x302, 0x323})), utf8({0x1ED9}));
  EXPECT_EQ(nfc(utf8({'o', 0x323, 0x302})), utf8({0x1ED9}));
}

TEST(Normalizer, MarkOfTheSameClassBlocks) {
  EXPECT_EQ(nfc(utf8({'a', 0x305, 0x301})), utf8({'a', 0x305, 0x301}));
}

TEST(Normalizer, SingletonsAndExclusionsDecompose) {
  EXPECT_EQ(nfc(utf8({0x212B})), utf8({0xC5}));        // angstrom sign
  EXPECT_EQ(nfc(utf8({0x958})), utf8({0x915, 0x93C})); // excluded
  EXPECT_EQ(nfc(utf8({0xF900})), utf8({0x8C48}));      // compatibility
}

TEST(Normalizer, HangulIsArithmetic) {
  EXPECT_EQ(nfc(utf8({0x1112, 0x1161, 0x11AB})), utf8({0xD55C}));
  EXPECT_EQ(nfc(utf8({0xD558, 0x11AB})), utf8({0xD55C}));
  // A second tail does not join.
  EXPECT_EQ(nfc(utf8({0xD55C, 0x11AB})), utf8({0xD55C, 0x11AB}));
}

TEST(Normalizer, MarksWithoutAStarterAreSorted) {
  EXPECT_EQ(nfc(utf8({0x301, 0x323})), utf8({0x323, 0x301}));
}

TEST(Normalizer, QuickCheckAgrees) {
  EXPECT_TRUE(isNfc("plain text"));
  EXPECT_TRUE(isNfc(utf8({0xE9, 0xD55C, 0x4E2D})));
  EXPECT_FALSE(isNfc(utf8({'e', 0x301})));
  EXPECT_FALSE(isNfc(utf8({'q', 0x301, 0x323})));
  EXPECT_FALSE(isNfc(utf8({0x212B})));
}

TEST(Normalizer, PiecewiseEqualsWhole) {
  std::string text;
  for (int i = 0; i < 200; ++i)
    text += utf8({'e', 0x301, 0x1112, 0x1161, 0x11AB, ' ', 'o', 0x302, 0x323});
  NfcNormalizer normalizer;
  normalizer.reset(text);
  std::string out;
  for (size_t wanted = 1; !normalizer.atEnd(); wanted = out.size() + 7)
    ASSERT_TRUE(normalizer.append(out, wanted, 64));
  EXPECT_EQ(out, nfc(text));
}

TEST(Normalizer, RefusesAnEndlessRunOfMarks) {
  std::string text = "a";
  for (int i = 0; i < 1000; ++i)
    appendUtf8(text, 0x301);
  NfcNormalizer normalizer;
  normalizer.reset(text);
  std::string out;
  EXPECT_FALSE(normalizer.append(out, ~size_t(0), 100));
}

TEST(Utf8, FindsTheFirstInvalidByte) {
  EXPECT_EQ(findInvalidUtf8(utf8({'a', 0xE9, 0x4E2D, 0x10FFFF})),
            std::string_view::npos);
  EXPECT_EQ(findInvalidUtf8("twelve bytes\xC0\x80"), 12u); // overlong
  EXPECT_EQ(findInvalidUtf8("\xED\xA0\x80"), 0u);          // surrogate
  EXPECT_EQ(findInvalidUtf8("\xF4\x90\x80\x80"), 0u);      // above U+10FFFF
  EXPECT_EQ(findInvalidUtf8("ab\xE4\xB8"), 2u);            // cut off
  EXPECT_EQ(findInvalidUtf8("\x80"), 0u);
}

TEST(Utf8, MessagesEndWithACharacter) {
  EXPECT_EQ(shortened("four", 4), "four");
  EXPECT_EQ(shortened("fives", 4), "five...");
  for (uint32_t point : {0xE9, 0x4E2D, 0x10FFFF}) {
    const std::string text = utf8({'a', point, 'b'});
    const size_t end = text.size() - 1; // of `point`
    EXPECT_EQ(shortened(text, end), text.substr(0, end) + "...");
    for (size_t most = 1; most < end; ++most)
      EXPECT_EQ(shortened(text, most), "a...") << most;
  }
  // Bytes that are no text have no characters to cut between.
  EXPECT_EQ(shortened(std::string(9, '\x80'), 8),
            std::string(8, '\x80') + "...");
}

TEST(Utf8, ACharacterBeginsBeforeItsContinuationBytes) {
  const std::string text = utf8({'a', 0x4E2D, 'b'});
  const size_t starts[] = {0, 1, 1, 1, 4};
  for (size_t at = 0; at < text.size(); ++at)
    EXPECT_EQ(utf8CharacterStart(text, at), starts[at]) << at;
}
