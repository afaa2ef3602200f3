//===- Tokenizer.h - Text to token ids ------------------------------------===//
//
// Gives the ids of the Hugging Face tokenizer it was built from. Special tokens
// ("<|im_start|>", "</s>") that the text spells are text, unless the caller
// says that they are not: data must not be able to speak for the template.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "base/Status.h"
#include "text/Bpe.h"
#include "text/Normalizer.h"
#include "text/TokenEnds.h"
#include "text/TokenizerTable.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace hone::rt {

/// Receives token ids in order.
class TokenSink {
public:
  virtual ~TokenSink() = default;
  /// Returns false to stop the encoding; the sink knows why.
  virtual bool append(const int32_t *ids, size_t count) = 0;
  /// Whether appendOne is to be called instead.
  virtual bool wantsEnds() const { return false; }
  /// `end`: of the last character in the text that the token stands for, or for
  /// a part of (TokenEnds::endOf). Returns as append.
  virtual bool appendOne(int32_t id, size_t /*end*/) { return append(&id, 1); }
  /// Called at least once for each 256 KiB of text that were checked or
  /// encoded: the text before `bytes` may be let go of. Returns as append.
  virtual bool passed(size_t /*bytes*/) { return true; }
};

/// The treatment of special tokens that a text spells.
struct SpecialTokens {
  bool parse = false; ///< whether they are tokens
  /// Where they are text all the same, in the text's order.
  const std::vector<size_t> *marks = nullptr;
  /// Gets the number of those that are text, if asked.
  uint64_t *asText = nullptr;
};

/// "12 special tokens that the text spells are text; ..."
std::string describeSpecialAsText(uint64_t count);

/// Memory that encode() reuses: a window of text and one piece.
class TokenizerScratch {
  friend class Tokenizer;
  NfcNormalizer normalizer;
  PieceMerger merger;
  std::string window;
  std::vector<int32_t> ids;
};

/// Reads a table in place; the block must outlive the tokenizer.
class Tokenizer {
public:
  /// Longest stretch of text without a place to cut, in bytes. It bounds the
  /// scratch memory to about 50 times as much, which the memory plan has.
  static constexpr size_t LongestPiece = size_t(32) << 10;

  Tokenizer() = default;

  /// Errors: BadData, see TokenizerTable::open.
  static Result<Tokenizer> fromTable(std::string_view block,
                                     const std::string &place = "tokenizer");

  /// Appends the ids of `text` to `sink`, without the template's tokens. White
  /// space that an added token takes is its own. Success also when the sink
  /// stopped it. Errors: BadData naming `place` and the byte when the text is
  /// not UTF-8 or has no place to cut in LongestPiece bytes.
  Status encode(std::string_view text, const std::string &place,
                TokenSink &sink, TokenizerScratch &scratch,
                const SpecialTokens &special = {}) const;

  /// How many of the template's tokens go before and after `text`: where
  /// special tokens are parsed, none that it begins or ends with itself.
  uint32_t missingBefore(std::string_view text, bool parse) const;
  uint32_t missingAfter(std::string_view text, bool parse) const;

  /// The text of `ids`; ids outside the vocabulary are left out. For tests
  /// and messages.
  std::string decode(const int32_t *ids, size_t count) const;

  /// Appends the bytes of one token as it stands inside of a text; they may end
  /// inside of a character.
  void appendToken(int32_t id, std::string &out) const;

  /// One more than the largest id.
  uint32_t vocabularySize() const { return table.tokenCount(); }
  /// -1 when the tokenizer names none.
  int32_t eosToken() const { return table.eosToken(); }
  /// The tokens that the post-processor puts around one text, and the block.
  const TokenizerTable &contents() const { return table; }

private:
  enum class Outcome { Done, Stopped, TooLong };
  struct Encoding;
  class Windows;
  Outcome encodeWindow(std::string_view window, bool isWhole,
                       Encoding &encoding, size_t &taken) const;
  Status encodeSegment(Encoding &encoding) const;
  Status encodeInPlace(Encoding &encoding) const;
  bool wantsPrefix(std::string_view text, bool isFirst) const;
  bool encodePiece(std::string_view piece, Encoding &encoding) const;
  bool append(const int32_t *ids, size_t count, std::string_view piece,
              Encoding &encoding) const;
  size_t bytesOf(int32_t id, std::string_view rest) const;

  TokenizerTable table;
};

} // namespace hone::rt
