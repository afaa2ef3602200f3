//===- ActivityAnalysis.h - Which values carry a cotangent ----------------===//
//
// A value is active when it depends on a trainable parameter or on an active
// argument of its block. Only active values have cotangents. A block is derived
// once for all its calls, so an argument is active if it is in any of them.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_PASSES_DERIVE_ACTIVITYANALYSIS_H
#define HONE_PASSES_DERIVE_ACTIVITYANALYSIS_H

#include "dialects/Hone/HoneOps.h"

namespace hone {

class ActivityAnalysis {
public:
  ActivityAnalysis(BlockOp block, const llvm::BitVector &activeArguments);

  bool isActive(mlir::Value value) const { return active.contains(value); }
  llvm::BitVector activeOperands(mlir::Operation *op) const;
  /// Which operands of the block's return are active.
  llvm::BitVector activeResults() const;

private:
  mlir::Operation *terminator;
  llvm::DenseSet<mlir::Value> active;
};

/// Which calls of an entry have something to derive.
class EntryActivity {
public:
  explicit EntryActivity(EntryOp entry);

  bool isActive(mlir::Value value) const { return values.contains(value); }
  bool isActive(CallOp call) const { return calls.contains(call); }
  const llvm::BitVector &argumentsOf(BlockOp block) const {
    return arguments.find(block)->second;
  }
  /// The active calls before `loss`: those whose forward and backward are
  /// apart.
  llvm::SmallVector<CallOp> layersBefore(CallOp loss) const;

private:
  llvm::DenseSet<mlir::Value> values;
  llvm::DenseSet<mlir::Operation *> calls;
  llvm::DenseMap<BlockOp, llvm::BitVector> arguments;
};

} // namespace hone

#endif
