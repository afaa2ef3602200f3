//===- ScheduleForwardGradient.cpp - hone-schedule-forward-gradient -------===//
//
// The forward gradient (Baydin et al. 2022; of AsyncFGD, Guo et al. 2023, eq.
// 4, the sequential case): along each of n random directions u_d, forward mode
// gives the derivative j_d of the loss, and sum_d j_d / n u_d is an unbiased
// estimate of the gradient. Directions are seeds, so between blocks there are a
// value and its tangent, and nothing is kept.
//
//===----------------------------------------------------------------------===//

#include "passes/Passes.h"
#include "passes/derive/DirectionSchedules.h"
#include "passes/derive/TangentCopy.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace hone {

#define GEN_PASS_DEF_SCHEDULEFORWARDGRADIENT
#include "passes/Passes.h.inc"

/// The slopes of all batches along each direction.
static DirectionEstimate estimate(ScheduleBuilder &b, EntryOp tangent,
                                  int64_t directions) {
  Type key = RankedTensorType::get(4, b.builder.getI32Type());
  Value seed = b.integerSetting("seed"), step = b.integerSetting("completed");
  TrialSums sums = sumOverTrials(
      b, directions, Trials::OfEach,
      [&](Value batch, Value number, TrialSums before) -> TrialSums {
        ResultRange found =
            b.run(tangent, b.scalar("direction_key", {seed, step, number}, key),
                  batch);
        return {b.scalar("add_slope", {before.numbers, found[1], number},
                         before.numbers.getType()),
                b.scalar("add", {before.loss, found[0]})};
      });
  return {b.scalar("slopes",
                   {sums.numbers, tokenWeight(b), b.scalar("one", {})},
                   RankedTensorType::get(directions, b.builder.getF32Type())),
          sums.loss};
}

namespace {
struct ScheduleForwardGradient
    : impl::ScheduleForwardGradientBase<ScheduleForwardGradient> {
  using ScheduleForwardGradientBase::ScheduleForwardGradientBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    FailureOr<StepParts> parts = StepParts::find(module, optimizer);
    if (failed(parts))
      return signalPassFailure();
    FailureOr<EntryOp> tangent = createTangentCopy(parts->loss);
    if (failed(tangent) ||
        failed(scheduleAlongDirections(
            module, *parts, directions, [&](ScheduleBuilder &b) {
              return estimate(b, *tangent, directions);
            })))
      signalPassFailure();
  }
};
} // namespace

} // namespace hone
