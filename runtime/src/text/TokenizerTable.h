//===- TokenizerTable.h - A tokenizer as one block of bytes ---------------===//
//
// honec writes the table into the weights file, the training binary reads it
// where it is mapped, at any alignment. The reader checks every offset, id and
// hash slot once, because the file may come from anywhere.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "base/Status.h"
#include "text/AddedTokens.h"
#include "text/Bpe.h"
#include "text/PreTokenizer.h"

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hone::rt {

/// The contents of a table, before it is written.
struct TokenizerDefinition {
  struct Merge {
    uint32_t left, right, result;
  };
  struct Added {
    uint32_t id, flags; ///< of AddedToken
    /// As it is looked for: of a normalized one without the prefix, and with
    /// spaces for U+2581 where spaces become that.
    std::string text;
  };
  /// Bytes of each token, by id; empty for an id without a token. Byte-level
  /// vocabularies are already mapped back to bytes here.
  std::vector<std::string> tokens;
  /// Ids that no piece of text is: added tokens that the vocabulary does not
  /// have, and names that the byte alphabet cannot spell.
  std::vector<bool> unreachable;
  std::vector<Merge> merges; ///< by rank
  /// For UnmergedBorder: the characters that each merge joins.
  std::vector<std::pair<uint32_t, uint32_t>> joined;
  std::array<uint32_t, 256> byteIds{};
  PreTokenizerKind preTokenizer = PreTokenizerKind::None;
  bool byteFallback = false; ///< characters first, bytes for unknown ones
  bool nfc = false;
  /// A space goes in front of the text, unless it begins with one.
  bool prefixSpace = false;
  /// A space goes in front of the text in any case.
  bool prependSpace = false;
  /// A piece that is a token is not merged (Llama 3).
  bool ignoreMerges = false;
  /// Spaces are spelled U+2581 in the vocabulary.
  bool metaspace = false;
  /// The normalizer makes that of them, so that normalized tokens see it.
  bool replacesSpaces = false;
  /// The space of prefixSpace goes in front of the whole text only, and not
  /// after an added token.
  bool prefixOnce = false;
  std::vector<Added> added;            ///< of a kind no two have one text
  std::vector<uint32_t> before, after; ///< the post-processor's template
  int32_t eosToken = -1;
};

/// Little-endian u32 throughout:
///   "HONETOK1" | version | table bytes | flags | pre-tokenizer | eos
///   | tokens | reachable-token slots | merge slots | before | after
///   | string bytes | added tokens | their bytes            (56 bytes)
///   before ids, after ids, 256 byte ids
///   string offsets [tokens + 1], reachable-token slots (id or 0xFFFFFFFF)
///   merge slots (MergeTable), string bytes,
///   for UnmergedBorder as many bytes of JoinedPairs as merge slots,
///   added tokens (AddedTokens), their bytes
/// Errors: BadData naming `place` when tokens or merges were chosen to collide.
Result<std::string> writeTokenizerTable(const TokenizerDefinition &definition,
                                        const std::string &place);

/// The parts of a checked table; views into the block, which must outlive it.
class TokenizerTable {
public:
  static constexpr uint32_t Version = 1;
  /// Most tokens before a text, and after it.
  static constexpr uint32_t LongestTemplate = 64;

  /// Errors: BadData naming `place` when `block` is not a table of this
  /// version or any of its numbers points outside it.
  static Result<TokenizerTable> open(std::string_view block,
                                     const std::string &place);

  std::string_view block() const { return bytes; }
  uint32_t tokenCount() const { return tokens; }
  /// `id` is below tokenCount().
  std::string_view token(uint32_t id) const;
  /// The id of the reachable token spelled `name`, or -1.
  int64_t find(std::string_view name) const;
  uint32_t byteId(uint8_t byte) const { return word(byteIdsAt, byte); }
  const MergeTable &merges() const { return mergeTable; }

  uint32_t beforeCount() const { return befores; }
  uint32_t before(uint32_t i) const { return word(beforeAt, i); }
  uint32_t afterCount() const { return afters; }
  uint32_t after(uint32_t i) const { return word(afterAt, i); }
  int32_t eosToken() const { return eos; }

  PreTokenizerKind preTokenizer() const { return kind; }
  const AddedTokens &added() const { return addedTokens; }
  /// The pairs of UnmergedBorder.
  JoinedPairs joinedPairs() const { return pairs; }
  bool hasFlag(uint32_t flag) const { return (flags & flag) != 0; }

  enum Flag : uint32_t {
    ByteFallback = 1,
    Nfc = 2,
    PrefixSpace = 4,
    PrependSpace = 8,
    IgnoreMerges = 16,
    Metaspace = 32,
    ReplacesSpaces = 64,
    PrefixOnce = 128,
    AllFlags = 255,
  };

private:
  uint32_t word(size_t at, size_t index) const;
  const char *layOut();
  const char *checkContents() const;

  std::string_view bytes;
  MergeTable mergeTable;
  JoinedPairs pairs;
  AddedTokens addedTokens;
  size_t beforeAt = 0, afterAt = 0, byteIdsAt = 0, offsetsAt = 0, slotsAt = 0,
         mergesAt = 0, stringsAt = 0;
  uint32_t tokens = 0, slots = 0, mergeSlots = 0, befores = 0, afters = 0,
           stringBytes = 0, flags = 0;
  int32_t eos = -1;
  PreTokenizerKind kind = PreTokenizerKind::None;
};

} // namespace hone::rt
