//===- SequenceLoop.h - A loop over tiles of whole sequences --------------===//
//
// The rows of a tile depend on the batch: an entry reads sequence_starts where
// it launches loops. See dialects/Hone/SequenceTiles.h.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "mlir/IR/Builders.h"

namespace hone {

/// On a load outside of kernels: it reads where a sequence of the batch starts.
/// For targets whose kernels run on the host.
inline constexpr llvm::StringLiteral kReadAtLaunchAttrName = "read_at_launch";

/// Rows of a tile: `count` from `first` on. Those of whole sequences begin at
/// `start`, so there may be some before.
struct SequenceTile {
  mlir::Value first, count, start;
};

/// Emits `body` for the tiles of a batch of `rows` rows, of at most `tileRows`,
/// the last ones first. `starts` is of the batch, and no sequence is longer
/// than leastSequenceTile says of `tileRows`.
mlir::LogicalResult forEachSequenceTile(
    mlir::OpBuilder &builder, mlir::Location loc, mlir::Value starts,
    mlir::Value rows, int64_t tileRows,
    llvm::function_ref<mlir::LogicalResult(const SequenceTile &)> body);

} // namespace hone
