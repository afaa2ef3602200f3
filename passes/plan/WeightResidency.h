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
  /// For each thread, before the first step: what it verifies of the file. None
  /// where all that is read stays.
  int64_t threadBytes = 0;

  static WeightResidency of(mlir::ModuleOp module);
};

} // namespace hone
