//===- PreTokenizerTest.cpp - Where text is cut before BPE ----------------===//
//
// Equality with Hugging Face is in TokenizerTest; here is each rule by itself.
//
//===----------------------------------------------------------------------===//

#include "text/PreTokenizer.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

using namespace hone::rt;

using Pieces = std::vector<std::string>;

static Pieces cut(PreTokenizerKind kind, std::string_view text,
                  bool isWhole = true) {
  PieceScanner scanner(kind, text, isWhole);
  Pieces pieces;
  for (std::string_view piece = scanner.next(); !piece.empty();
       piece = scanner.next())
    pieces.emplace_back(piece);
  return pieces;
}

TEST(PreTokenizer, Gpt2ContractionsAreLowerCaseOnly) {
  EXPECT_EQ(cut(PreTokenizerKind::Gpt2, "it's"), (Pieces{"it", "'s"}));
  EXPECT_EQ(cut(PreTokenizerKind::Gpt2, "IT'S"), (Pieces{"IT", "'", "S"}));
  EXPECT_EQ(cut(PreTokenizerKind::Gpt2, "we'll've"),
            (Pieces{"we", "'ll", "'ve"}));
}

TEST(PreTokenizer, Qwen2ContractionsIgnoreCase) {
  EXPECT_EQ(cut(PreTokenizerKind::Qwen2, "IT'S"), (Pieces{"IT", "'S"}));
  // The long s, U+017F, folds to s.
  EXPECT_EQ(cut(PreTokenizerKind::Qwen2, "it'\xC5\xBF"),
            (Pieces{"it", "'\xC5\xBF"}));
}

TEST(PreTokenizer, LastSpaceGoesToTheWord) {
  for (PreTokenizerKind kind :
       {PreTokenizerKind::Gpt2, PreTokenizerKind::Qwen2})
    EXPECT_EQ(cut(kind, "a   b  "), (Pieces{"a", "  ", " b", "  "}));
}

TEST(PreTokenizer, Qwen2EndsWhiteSpaceAtItsLastNewline) {
  EXPECT_EQ(cut(PreTokenizerKind::Qwen2, "a \n \n  b"),
            (Pieces{"a", " \n \n", " ", " b"}));
  EXPECT_EQ(cut(PreTokenizerKind::Qwen2, "x!\r\ny"),
            (Pieces{"x", "!\r\n", "y"}));
  EXPECT_EQ(cut(PreTokenizerKind::Gpt2, "a \n b"), (Pieces{"a", " \n", " b"}));
}

TEST(PreTokenizer, OneNonLetterJoinsAWordExceptNewline) {
  EXPECT_EQ(cut(PreTokenizerKind::Qwen2, "\tfoo(bar"),
            (Pieces{"\tfoo", "(bar"}));
  EXPECT_EQ(cut(PreTokenizerKind::Qwen2, "\nfoo"), (Pieces{"\n", "foo"}));
}

TEST(PreTokenizer, NumbersAreCutByOneOrThreeDigits) {
  EXPECT_EQ(cut(PreTokenizerKind::Gpt2, "x 1234"), (Pieces{"x", " 1234"}));
  EXPECT_EQ(cut(PreTokenizerKind::Qwen2, "123"), (Pieces{"1", "2", "3"}));
  EXPECT_EQ(cut(PreTokenizerKind::Llama3, "1234567"),
            (Pieces{"123", "456", "7"}));
  EXPECT_EQ(cut(PreTokenizerKind::Gpt2Digits, "x  12"),
            (Pieces{"x", "  ", "1", "2"}));
}

TEST(PreTokenizer, WideSpacesAreSpaces) {
  // U+3000 and U+00A0
  EXPECT_EQ(cut(PreTokenizerKind::Gpt2, "a\xE3\x80\x80\xC2\xA0"),
            (Pieces{"a", "\xE3\x80\x80\xC2\xA0"}));
}

TEST(PreTokenizer, UnmergedBorderCutsWhereNothingIsJoined) {
  std::string bits(64, 0);
  for (auto [left, right] :
       {std::pair(0x2581u, 0x2581u), std::pair(0x2581u, uint32_t('a')),
        std::pair(uint32_t('a'), 0x77F3u)}) {
    const uint32_t bit = JoinedPairs::bitOf(left, right, 64);
    bits[bit / 8] = char(bits[bit / 8] | 1 << bit % 8);
  }
  const auto cutAt = [&](std::string_view text, bool isWhole) {
    PieceScanner scanner(PreTokenizerKind::UnmergedBorder, text, isWhole,
                         JoinedPairs(bits.data(), 64));
    Pieces pieces;
    for (std::string_view piece = scanner.next(); !piece.empty();
         piece = scanner.next())
      pieces.emplace_back(piece);
    return pieces;
  };
  EXPECT_EQ(cutAt("  a\xE7\x9F\xB3 \xE2\x96\x81"
                  "aa",
                  true),
            (Pieces{"  a\xE7\x9F\xB3",
                    " \xE2\x96\x81"
                    "a",
                    "a"}));
  EXPECT_EQ(cutAt("aa", false), (Pieces{"a"}));
  // Without the pairs nothing is known, and nothing cut.
  EXPECT_EQ(cut(PreTokenizerKind::UnmergedBorder, "a b"), (Pieces{"a b"}));
}

TEST(PreTokenizer, PieceThatMayGrowIsNotGivenOut) {
  EXPECT_EQ(cut(PreTokenizerKind::Gpt2, "one two", false), (Pieces{"one"}));
  // The run of white space may yet contain a newline.
  EXPECT_EQ(cut(PreTokenizerKind::Qwen2, "a   ", false), (Pieces{"a"}));
}

TEST(PreTokenizer, PiecesDoNotDependOnTheWindow) {
  const std::string text =
      "it's  a \r\n\t12345 !!!\n\n  caf\xC3\xA9 'LL \xE3\x80\x80x";
  for (uint32_t k = 0; k <= LastPreTokenizerKind; ++k) {
    const PreTokenizerKind kind = PreTokenizerKind(k);
    const Pieces whole = cut(kind, text);
    for (size_t end = 0; end <= text.size(); ++end) {
      if (end < text.size() && (uint8_t(text[end]) & 0xC0) == 0x80)
        continue;
      const Pieces part = cut(kind, text.substr(0, end), false);
      ASSERT_LE(part.size(), whole.size());
      for (size_t i = 0; i < part.size(); ++i)
        EXPECT_EQ(part[i], whole[i]) << "kind " << k << " window " << end;
    }
  }
}
