//===- Optimizer.h - The compiler's description of an optimizer -----------===//
//
// One description for each optimizer, made by the function that the list in
// Settings.h names. Its formula, and its memory from step to step, are at the
// op that it makes (dialects/Hone/ops/Optimizer.td). README.md says how one is
// added.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "dialects/Hone/HoneOps.h"

namespace hone {

namespace rt {
struct UpdateSettings;
} // namespace rt

/// An update's operands beside the numbers of its rule; null or empty: it has
/// no such operand. See Hone_UpdateOp.
struct UpdateOperands {
  mlir::Value rateOfB = {}, rounding = {};
  mlir::Value gradient = {};               ///< a hone.layer_gradient
  mlir::Value key = {}, coefficients = {}; ///< of random directions
  mlir::ArrayAttr layers = {};
  mlir::Value mask = {};
  mlir::IntegerAttr maskIndex = {};
};

struct Optimizer {
  /// The numbers of its op after `gradient_scale`, `learning_rate` and
  /// `weight_decay`, in order: settings, and numbers that ScheduleBuilder
  /// computes of them. Those that count updates come last.
  llvm::SmallVector<llvm::StringRef, 5> numbers;
  /// Creates its op; `numbers` begin with those three.
  void (*create)(mlir::OpBuilder &builder, mlir::Location loc,
                 const Optimizer &optimizer, mlir::ValueRange numbers,
                 const UpdateOperands &operands) = nullptr;
  /// Its state is rounded to bfloat16 at random.
  bool roundsState = false;
  /// Parameter::hasRateOfB() have a rate of their own.
  bool hasRateOfB = false;

  /// Whether a number depends on how many updates there were.
  bool countsUpdates() const;
};

/// A number that depends on how many updates there were before.
struct CountedNumber {
  llvm::StringRef name;
  llvm::StringRef setting;
  /// The formula of the setting and that count (passes/derive), and that of
  /// the counts of several layers, each with this update.
  llvm::StringRef formula, formulaOfEach;
};
/// Null if `name` is a setting's.
const CountedNumber *findCounted(llvm::StringRef name);

/// The one that `settings` name, as they set it.
Optimizer describeOptimizer(const rt::UpdateSettings &settings);

} // namespace hone
