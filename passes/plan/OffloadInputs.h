//===- OffloadInputs.h - Block inputs that rest in a file -----------------===//
//
// Between its last use in the forward and its first in the backward a block's
// input is read by nobody. Its file is written and read beside the calls around
// that time, and its memory is free in between.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "dialects/Hone/HoneOps.h"

#include "mlir/IR/BuiltinOps.h"

namespace hone {

/// Offloads the first `most` block inputs of `entry` that this frees memory of;
/// returns how many there are. `rows`: the most that a batch has.
int64_t offloadInputs(EntryOp entry, int64_t most, int64_t rows);

/// What a module offloads, with hone.max_rows rows.
struct OffloadedBytes {
  int64_t file = 0;     ///< of the file; 0: nothing is offloaded
  int64_t perBatch = 0; ///< written by a step of one batch, and read again
  int64_t values = 0;   ///< of one batch

  static OffloadedBytes of(mlir::ModuleOp module);
};

} // namespace hone
