//===- AddedTokens.h - Tokens that are found before text is cut -----------===//
//
// By the rules of Hugging Face's tokenizers: most are looked for in the text as
// it is; those that are called normalized then in the text between these, with
// the normalizer applied to both. Of several at one place the longest counts,
// and one that may not be a token there hides those inside of it.
//
//===----------------------------------------------------------------------===//

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>

namespace hone::rt {

/// A token; its entry in a table is little-endian u32 {id, flags, offset,
/// size}.
struct AddedToken {
  enum Flag : uint32_t {
    Special = 1,
    LeftStrip = 2,  ///< takes white space before it
    RightStrip = 4, ///< takes white space after it
    Normalized = 8, ///< looked for in the normalized text
    AllFlags = 15,
  };
  uint32_t id, flags;
  uint32_t offset, size; ///< of its text

  bool has(Flag flag) const { return (flags & flag) != 0; }
};

/// A view of a table's entries, sorted: those that are not normalized first,
/// both by their text.
class AddedTokens {
public:
  static constexpr size_t EntryBytes = 4 * sizeof(uint32_t);
  /// Bytes of a text: each place of a long text may begin one.
  static constexpr size_t LongestText = 1024;
  /// The normalizer's changes of normalized ones.
  struct Normalization {
    bool prepends = false; ///< a space goes in front of each
    bool spaces = false;   ///< U+2581 is a space
  };

  AddedTokens() = default;
  AddedTokens(const char *entries, uint32_t count, std::string_view texts,
              Normalization normalization);

  /// The error of the entries, for ids below `tokens`, or null.
  const char *check(uint32_t tokens) const;

  uint32_t size() const { return count; }
  AddedToken at(uint32_t index) const;
  bool hasNormalized() const { return raw < count; }
  /// The end of the part of `text`, which goes on, in which all normalized
  /// tokens are known, with the text that each takes before it.
  size_t decidedEnd(std::string_view text) const;
  bool isSpecial(int32_t id) const;
  /// Whether the text of a special token is at `at`.
  bool spellsSpecial(std::string_view text, size_t at) const;

  /// How far a text was searched.
  struct Cursor {
    size_t head = 0;   ///< after the last token, and the space that it took
    size_t resume = 0; ///< where the next one may begin
  };
  struct Match {
    AddedToken token;
    /// With the white space that it takes, also where the last one took it.
    size_t begin, end;
  };
  /// Whether a special token may be one from `begin` to `end`.
  using MayBe = std::function<bool(size_t begin, size_t end)>;
  /// The first token of `text` that begins before `limit`; `normalized`: of
  /// which kind. Moves `cursor.resume` to after it, or to the limit; `head` is
  /// the caller's to move.
  bool next(std::string_view text, size_t limit, bool normalized,
            Cursor &cursor, const MayBe &mayBe, Match &match) const;

private:
  bool isSpace(std::string_view text, size_t at, bool normalized) const;
  bool longestAt(std::string_view text, size_t at, bool normalized,
                 bool withPrefix, AddedToken &token, size_t &end) const;
  std::string_view text(const AddedToken &token) const {
    return texts.substr(token.offset, token.size);
  }
  uint32_t firstAfter(uint32_t from, uint32_t to, size_t depth,
                      unsigned byte) const;

  const char *entries = nullptr;
  uint32_t count = 0, raw = 0; ///< of which the first `raw` are not normalized
  std::string_view texts;
  Normalization normalization;
  size_t longest = 0;
  std::array<bool, 256> begins[2] = {}; // first bytes, of both kinds
};

} // namespace hone::rt
