//===- StepState.h - A step between two of its launches -------------------===//
//
// With the arena, all that the rest of a step follows from.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "step/Position.h"
#include "step/SampleOrder.h"

#include <cstdint>

namespace hone::rt {

struct StepState {
  Position position;
  SampleOrder::Range left{}; ///< places of the batches that are to be loaded
  uint64_t batches = 0;      ///< that were loaded
  uint64_t tokens = 0;       ///< rows of those
};

} // namespace hone::rt
