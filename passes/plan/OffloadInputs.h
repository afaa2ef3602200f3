//===- OffloadInputs.h - What the forward leaves rests in a file ----------===//
//
// Between its last use in the forward and its first in the backward a block's
// input, or what a block keeps for its own backward, is read by nobody. It is
// written to a file and read again beside the calls around that time, and its
// memory is free in between.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "dialects/Hone/HoneOps.h"

#include "mlir/IR/BuiltinOps.h"

namespace hone {

/// Offloads what the first `most` calls of `entry` make that rests long enough;
/// returns how many such calls there are. `rows`: the most that a batch has.
int64_t offloadInputs(EntryOp entry, int64_t most, int64_t rows);

/// What a module offloads, with hone.max_rows rows.
struct OffloadedBytes {
  int64_t file = 0;     ///< of the file; 0: nothing is offloaded
  int64_t perBatch = 0; ///< written by a step of one batch, and read again
  int64_t values = 0;   ///< of one batch

  static OffloadedBytes of(mlir::ModuleOp module);
};

} // namespace hone
