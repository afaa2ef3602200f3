//===- ActivityAnalysis.h - Which values carry a cotangent ----------------===//
//
// A value is active when it depends on a trainable parameter or on an active
// argument of its block. Only active values have cotangents.
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

} // namespace hone

#endif
