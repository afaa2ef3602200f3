//===- Banks.h - Lanes that want one bank of shared memory ----------------===//

#pragma once

#include "../Workgroup.h"

#include <algorithm>

namespace hone::ptx {

/// Counts accesses of a warp beyond one to each bank, if that is asked for: of
/// 32 banks of 4 bytes, for as many lanes at once as have 128 bytes together.
/// addressOf(lane) is where the lane's `bytes` are.
template <typename AddressOf>
void countConflicts(Warp &warp, const Instruction &instruction, uint32_t mask,
                    unsigned bytes, AddressOf addressOf) {
  Workgroup &group = warp.workgroup();
  if (!group.machine.options().countsBankConflicts)
    return;
  const unsigned words = std::max(1u, bytes / 4),
                 lanesAtOnce = std::max(1u, 32 / words);
  uint64_t &count =
      group.launch.counts->conflicts[&instruction - group.kernel.code.data()];
  for (unsigned first = 0; first < kLanes; first += lanesAtOnce) {
    uint64_t seen[32][32];
    unsigned used[32] = {}, most = 1;
    for (unsigned lane = first; lane < first + lanesAtOnce; ++lane) {
      if (!(mask >> lane & 1))
        continue;
      const uint64_t begin = addressOf(lane) / 4;
      for (unsigned i = 0; i < words; ++i) {
        const uint64_t word = begin + i;
        uint64_t *bank = seen[word % 32];
        unsigned &n = used[word % 32];
        if (std::find(bank, bank + n, word) == bank + n && n < 32)
          bank[n++] = word;
        most = std::max(most, n);
      }
    }
    count += most - 1;
  }
}

} // namespace hone::ptx
