//===- DirectionSchedules.cpp - Steps along random directions -------------===//

#include "passes/derive/DirectionSchedules.h"

using namespace mlir;

namespace hone {

/// Directions have names.
static LogicalResult checkDirections(ModuleOp module, int64_t directions) {
  // The number of a direction is in 11 bits of a key.
  if (directions >= 1 && directions < 1 << 11)
    return success();
  return module.emitError("expects 1 to 2047 directions but got ")
         << directions;
}

TrialSums sumOverTrials(ScheduleBuilder &b, int64_t directions, Trials trials,
                        function_ref<TrialSums(Value, Value, TrialSums)> body) {
  Type vector = RankedTensorType::get(directions, b.builder.getF64Type());
  Value none = b.scalar("zeros", {}, vector);
  Value zero = b.scalar("zero", {});
  Value first = b.scalar("false", {}, b.integer);
  Value count = b.scalar("directions", none, b.integer);
  int64_t expected = directions;
  if (trials == Trials::Pairs) {
    count = b.scalar("twice", count, b.integer);
    expected = 2 * directions;
  } else if (trials == Trials::AndBase) {
    count = b.scalar("increment", count, b.integer);
    expected = directions + 1;
  }
  ResultRange sums = b.repeat(
      b.integerSetting("batches"), {none, zero}, [&](ValueRange before) {
        Value batch = b.load();
        ResultRange after = b.repeat(
            count, {first, before[0], before[1]},
            [&](ValueRange carried) {
              TrialSums sums =
                  body(batch, carried[0], {carried[1], carried[2]});
              return SmallVector<Value>{
                  b.scalar("increment", carried[0], b.integer), sums.numbers,
                  sums.loss};
            },
            expected);
        return SmallVector<Value>(after.drop_front());
      });
  return {sums[0],
          b.scalar("mean_of_trials", {sums[1], tokenWeight(b), count})};
}

namespace {

class DirectionScheduler {
public:
  DirectionScheduler(ModuleOp module, const StepParts &parts,
                     int64_t directions, FindCoefficients find)
      : module(module), parts(parts), find(find),
        coefficients(RankedTensorType::get(
            directions, Float32Type::get(module.getContext()))),
        scalars(module.getContext(), parts.optimizer,
                parts.parameters.isRounded()) {}

  LogicalResult run();

private:
  void update(ScheduleBuilder &b, Value given);
  LogicalResult scheduleTraining();
  LogicalResult scheduleGradient();
  LogicalResult scheduleReplay();

  ModuleOp module;
  const StepParts &parts;
  FindCoefficients find;
  Type coefficients;
  UpdateScalars scalars;
  EntryOp updateEntry;
};

} // namespace

void DirectionScheduler::update(ScheduleBuilder &b, Value given) {
  Value rate = b.learningRate();
  SmallVector<Value> values =
      b.updateScalars(scalars, b.scalar("one", {}), rate);
  values.append({b.stepKey(), given});
  b.run(updateEntry, values);
  b.report(rate, "learning_rate");
}

LogicalResult DirectionScheduler::scheduleTraining() {
  ScheduleBuilder b(module, Purpose::Train);
  auto [found, meanLoss] = find(b);
  b.check({meanLoss, b.scalar("largest", found)});
  update(b, found);
  b.report(meanLoss, "loss");
  b.report(found, "coefficients");
  return failure(b.hasFailed);
}

LogicalResult DirectionScheduler::scheduleGradient() {
  Type key =
      RankedTensorType::get(4, IntegerType::get(module.getContext(), 32));
  EntryOp fill =
      createVectorEntry<EstimateGradientOp>(module, {key, coefficients}, {});
  EntryOp squares =
      createVectorEntry<GradientSquaresOp>(module, {}, parts.perParameter);
  ScheduleBuilder b(module, Purpose::Differentiate);
  auto [found, meanLoss] = find(b);
  b.run(fill, {b.stepKey(), found});
  b.report(meanLoss, "loss");
  b.report(b.scalar("norm", b.run(squares, {})), "gradient_norm");
  return failure(b.hasFailed);
}

LogicalResult DirectionScheduler::scheduleReplay() {
  ScheduleBuilder b(module, Purpose::Replay);
  update(b, b.setting("coefficients", coefficients));
  return failure(b.hasFailed);
}

LogicalResult DirectionScheduler::run() {
  if (failed(
          checkNamesAreFree(module, {stringifyPhase(Phase::Update).str(),
                                     vectorEntryName<EstimateGradientOp>(),
                                     vectorEntryName<GradientSquaresOp>(),
                                     vectorEntryName<ParameterSquaresOp>()})))
    return failure();
  updateEntry = createUpdateEntryAlong(module, parts.optimizer,
                                       parts.parameters, coefficients);
  return failure(
      failed(scheduleTraining()) || failed(scheduleEvaluation(module, parts)) ||
      failed(scheduleGradient()) || failed(scheduleValidation(module, parts)) ||
      failed(scheduleReplay()));
}

LogicalResult scheduleAlongDirections(ModuleOp module, const StepParts &parts,
                                      int64_t directions,
                                      FindCoefficients find) {
  if (failed(checkDirections(module, directions)))
    return failure();
  return DirectionScheduler(module, parts, directions, find).run();
}

} // namespace hone
