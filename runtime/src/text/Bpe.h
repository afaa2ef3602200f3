//===- Bpe.h - Byte pair merging of one piece -----------------------------===//
//
// Repeatedly merges the pair with the lowest rank, the leftmost of equals, in
// O(n log n). A stale queue entry is applied when the pair that now stands in
// its place merges into the same token: so does the Hugging Face library, and
// it matters when two pairs make one token.
//
//===----------------------------------------------------------------------===//

#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace hone::rt {

/// A hash table in mapped memory: 16-byte slots {left, right, rank, result},
/// u32 little-endian, open addressing with linear probing; left = 0xFFFFFFFF
/// marks a free slot, of which there is at least one.
class MergeTable {
public:
  struct Merge {
    uint32_t rank, result;
  };
  static constexpr uint32_t FreeSlot = 0xFFFFFFFF;
  static constexpr size_t SlotBytes = 16;

  MergeTable() = default;
  /// `slotCount` is a power of two.
  MergeTable(const char *slots, uint32_t slotCount)
      : slots(slots), mask(slotCount - 1) {}

  bool find(uint32_t left, uint32_t right, Merge &merge) const;
  static uint32_t hash(uint32_t left, uint32_t right);

private:
  const char *slots = nullptr;
  uint32_t mask = 0;
};

/// Merges one piece at a time in memory that grows to the longest piece
/// (40 bytes for each of its bytes) and is reused.
class PieceMerger {
public:
  /// Begins a piece of at most `tokens` tokens. The queue holds a pair for
  /// each border and at most one more for each merge.
  void begin(size_t tokens) {
    symbols.clear();
    symbols.reserve(tokens);
    queue.reserve(2 * tokens);
  }
  void add(uint32_t token) { symbols.push_back({token, 0, 0}); }

  /// Merges the added tokens and leaves the result in `ids`.
  void merge(const MergeTable &table, std::vector<int32_t> &ids);

private:
  struct Symbol {
    uint32_t token, previous, next;
  };
  struct Candidate {
    uint32_t rank, position, result;
  };
  void consider(const MergeTable &table, uint32_t left, uint32_t right);

  std::vector<Symbol> symbols;
  std::vector<Candidate> queue;
};

} // namespace hone::rt
