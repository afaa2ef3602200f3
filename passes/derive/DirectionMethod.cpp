//===- DirectionMethod.cpp - Methods along random directions --------------===//

#include "passes/derive/DirectionMethod.h"

using namespace mlir;

namespace hone {

DirectionMethod::DirectionMethod(StepModel &model, TrainedPart part)
    : model(model), part(std::move(part)),
      scalars(model.module.getContext(), this->part.optimizer,
              model.parameters.isRounded()) {
  Builder builder(model.module.getContext());
  keyType = RankedTensorType::get(4, builder.getI32Type());
  coefficientType = RankedTensorType::get(this->part.options.directions,
                                          builder.getF32Type());
}

LogicalResult DirectionMethod::createEntries() {
  int64_t directions = part.options.directions;
  // The number of a direction is in 11 bits of a key.
  if (directions < 1 || directions >= 1 << 11)
    return model.module.emitError("expects 1 to 2047 directions but got ")
           << directions;
  FailureOr<EntryOp> created = createTrial();
  if (failed(created))
    return failure();
  trial = *created;
  std::string update = part.symbol(stringifyPhase(Phase::Update)),
              estimate = part.symbol(vectorEntryName<EstimateGradientOp>());
  if (failed(checkNamesAreFree(model.module, {update, estimate})))
    return failure();
  ArrayAttr prefixes = part.prefixes(model);
  if (!part.isCompared)
    updateEntry =
        createUpdateEntryAlong(model.module, update, part.optimizer,
                               model.parameters, prefixes, coefficientType);
  estimateEntry = createVectorEntry<EstimateGradientOp>(
      model.module, {keyType, coefficientType}, {}, estimate, prefixes);
  return success();
}

SmallVector<Value> DirectionMethod::begin(ScheduleBuilder &b) {
  seed = b.integerSetting("seed");
  step = b.integerSetting("completed");
  beginTrials(b);
  Value none = b.scalar(
      "zeros", {},
      RankedTensorType::get(part.options.directions, b.builder.getF64Type()));
  first = b.scalar("false", {}, b.integer);
  count = b.scalar("directions", none, b.integer);
  if (trials() == Trials::Pairs)
    count = b.scalar("twice", count, b.integer);
  else if (trials() == Trials::AndBase)
    count = b.scalar("increment", count, b.integer);
  return {none, b.scalar("zero", {})};
}

SmallVector<Value> DirectionMethod::addBatch(ScheduleBuilder &b, Value batch,
                                             ValueRange carried) {
  int64_t directions = part.options.directions;
  int64_t expected = trials() == Trials::Pairs     ? 2 * directions
                     : trials() == Trials::AndBase ? directions + 1
                                                   : directions;
  ResultRange after = b.repeat(
      count, {first, carried[0], carried[1]},
      [&](ValueRange before) {
        TrialSums sums = runTrial(b, batch, before[0], {before[1], before[2]});
        return SmallVector<Value>{b.scalar("increment", before[0], b.integer),
                                  sums.numbers, sums.loss};
      },
      expected);
  return SmallVector<Value>(after.drop_front());
}

Value DirectionMethod::end(ScheduleBuilder &b, ValueRange carried) {
  weight = b.scalar("inverse", b.realSetting("targets"));
  found =
      b.scalar("slopes", {carried[0], weight, distance(b)}, coefficientType);
  return b.scalar("mean_of_trials", {carried[1], weight, count});
}

void DirectionMethod::appendChecked(ScheduleBuilder &b,
                                    SmallVector<Value> &checked) {
  checked.push_back(b.scalar("largest", found));
}

Value DirectionMethod::updateAlong(ScheduleBuilder &b, Value coefficients) {
  Value rate = b.learningRate(part.name);
  SmallVector<Value> values =
      b.updateScalars(scalars, part.name, b.scalar("one", {}), rate);
  values.append({b.stepKey(), coefficients});
  b.run(updateEntry, values);
  return rate;
}

void DirectionMethod::update(ScheduleBuilder &b) {
  rate = updateAlong(b, found);
}

void DirectionMethod::report(ScheduleBuilder &b) {
  b.report(rate, part.symbol("learning_rate"));
  b.report(found, part.symbol("coefficients"));
}

void DirectionMethod::writeGradient(ScheduleBuilder &b) {
  b.run(estimateEntry, {b.stepKey(), found});
}

LogicalResult DirectionMethod::scheduleReplay() {
  ScheduleBuilder b(model.module, Purpose::Replay);
  Value given = b.setting(part.symbol("coefficients"), coefficientType);
  b.report(updateAlong(b, given), part.symbol("learning_rate"));
  return failure(b.hasFailed);
}

} // namespace hone
