//===- TokenizerTable.cpp - A tokenizer as one block of bytes -------------===//
//
// Both hash tables are at most two thirds full, and no run of taken slots is
// longer than LongestRun: that bounds every probe, whatever tokens were chosen.
//
//===----------------------------------------------------------------------===//

#include "text/TokenizerTable.h"

#include <algorithm>
#include <cstring>

namespace hone::rt {

static constexpr char Magic[8] = {'H', 'O', 'N', 'E', 'T', 'O', 'K', '1'};
static constexpr size_t HeaderBytes = sizeof Magic + 13 * sizeof(uint32_t);
static constexpr uint32_t FreeSlot = 0xFFFFFFFF;
static constexpr uint32_t LargestCount = 1u << 24;
/// At two thirds full, chance makes a run of this length in less than one of
/// 2^90 tables.
static constexpr uint32_t LongestRun = 1024;

static uint32_t hashName(std::string_view name) { // FNV-1a
  uint32_t hash = 2166136261u;
  for (unsigned char byte : name)
    hash = (hash ^ byte) * 16777619u;
  return hash ^ hash >> 15;
}

static uint32_t slotsFor(size_t count) {
  uint32_t slots = 2;
  while (slots < count + count / 2 + 1)
    slots *= 2;
  return slots;
}

static void appendWord(std::string &out, uint32_t word) {
  out.append(reinterpret_cast<const char *>(&word), sizeof word);
}

static void appendWords(std::string &out, const uint32_t *words, size_t count) {
  out.append(reinterpret_cast<const char *>(words), count * sizeof *words);
}

/// Empty when tokens collide too often.
static std::vector<uint32_t> hashTokens(const TokenizerDefinition &from) {
  std::vector<uint32_t> slots(slotsFor(from.tokens.size()), FreeSlot);
  const uint32_t mask = uint32_t(slots.size()) - 1;
  for (uint32_t id = 0; id < from.tokens.size(); ++id) {
    if (from.tokens[id].empty() || from.unreachable[id])
      continue;
    const uint32_t home = hashName(from.tokens[id]);
    uint32_t probes = 0;
    while (slots[(home + probes) & mask] != FreeSlot)
      if (++probes == LongestRun)
        return {};
    slots[(home + probes) & mask] = id;
  }
  return slots;
}

/// The later of two merges of one pair wins, as in a map filled in order. Empty
/// when pairs collide too often.
static std::vector<uint32_t> hashMerges(const TokenizerDefinition &from) {
  const uint32_t count = slotsFor(from.merges.size()), mask = count - 1;
  std::vector<uint32_t> slots(size_t(count) * 4, FreeSlot);
  for (uint32_t rank = 0; rank < from.merges.size(); ++rank) {
    const TokenizerDefinition::Merge &merge = from.merges[rank];
    uint32_t at = MergeTable::hash(merge.left, merge.right) & mask;
    for (uint32_t probes = 0;
         slots[at * 4] != FreeSlot &&
         (slots[at * 4] != merge.left || slots[at * 4 + 1] != merge.right);
         at = (at + 1) & mask)
      if (++probes == LongestRun)
        return {};
    const uint32_t slot[] = {merge.left, merge.right, rank, merge.result};
    std::memcpy(&slots[at * 4], slot, sizeof slot);
  }
  return slots;
}

static std::string hashJoined(const TokenizerDefinition &from, uint32_t bytes) {
  if (from.preTokenizer != PreTokenizerKind::UnmergedBorder)
    return {};
  std::string bits(bytes, 0);
  for (auto [left, right] : from.joined) {
    const uint32_t bit = JoinedPairs::bitOf(left, right, bytes);
    bits[bit / 8] = char(bits[bit / 8] | 1 << bit % 8);
  }
  return bits;
}

/// Sorted as AddedTokens wants them.
static std::vector<TokenizerDefinition::Added>
sortedAdded(const TokenizerDefinition &from) {
  using Added = TokenizerDefinition::Added;
  std::vector<Added> out = from.added;
  std::sort(out.begin(), out.end(), [](const Added &a, const Added &b) {
    const uint32_t kinds[] = {a.flags & AddedToken::Normalized,
                              b.flags & AddedToken::Normalized};
    return kinds[0] != kinds[1] ? kinds[0] < kinds[1] : a.text < b.text;
  });
  return out;
}

Result<std::string> writeTokenizerTable(const TokenizerDefinition &from,
                                        const std::string &place) {
  const std::vector<uint32_t> tokenSlots = hashTokens(from);
  const std::vector<uint32_t> mergeSlots = hashMerges(from);
  if (tokenSlots.empty() || mergeSlots.empty())
    return Status(
        ErrorCode::BadTokenizer, place,
        std::string("expected ") + (tokenSlots.empty() ? "tokens" : "merges") +
            " that a hash table holds, found more than " +
            std::to_string(LongestRun) + " that collide",
        "no tokenizer that was trained on text is like this; it was made to "
        "be slow");
  const std::string joined = hashJoined(from, uint32_t(mergeSlots.size() / 4));
  std::vector<uint32_t> offsets(1, 0);
  for (const std::string &token : from.tokens)
    offsets.push_back(offsets.back() + uint32_t(token.size()));
  const uint32_t flags = from.byteFallback * TokenizerTable::ByteFallback |
                         from.nfc * TokenizerTable::Nfc |
                         from.prefixSpace * TokenizerTable::PrefixSpace |
                         from.prependSpace * TokenizerTable::PrependSpace |
                         from.ignoreMerges * TokenizerTable::IgnoreMerges |
                         from.metaspace * TokenizerTable::Metaspace |
                         from.replacesSpaces * TokenizerTable::ReplacesSpaces |
                         from.prefixOnce * TokenizerTable::PrefixOnce;
  std::string added, addedTexts;
  for (const TokenizerDefinition::Added &token : sortedAdded(from)) {
    const uint32_t entry[] = {token.id, token.flags,
                              uint32_t(addedTexts.size()),
                              uint32_t(token.text.size())};
    appendWords(added, entry, 4);
    addedTexts += token.text;
  }
  const size_t words = from.before.size() + from.after.size() +
                       from.byteIds.size() + offsets.size() +
                       tokenSlots.size() + mergeSlots.size();
  const uint32_t header[] = {TokenizerTable::Version,
                             uint32_t(HeaderBytes + words * sizeof(uint32_t) +
                                      offsets.back() + joined.size() +
                                      added.size() + addedTexts.size()),
                             flags,
                             uint32_t(from.preTokenizer),
                             uint32_t(from.eosToken),
                             uint32_t(from.tokens.size()),
                             uint32_t(tokenSlots.size()),
                             uint32_t(mergeSlots.size() / 4),
                             uint32_t(from.before.size()),
                             uint32_t(from.after.size()),
                             offsets.back(),
                             uint32_t(from.added.size()),
                             uint32_t(addedTexts.size())};
  std::string out(Magic, sizeof Magic);
  for (uint32_t word : header)
    appendWord(out, word);
  appendWords(out, from.before.data(), from.before.size());
  appendWords(out, from.after.data(), from.after.size());
  appendWords(out, from.byteIds.data(), from.byteIds.size());
  appendWords(out, offsets.data(), offsets.size());
  appendWords(out, tokenSlots.data(), tokenSlots.size());
  appendWords(out, mergeSlots.data(), mergeSlots.size());
  for (const std::string &token : from.tokens)
    out += token;
  return out + joined + added + addedTexts;
}

uint32_t TokenizerTable::word(size_t at, size_t index) const {
  uint32_t value;
  std::memcpy(&value, bytes.data() + at + index * sizeof value, sizeof value);
  return value;
}

std::string_view TokenizerTable::token(uint32_t id) const {
  const uint32_t begin = word(offsetsAt, id), end = word(offsetsAt, id + 1);
  return bytes.substr(stringsAt + begin, end - begin);
}

int64_t TokenizerTable::find(std::string_view name) const {
  const uint32_t mask = slots - 1;
  for (uint32_t at = hashName(name) & mask;; at = (at + 1) & mask) {
    const uint32_t id = word(slotsAt, at);
    if (id == FreeSlot)
      return -1;
    if (token(id) == name)
      return id;
  }
}

/// Reads the header and places the sections. Returns the error, or null.
const char *TokenizerTable::layOut() {
  if (bytes.size() < HeaderBytes)
    return "it is shorter than a header";
  if (std::memcmp(bytes.data(), Magic, sizeof Magic) != 0)
    return "it does not begin with HONETOK1";
  const auto header = [&](size_t i) { return word(sizeof Magic, i); };
  if (header(0) != Version)
    return "its version is not 1";
  if (header(1) != bytes.size())
    return "its length is not the one that it records";
  flags = header(2);
  if ((flags & ~uint32_t(AllFlags)) != 0)
    return "it has unknown flags";
  if (header(3) > LastPreTokenizerKind)
    return "it has an unknown pre-tokenizer";
  kind = PreTokenizerKind(header(3));
  eos = int32_t(header(4));
  tokens = header(5);
  slots = header(6);
  mergeSlots = header(7);
  befores = header(8);
  afters = header(9);
  stringBytes = header(10);
  const uint32_t added = header(11), addedBytes = header(12);
  const auto isPowerOfTwo = [](uint32_t n) {
    return n >= 2 && n <= LargestCount && (n & (n - 1)) == 0;
  };
  if (tokens == 0 || tokens > LargestCount || added > LargestCount ||
      !isPowerOfTwo(slots) || !isPowerOfTwo(mergeSlots) ||
      befores > LongestTemplate || afters > LongestTemplate)
    return "a count is out of range";
  // No sum below overflows: each part is under 2^29 bytes.
  beforeAt = HeaderBytes;
  afterAt = beforeAt + befores * sizeof(uint32_t);
  byteIdsAt = afterAt + afters * sizeof(uint32_t);
  offsetsAt = byteIdsAt + 256 * sizeof(uint32_t);
  slotsAt = offsetsAt + (size_t(tokens) + 1) * sizeof(uint32_t);
  mergesAt = slotsAt + size_t(slots) * sizeof(uint32_t);
  stringsAt = mergesAt + size_t(mergeSlots) * MergeTable::SlotBytes;
  const size_t pairsAt = stringsAt + stringBytes;
  const bool hasPairs = kind == PreTokenizerKind::UnmergedBorder;
  const size_t addedAt = pairsAt + (hasPairs ? mergeSlots : 0);
  const size_t textsAt = addedAt + added * AddedTokens::EntryBytes;
  if (textsAt + addedBytes != bytes.size())
    return "its sections do not add up to its length";
  if (hasPairs)
    pairs = JoinedPairs(bytes.data() + pairsAt, mergeSlots);
  addedTokens =
      AddedTokens(bytes.data() + addedAt, added, bytes.substr(textsAt),
                  {hasFlag(PrependSpace), hasFlag(ReplacesSpaces)});
  mergeTable = MergeTable(bytes.data() + mergesAt, mergeSlots);
  return nullptr;
}

/// Checks every number after the header. Returns the error, or null.
const char *TokenizerTable::checkContents() const {
  // befores, afters and byte ids lie one after another.
  for (size_t i = 0; i < size_t(befores) + afters + 256; ++i)
    if (word(beforeAt, i) >= tokens)
      return "a template or byte id is not a token";
  if (eos < -1 || (eos >= 0 && uint32_t(eos) >= tokens))
    return "the eos id is not a token";
  if (word(offsetsAt, 0) != 0 || word(offsetsAt, tokens) != stringBytes)
    return "the string offsets do not cover the strings";
  for (uint32_t id = 0; id < tokens; ++id)
    if (word(offsetsAt, id) > word(offsetsAt, id + 1))
      return "the string offsets are not ascending";
  // Runs are counted from a table's start, so that one across its end counts
  // as two: twice LongestRun still bounds every probe.
  uint32_t run = 0, longest = 0;
  for (uint32_t i = 0; i < slots; ++i) {
    const uint32_t id = word(slotsAt, i);
    run = id == FreeSlot ? 0 : run + 1;
    longest = std::max(longest, run);
    if (id != FreeSlot && id >= tokens)
      return "a vocabulary slot holds no token";
  }
  if (run == slots)
    return "a hash table is full";
  run = 0;
  for (size_t i = 0; i < mergeSlots; ++i) {
    const bool isFree = word(mergesAt, i * 4) == FreeSlot;
    run = isFree ? 0 : run + 1;
    longest = std::max(longest, run);
    if (!isFree && (word(mergesAt, i * 4) >= tokens ||
                    word(mergesAt, i * 4 + 1) >= tokens ||
                    word(mergesAt, i * 4 + 3) >= tokens))
      return "a merge names no token";
  }
  if (run == mergeSlots)
    return "a hash table is full";
  if (longest > LongestRun)
    return "a hash table has a run that makes it slow";
  return addedTokens.check(tokens);
}

Result<TokenizerTable> TokenizerTable::open(std::string_view block,
                                            const std::string &place) {
  TokenizerTable table;
  table.bytes = block;
  const char *problem = table.layOut();
  if (problem == nullptr)
    problem = table.checkContents();
  if (problem != nullptr)
    return Status(
        ErrorCode::BadTokenizerTable, place,
        std::string("expected a tokenizer table, but ") + problem,
        "compile the model again with honec; the weights file is damaged or "
        "was made by another version");
  return table;
}

} // namespace hone::rt
