//===- BlockDerivation.h - The backward of one block ----------------------===//
//
// Builds, beside a block, the blocks that a training step derives from it.
// Nothing here knows an op: reading, recomputing and differentiating go through
// AdjointOpInterface, and ResidualPolicy chooses the values that are kept.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "dialects/Hone/HoneOps.h"
#include "passes/derive/ActivityAnalysis.h"
#include "passes/derive/ResidualPolicy.h"

namespace hone {

/// A block cut in two, with everything else of the model in between.
struct SplitDerivation {
  /// The block's results, then the kept values. The block itself when nothing
  /// is kept.
  BlockOp forward;
  /// (arguments of the block, kept values, cotangents of active results) to
  /// (cotangents of active arguments).
  BlockOp backward;
  unsigned numKept = 0;
  /// Which arguments of the block `backward` reads, in order.
  llvm::SmallVector<unsigned> arguments;
  llvm::SmallVector<unsigned> activeResults;
  llvm::SmallVector<unsigned> activeArguments;
};

/// A block whose forward and backward run back to back, as one.
struct FusedDerivation {
  /// (arguments, cotangents of active results) to (results, cotangents of
  /// active arguments).
  BlockOp gradient;
  llvm::SmallVector<unsigned> activeResults;
  llvm::SmallVector<unsigned> activeArguments;
};

/// Derives `block` for calls whose `active` inputs carry cotangents.
/// The new blocks stand after it and are named after it: `@b.forward`,
/// `@b.backward`, with `variant` at the end if a module needs the block under
/// more than one policy. Fails with a diagnostic at the op that has no
/// derivative.
mlir::FailureOr<SplitDerivation> deriveSplit(BlockOp block,
                                             const ActiveInputs &active,
                                             const ResidualPolicy &policy,
                                             llvm::StringRef variant = "");

/// As deriveSplit, as one block `@b.gradient`. Every forward value is at hand,
/// so no policy is asked.
mlir::FailureOr<FusedDerivation> deriveFused(BlockOp block,
                                             const ActiveInputs &active);

/// Clones `op` as `mapping` has its operands, and extends that; with its
/// auxiliary result, if it may have one and `withAuxiliary`.
mlir::Operation *cloneWithAuxiliary(mlir::OpBuilder &builder,
                                    mlir::Operation *op,
                                    mlir::IRMapping &mapping,
                                    bool withAuxiliary);

} // namespace hone
