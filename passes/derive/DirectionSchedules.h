//===- DirectionSchedules.h - Steps along random directions ---------------===//
//
// What methods share whose gradient is a sum of random directions: the update
// along them, the estimate in memory for who asks, and the update again from
// what a step reported. A method says how it finds the coefficients.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_PASSES_DERIVE_DIRECTIONSCHEDULES_H
#define HONE_PASSES_DERIVE_DIRECTIONSCHEDULES_H

#include "passes/derive/ScheduleBuilder.h"

namespace hone {

/// What a method finds in the batches of a step.
struct DirectionEstimate {
  mlir::Value coefficients; ///< of hone.estimate_gradient
  mlir::Value meanLoss;     ///< over target tokens
};

/// Writes how `directions` coefficients are found at the builder's place.
using FindCoefficients =
    llvm::function_ref<DirectionEstimate(ScheduleBuilder &)>;

/// Adds `train`, `evaluate`, `differentiate`, `validate` and `replay`, and the
/// entries that they run. Fails with a diagnostic if a name is taken, or
/// directions are more than have names.
mlir::LogicalResult scheduleAlongDirections(mlir::ModuleOp module,
                                            const StepParts &parts,
                                            int64_t directions,
                                            FindCoefficients find);

/// What trials of all batches add up to: a number for each direction, f64, and
/// the loss, over target tokens.
struct TrialSums {
  mlir::Value numbers, loss;
};
/// How many trials there are of a batch.
enum class Trials {
  OfEach,  ///< one along each direction
  Pairs,   ///< two
  AndBase, ///< one, and before all of them one along none
};
/// Runs trials along `directions` for each batch. `body` gets the batch, the
/// number of the trial and the sums so far, and returns them with its own. In
/// what is returned the loss is a mean, of trials too.
TrialSums
sumOverTrials(ScheduleBuilder &b, int64_t directions, Trials trials,
              llvm::function_ref<TrialSums(mlir::Value batch, mlir::Value trial,
                                           TrialSums before)>
                  body);
/// 1 / target tokens of the step.
inline mlir::Value tokenWeight(ScheduleBuilder &b) {
  return b.scalar("inverse", b.realSetting("targets"));
}

} // namespace hone

#endif
