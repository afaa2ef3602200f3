//===- StepState.h - A step between two of its launches -------------------===//
//
// With the values that the step keeps, all state that decides the rest of it.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "base/MemoryView.h"
#include "device/Offloading.h"
#include "step/Position.h"
#include "step/SampleOrder.h"
#include "step/Trainables.h"

#include <cstdint>
#include <vector>

namespace hone::rt {

struct StepState {
  Position position;
  SampleOrder::Range left{}; ///< places of the batches that are to be loaded
  uint64_t batches = 0;      ///< that were loaded
  uint64_t tokens = 0;       ///< rows of those
};

/// All that a step keeps.
struct StepMemory {
  MemoryView arena;
  uint64_t bytes; ///< of the arena
  std::vector<Trainables::Remembered> &remembered;
  /// Numbers of the arena, finite as long as a run goes on.
  std::vector<CheckpointVector> trained;
  Offloading *offloaded = nullptr; ///< null: nothing is

  uint64_t totalBytes() const {
    return bytes + (offloaded ? offloaded->size() : 0);
  }
};

} // namespace hone::rt
