//===- Position.h - Between two launches of a schedule's run --------------===//
//
// An entry is host code that launches kernels; its launches follow from the
// rows of its batch and from numbers that no kernel of it writes. So a run goes
// on in the middle of an entry by calling it again without the launches that
// ran before, on an arena that is as it was.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "step/Values.h"

#include <cstdint>
#include <vector>

namespace hone::rt {

struct Position {
  /// An item of the table, and the tick of the repeat around it; 0 outside.
  struct Place {
    uint32_t item = 0;
    int64_t tick = 0;
  };
  /// From the outermost repeat to the item that runs, which is at `depth`.
  Place path[Values::maxDepth + 1];
  uint32_t depth = 0;
  uint64_t launches = 0; ///< of the item, before this
  uint64_t number = 0;   ///< of the run, before this
  /// Rows of the batches in flight, by value and slot.
  std::vector<int64_t> batchRows;
  uint64_t batch = 0; ///< where the last entry's batch is, from the arena
  int64_t rows = 0;   ///< of that
};

} // namespace hone::rt
