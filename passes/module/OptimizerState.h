//===- OptimizerState.h - The optimizer's state of a module --------------===//
//
// Each slot is one vector of all trainable parameters, in the order of theta.
// Updates of some layers only, by several optimizers, have all slots that any
// of them has.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "passes/module/ParameterTable.h"

namespace hone {

class OptimizerState {
public:
  /// `parameters` are those of `module`, and stay.
  OptimizerState(mlir::ModuleOp module, const ParameterTable &parameters);

  llvm::ArrayRef<StateSlot> slots() const { return list; }

  /// Where in the vector of a slot something is, in elements.
  struct Range {
    int64_t offset, elements;
  };
  /// The range of the parameters of `slice`.
  Range rangeOf(const StateSlot &slot, const ThetaSlice &slice) const;
  /// The elements of the whole vector.
  int64_t elementsOf(const StateSlot &slot) const;
  int64_t bytesOf(const StateSlot &slot) const;

private:
  const ParameterTable &parameters;
  llvm::SmallVector<StateSlot> list;
};

} // namespace hone
