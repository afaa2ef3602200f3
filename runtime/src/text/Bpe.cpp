//===- Bpe.cpp - Byte pair merging of one piece ---------------------------===//
//
// The piece is a doubly linked list inside an array; the queue holds every
// pair that may be merged, some of them stale.
//
//===----------------------------------------------------------------------===//

#include "text/Bpe.h"

#include <algorithm>
#include <cstring>

namespace hone::rt {

static constexpr uint32_t NoSymbol = 0xFFFFFFFF;
static constexpr uint32_t MergedAway = 0xFFFFFFFF;

uint32_t MergeTable::hash(uint32_t left, uint32_t right) {
  uint64_t mixed = (uint64_t(left) << 32 | right) * 0x9E3779B97F4A7C15u;
  return uint32_t(mixed >> 32) ^ uint32_t(mixed >> 15);
}

bool MergeTable::find(uint32_t left, uint32_t right, Merge &merge) const {
  for (uint32_t at = hash(left, right) & mask;; at = (at + 1) & mask) {
    uint32_t slot[4];
    std::memcpy(slot, slots + size_t(at) * SlotBytes, SlotBytes);
    if (slot[0] == FreeSlot)
      return false;
    if (slot[0] == left && slot[1] == right) {
      merge = {slot[2], slot[3]};
      return true;
    }
  }
}

static constexpr auto isAfter = [](const auto &a, const auto &b) {
  return a.rank != b.rank ? a.rank > b.rank : a.position > b.position;
};

void PieceMerger::consider(const MergeTable &table, uint32_t left,
                           uint32_t right) {
  MergeTable::Merge merge;
  if (!table.find(symbols[left].token, symbols[right].token, merge))
    return;
  queue.push_back({merge.rank, left, merge.result});
  std::push_heap(queue.begin(), queue.end(), isAfter);
}

void PieceMerger::merge(const MergeTable &table, std::vector<int32_t> &ids) {
  ids.clear();
  queue.clear();
  const uint32_t count = uint32_t(symbols.size());
  for (uint32_t i = 0; i < count; ++i) {
    symbols[i].previous = i == 0 ? NoSymbol : i - 1;
    symbols[i].next = i + 1 == count ? NoSymbol : i + 1;
    if (i != 0)
      consider(table, i - 1, i);
  }
  while (!queue.empty()) {
    std::pop_heap(queue.begin(), queue.end(), isAfter);
    const Candidate best = queue.back();
    queue.pop_back();
    Symbol &left = symbols[best.position];
    if (left.token == MergedAway || left.next == NoSymbol)
      continue;
    Symbol &right = symbols[left.next];
    MergeTable::Merge current;
    if (!table.find(left.token, right.token, current) ||
        current.result != best.result)
      continue;
    left.token = best.result;
    left.next = right.next;
    right.token = MergedAway;
    if (left.next != NoSymbol)
      symbols[left.next].previous = best.position;
    if (left.previous != NoSymbol)
      consider(table, left.previous, best.position);
    if (left.next != NoSymbol)
      consider(table, best.position, left.next);
  }
  for (uint32_t at = 0; at < count; at = symbols[at].next)
    ids.push_back(int32_t(symbols[at].token));
}

} // namespace hone::rt
