//===- ScheduleSpsa.cpp - hone-schedule-spsa ------------------------------===//
//
// Simultaneous perturbation (Spall 1992), as in MeZO (Malladi et al. 2023, alg.
// 1): along each of P random directions z_p, two losses give the slope
//   c_p = (L(theta + epsilon z_p) - L(theta - epsilon z_p)) / (2 epsilon P)
// and sum_p c_p z_p is the estimate of the gradient. All batches of a step have
// the same directions. What a step adds to its seed are the c_p: `train`
// reports them, and `replay` makes the same update of them, without data.
//
//===----------------------------------------------------------------------===//

#include "passes/Passes.h"
#include "passes/derive/PerturbParameters.h"
#include "passes/derive/ScheduleBuilder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace hone {

#define GEN_PASS_DEF_SCHEDULESPSA
#include "passes/Passes.h.inc"

namespace {

struct ScheduleSpsa : impl::ScheduleSpsaBase<ScheduleSpsa> {
  using ScheduleSpsaBase::ScheduleSpsaBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    // The probe is in 11 bits of a key.
    if (directions < 1 || directions >= 1 << 11) {
      module.emitError("expects 1 to 2047 directions but got ")
          << int64_t(directions);
      return signalPassFailure();
    }
    FailureOr<StepParts> parts = StepParts::find(module, optimizer);
    if (failed(parts) || failed(checkNamesAreFree(
                             module, {stringifyPhase(Phase::Update).str(),
                                      vectorEntryName<EstimateGradientOp>(),
                                      vectorEntryName<GradientSquaresOp>(),
                                      vectorEntryName<ParameterSquaresOp>()})))
      return signalPassFailure();
    FailureOr<EntryOp> probe = createPerturbedCopy(parts->loss);
    if (failed(probe))
      return signalPassFailure();
    count = directions;
    coefficients =
        RankedTensorType::get(count, Float32Type::get(&getContext()));
    EntryOp update = createUpdateEntryAlong(module, parts->optimizer,
                                            parts->parameters, coefficients);
    UpdateScalars scalars(&getContext(), parts->optimizer,
                          parts->parameters.isRounded());
    if (failed(scheduleTraining(*probe, update, scalars)) ||
        failed(scheduleEvaluation(module, *parts)) ||
        failed(scheduleGradient(*probe, *parts)) ||
        failed(scheduleValidation(module, *parts)) ||
        failed(scheduleReplay(update, scalars)))
      signalPassFailure();
  }

private:
  struct Estimate {
    Value coefficients, meanLoss;
  };
  /// The losses of all batches, each at both ends of each direction.
  Estimate estimate(ScheduleBuilder &b, EntryOp probe);
  /// The update along what `train` or its report says.
  void update(ScheduleBuilder &b, EntryOp entry, const UpdateScalars &scalars,
              Value given);
  LogicalResult scheduleTraining(EntryOp probe, EntryOp update,
                                 const UpdateScalars &scalars);
  LogicalResult scheduleGradient(EntryOp probe, const StepParts &parts);
  LogicalResult scheduleReplay(EntryOp update, const UpdateScalars &scalars);

  int64_t count = 0; ///< of directions
  Type coefficients;
};

} // namespace

ScheduleSpsa::Estimate ScheduleSpsa::estimate(ScheduleBuilder &b,
                                              EntryOp probe) {
  Value weight = b.scalar("inverse", b.realSetting("targets"));
  Value seed = b.integerSetting("seed"), step = b.integerSetting("completed");
  Value epsilon = b.realSetting("perturbation_scale");
  Type differences = RankedTensorType::get(count, b.builder.getF64Type());
  Type key = RankedTensorType::get(4, b.builder.getI32Type());
  Value none = b.scalar("zeros", {}, differences);
  Value zero = b.scalar("zero", {});
  Value first = b.scalar("false", {}, b.integer);
  Value probes = b.scalar("probes", none, b.integer);
  ResultRange sums = b.repeat(
      b.integerSetting("batches"), {none, zero}, [&](ValueRange before) {
        Value batch = b.load();
        ResultRange after = b.repeat(
            probes, {first, before[0], before[1]},
            [&](ValueRange carried) {
              Value number = carried[0];
              Value loss =
                  b.run(probe,
                        {b.scalar("probe_key", {seed, step, number}, key),
                         b.scalar("probe_shift", {epsilon, number})},
                        batch)
                      .front();
              return SmallVector<Value>{
                  b.scalar("increment", number, b.integer),
                  b.scalar("add_difference", {carried[1], loss, number},
                           differences),
                  b.scalar("add", {carried[2], loss})};
            },
            /*expected=*/2 * count);
        return SmallVector<Value>(after.drop_front());
      });
  return {b.scalar("coefficients", {sums[0], weight, epsilon}, coefficients),
          b.scalar("mean_of_probes", {sums[1], weight, probes})};
}

void ScheduleSpsa::update(ScheduleBuilder &b, EntryOp entry,
                          const UpdateScalars &scalars, Value given) {
  Value rate = b.learningRate();
  SmallVector<Value> values =
      b.updateScalars(scalars, b.scalar("one", {}), rate);
  values.append({b.stepKey(), given});
  b.run(entry, values);
  b.report(rate, "learning_rate");
}

LogicalResult ScheduleSpsa::scheduleTraining(EntryOp probe, EntryOp entry,
                                             const UpdateScalars &scalars) {
  ScheduleBuilder b(getOperation(), Purpose::Train);
  auto [found, meanLoss] = estimate(b, probe);
  b.check({meanLoss, b.scalar("largest", found)});
  update(b, entry, scalars, found);
  b.report(meanLoss, "loss");
  b.report(found, "coefficients");
  return failure(b.hasFailed);
}

LogicalResult ScheduleSpsa::scheduleGradient(EntryOp probe,
                                             const StepParts &parts) {
  Type key = RankedTensorType::get(4, IntegerType::get(&getContext(), 32));
  EntryOp fill = createVectorEntry<EstimateGradientOp>(getOperation(),
                                                       {key, coefficients}, {});
  EntryOp squares = createVectorEntry<GradientSquaresOp>(getOperation(), {},
                                                         parts.perParameter);
  ScheduleBuilder b(getOperation(), Purpose::Differentiate);
  auto [found, meanLoss] = estimate(b, probe);
  b.run(fill, {b.stepKey(), found});
  b.report(meanLoss, "loss");
  b.report(b.scalar("norm", b.run(squares, {})), "gradient_norm");
  return failure(b.hasFailed);
}

LogicalResult ScheduleSpsa::scheduleReplay(EntryOp entry,
                                           const UpdateScalars &scalars) {
  ScheduleBuilder b(getOperation(), Purpose::Replay);
  update(b, entry, scalars, b.setting("coefficients", coefficients));
  return failure(b.hasFailed);
}

} // namespace hone
