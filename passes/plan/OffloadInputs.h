//===- OffloadInputs.h - Values of the forward that rest in a file --------===//
//
// A block's input, or a value that a block keeps for its own backward, is not
// read between its last use in the forward and its first in the backward. It is
// written to a file and read again beside the calls around that time, and its
// memory is free in between.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "dialects/Hone/HoneOps.h"

#include "mlir/IR/BuiltinOps.h"

namespace hone {

/// Offloads results that rest long enough, of the first `most` calls of `entry`
/// with such results; returns how many such calls there are. `rows`: the most
/// that a batch has.
int64_t offloadInputs(EntryOp entry, int64_t most, int64_t rows);

/// The bytes that a module offloads, with hone.max_rows rows.
struct OffloadedBytes {
  int64_t file = 0;     ///< of the file; 0: nothing is offloaded
  int64_t perBatch = 0; ///< written by a step of one batch, and read again
  int64_t values = 0;   ///< of one batch

  static OffloadedBytes of(mlir::ModuleOp module);
};

} // namespace hone
