//===- ScheduleSpsa.cpp - hone-schedule-spsa ------------------------------===//
//
// Simultaneous perturbation (Spall 1992), as in MeZO (Malladi et al. 2023, alg.
// 1): along each of P random directions z_p, two losses give the slope
//   c_p = (L(theta + epsilon z_p) - L(theta - epsilon z_p)) / (2 epsilon P)
// and sum_p c_p z_p is the estimate of the gradient. All batches of a step have
// the same directions. What a step adds to its seed are the c_p: `train`
// reports them, and `replay` makes the same update of them, without data.
//
// One-sided, all directions have the loss at theta in common:
//   c_p = (L(theta + epsilon z_p) - L(theta)) / (epsilon P)
//
//===----------------------------------------------------------------------===//

#include "passes/Passes.h"
#include "passes/derive/DirectionSchedules.h"
#include "passes/derive/PerturbParameters.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace hone {

#define GEN_PASS_DEF_SCHEDULESPSA
#include "passes/Passes.h.inc"

/// Slopes from the losses of all batches: at both ends of each direction, or at
/// one and at theta.
static DirectionEstimate estimate(ScheduleBuilder &b, EntryOp probe,
                                  int64_t directions, bool oneSided) {
  struct Formulas {
    StringRef key, shift, add;
  };
  const Formulas of =
      oneSided ? Formulas{"one_sided_probe_key", "one_sided_probe_shift",
                          "one_sided_add_difference"}
               : Formulas{"probe_key", "probe_shift", "add_difference"};
  Type keyType = RankedTensorType::get(4, b.builder.getI32Type());
  Value seed = b.integerSetting("seed"), step = b.integerSetting("completed");
  Value epsilon = b.realSetting("perturbation_scale");
  TrialSums sums = sumOverTrials(
      b, directions, oneSided ? Trials::AndBase : Trials::Pairs,
      [&](Value batch, Value number, TrialSums before) -> TrialSums {
        Value key = b.scalar(of.key, {seed, step, number}, keyType);
        Value shift = b.scalar(of.shift, {epsilon, number});
        Value loss = b.run(probe, {key, shift}, batch).front();
        return {b.scalar(of.add, {before.numbers, loss, number},
                         before.numbers.getType()),
                b.scalar("add", {before.loss, loss})};
      });
  Value distance = oneSided ? epsilon : b.scalar("add", {epsilon, epsilon});
  return {b.scalar("slopes", {sums.numbers, tokenWeight(b), distance},
                   RankedTensorType::get(directions, b.builder.getF32Type())),
          sums.loss};
}

namespace {
struct ScheduleSpsa : impl::ScheduleSpsaBase<ScheduleSpsa> {
  using ScheduleSpsaBase::ScheduleSpsaBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    FailureOr<StepParts> parts = StepParts::find(module, optimizer);
    if (failed(parts))
      return signalPassFailure();
    FailureOr<EntryOp> probe = createPerturbedCopy(parts->loss);
    if (failed(probe) ||
        failed(scheduleAlongDirections(
            module, *parts, directions, [&](ScheduleBuilder &b) {
              return estimate(b, *probe, directions, oneSided);
            })))
      signalPassFailure();
  }
};
} // namespace

} // namespace hone
