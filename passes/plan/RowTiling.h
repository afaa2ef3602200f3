//===- RowTiling.h - Row-wise ops in tiles of rows ------------------------===//
//
// Finds the parts of a block that can run for slices of rows, or for some
// sequences after the others, and moves them into hone.row_tiles. Nothing here
// knows an op: traits say which ops can.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "dialects/Hone/HoneOps.h"

#include "llvm/ADT/SetVector.h"

namespace hone {

/// Neighbouring row-wise ops of a block, with the sinks of their sums. Ambient
/// ops, and others that are of parameters alone, may stand between them.
struct RowRun {
  llvm::SmallVector<mlir::Operation *> ops;

  /// Values that the run reads and does not define, but for ambient ones.
  llvm::SetVector<mlir::Value> inputs() const;
  /// Values that the run defines and others read.
  llvm::SetVector<mlir::Value> outputs() const;
  /// Whether a value that only the run uses has longer rows than all that
  /// cross its border: tiles then save memory.
  bool isWideInside() const;
};

/// The longest runs of `body`, in order.
llvm::SmallVector<RowRun> findRowRuns(mlir::Block &body);

/// Moves `run` into a new hone.row_tiles of `rows` rows.
RowTilesOp tileRun(const RowRun &run, int64_t rows);

/// All that a block computes, where rows of one sequence depend on no other.
struct SequenceRun {
  RowRun run;
  /// The batch's inputs with rows that it reads, sequence_starts first.
  llvm::SetVector<mlir::Value> inputs;
};
/// None if `body` has anything else, or a sink, or no value inside.
std::optional<SequenceRun> findSequenceRun(mlir::Block &body);

/// The same as tileRun for whole sequences, of up to `longest` rows.
RowTilesOp tileSequences(const SequenceRun &sequences, int64_t rows,
                         int64_t longest);

/// The height of the highest tiles of whole sequences in `module`; 0: it has
/// none.
int64_t sequenceTileRows(mlir::ModuleOp module);

} // namespace hone
