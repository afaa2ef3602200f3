//===- Activations.h - Activation functions and their derivatives ---------===//
//
// Scalar code for one element, shared by the ops that have an Activation. It
// uses no function but exp, so that every target computes it.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "dialects/Hone/HoneOps.h"

namespace hone {

/// f(x).
mlir::Value activate(mlir::ImplicitLocOpBuilder &b, Activation kind,
                     mlir::Value x);

/// f(x) and f'(x) of one element.
struct ActivationSlope {
  mlir::Value value;
  /// f'(x) is their product. A factor that is beyond the range where f' is zero
  /// stands after one that is zero.
  llvm::SmallVector<mlir::Value, 2> slope;
};
ActivationSlope differentiate(mlir::ImplicitLocOpBuilder &b, Activation kind,
                              mlir::Value x);

/// `value` times f'(x), factor by factor.
mlir::Value timesSlope(mlir::ImplicitLocOpBuilder &b, mlir::Value value,
                       const ActivationSlope &slope);

} // namespace hone
