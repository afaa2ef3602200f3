//===- ModelChecks.h - The gradient of the whole, small model -------------===//
//
// Checks of single ops do not see how adjoints are put together, nor
// recomputation, nor every kernel as it is compiled for training.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "compiler/selfcheck/Report.h"

#include "passes/methods/Method.h"
#include "targets/Target.h"
#include "threads/Pool.h"

#include "mlir/IR/BuiltinOps.h"

#include <vector>

namespace hone::selfcheck {

/// The way of a cotangent, where that is not the backward of every layer.
enum class Route {
  Exact,           ///< layers that are not selected, exactly
  Identity,        ///< or unchanged
  SkippedForwards, ///< or their forward is left out, too
  LowerPart,       ///< layers of the upper part, which has no backward
  UpperPart,       ///< none below that part
};

struct ModelCheckRequest {
  mlir::ModuleOp stored;  ///< shrunk, with the user's element types
  mlir::ModuleOp float64; ///< the same in f64
  const Target &target;
  const Target *reference; ///< null: `target` is the reference
  std::string residuals;   ///< of every layer, as in hone-derive-backward
  /// The estimates that methods have beside the gradient, each once.
  std::vector<GradientCheck::Kind> estimates;
  std::string computeType; ///< of `stored`, for people: "bfloat16"
  /// The largest sum of roundings in a tensor's gradient, relative.
  double limit;
  std::vector<Route> routes = {}; ///< of selections and parts, each once
};

/// Appends checks: of each layer's gradient against differences of the loss,
/// and of the estimates and selections of methods, in f64; of each layer's
/// gradient in the user's types against f64, and on the target against the
/// reference. An error if a module cannot be derived or the target's code
/// cannot be run.
llvm::Error checkModel(const ModelCheckRequest &request, rt::Pool &pool,
                       Report &report);

} // namespace hone::selfcheck
