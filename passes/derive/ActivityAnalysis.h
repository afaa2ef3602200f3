//===- ActivityAnalysis.h - Which values carry a cotangent ----------------===//
//
// A value is active when it depends on a trainable parameter or on an active
// argument of its block. Only active values have cotangents. A block is derived
// once for all its calls that train, so an argument is active if it is in any
// of them; and once for calls of layers that do not, whose parameters are
// constants.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "passes/parts/LayerParts.h"

namespace hone {

/// The values that a block reads and that have a cotangent.
struct ActiveInputs {
  llvm::BitVector arguments;
  bool parameters = true; ///< the trainable ones
};

class ActivityAnalysis {
public:
  ActivityAnalysis(BlockOp block, const ActiveInputs &inputs);

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
  /// Parameters of the layers that `trains` has are active.
  explicit EntryActivity(EntryOp entry, LayerFilter trains = nullptr);

  bool isActive(mlir::Value value) const { return values.contains(value); }
  bool isActive(CallOp call) const { return calls.contains(call); }
  /// The active inputs of any call like `call`.
  const ActiveInputs &inputsOf(CallOp call) const {
    return inputs.at(kinds.at(call));
  }
  /// The active calls before `loss`: those whose forward and backward are
  /// apart.
  llvm::SmallVector<CallOp> callsBefore(CallOp loss) const;

private:
  /// A block, and whether the layer trains.
  using Kind = llvm::PointerIntPair<mlir::Operation *, 1, bool>;

  llvm::DenseSet<mlir::Value> values;
  llvm::DenseSet<mlir::Operation *> calls;
  llvm::DenseMap<mlir::Operation *, Kind> kinds; ///< by call
  llvm::DenseMap<Kind, ActiveInputs> inputs;
};

} // namespace hone
