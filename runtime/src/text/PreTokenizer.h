//===- PreTokenizer.h - Cutting text into pieces before BPE ---------------===//
//
// Each scanner is one published regular expression written by hand: linear
// time, no backtracking, no recursion. A scanner may have to look far beyond
// the piece it returns (trailing white space), so it says how far it looked.
//
//===----------------------------------------------------------------------===//

#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace hone::rt {

/// Values are stored in tokenizer tables: never renumber.
enum class PreTokenizerKind : uint32_t {
  /// No cuts: the text is one piece.
  None = 0,
  /// 's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
  Gpt2 = 1,
  /// (?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}|
  ///  ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+
  Qwen2 = 2,
  /// As Qwen2 with \p{N}{1,3} in place of \p{N}.
  Llama3 = 3,
  /// Each \p{N} alone, and Gpt2 on the text between them (SmolLM2).
  Gpt2Digits = 4,
  /// Between two characters that no merge joins: no merge ever crosses such a
  /// place, so that the ids are those of the uncut text.
  UnmergedBorder = 5,
};

inline constexpr uint32_t LastPreTokenizerKind = 5;

/// The pairs of characters that some merge joins, as bits of a hash: a pair
/// that shares its bit with another counts as joined, which costs a cut and no
/// id. U+2581 stands for the space too.
class JoinedPairs {
public:
  JoinedPairs() = default;
  /// `bytes` is a power of two.
  JoinedPairs(const char *bits, uint32_t bytes) : bits(bits), bytes(bytes) {}

  bool has(uint32_t left, uint32_t right) const {
    const uint32_t bit = bitOf(left, right, bytes);
    return bits == nullptr || (bits[bit / 8] >> bit % 8 & 1) != 0;
  }
  /// The bit of a pair, among `bytes` * 8.
  static uint32_t bitOf(uint32_t left, uint32_t right, uint32_t bytes);

private:
  const char *bits = nullptr;
  uint32_t bytes = 1;
};

/// Cuts `text`, checked UTF-8, into pieces from left to right.
class PieceScanner {
public:
  /// `isWhole` is false when more text will follow after `text`.
  PieceScanner(PreTokenizerKind kind, std::string_view text, bool isWhole,
               JoinedPairs joined = {})
      : kind(kind), text(text), isWhole(isWhole), joined(joined) {}

  /// The next piece, or an empty view: the text is used up, or the piece
  /// cannot be told without the text that follows.
  std::string_view next();

  /// Bytes handed out so far.
  size_t position() const { return start; }

private:
  struct Peek;
  Peek peek(size_t at);
  size_t skipClass(size_t at, int cls);
  size_t contraction(size_t at, bool ignoreCase);
  size_t trailingSpace(size_t at, bool newlinesFirst);
  size_t endOfGpt2(bool singleDigits);
  size_t endOfQwen2(unsigned longestNumber);
  size_t endAtBorder();
  size_t skipNewlines(size_t at);

  PreTokenizerKind kind;
  std::string_view text;
  bool isWhole;
  JoinedPairs joined;
  bool sawEnd = false;
  size_t start = 0;
};

} // namespace hone::rt
