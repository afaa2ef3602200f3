//===- WeightResidency.h - Which weights are in memory at a time ----------===//
//
// Follows the calls and releases of a module's entries, as hone-stream-weights
// leaves them. Without releases everything that is read stays.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "dialects/Hone/HoneOps.h"

namespace hone {

/// Most bytes of the weights file that are resident at one time.
struct WeightResidency {
  int64_t bytes = 0;
  /// More for each thread: single rows that threads let go on their own.
  int64_t threadBytes = 0;

  static WeightResidency of(mlir::ModuleOp module);
};

} // namespace hone
