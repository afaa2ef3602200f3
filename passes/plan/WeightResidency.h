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
  int64_t bytes = 0; ///< in a step
  /// For each thread, the piece of the file that it verifies before the first
  /// step. None where all that is read stays.
  int64_t threadBytes = 0;

  static WeightResidency of(mlir::ModuleOp module);
};

} // namespace hone
