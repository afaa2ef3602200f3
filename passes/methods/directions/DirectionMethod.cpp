//===- DirectionMethod.cpp - Methods along random directions --------------===//

#include "passes/methods/directions/DirectionMethod.h"

using namespace mlir;

namespace hone {

DirectionMethod::DirectionMethod(StepModel &model, TrainedPart part)
    : model(model), part(std::move(part)) {
  Builder builder(model.module.getContext());
  keyType = randomKeyType(builder.getContext());
  coefficientType = RankedTensorType::get(
      int64_t(this->part.settings.directions), builder.getF32Type());
}

LogicalResult DirectionMethod::createEntries() {
  readScales();
  scalars.emplace(model.module.getContext(), part.optimizer(),
                  model.parameters.isRounded(), /*selectable=*/0,
                  scaled.size());
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
    updateEntry = createUpdateEntryAlong(model.module, update, part.optimizer(),
                                         model.parameters, prefixes,
                                         coefficientType, scaled);
  estimateEntry = createEstimate(estimate);
  return success();
}

void DirectionMethod::readScales() {
  const SmallVector<DirectionScale> wanted = directionScales();
  if (wanted.empty())
    return;
  for (const TrainableLayer &layer : model.parameters.layers()) {
    if (!part.has(layer.prefix))
      continue;
    std::optional<int64_t> number = model.layers.numberOf(layer.prefix);
    const auto *own = llvm::find_if(wanted, [&](const DirectionScale &scale) {
      return number && scale.layers.first <= number &&
             number <= scale.layers.last;
    });
    bool isGiven = own != wanted.end();
    scaled.push_back(layer.prefix);
    lastScales.push_back(isGiven ? own->scale : 1);
    rises.push_back(isGiven);
  }
}

EntryOp DirectionMethod::createEstimate(StringRef name) const {
  OpBuilder builder = OpBuilder::atBlockEnd(model.module.getBody());
  Location loc = model.module.getLoc();
  Type real = scalarType(builder.getContext());
  SmallVector<Type> types = {keyType, coefficientType};
  if (!scaled.empty())
    types.push_back(RankedTensorType::get(scaled.size(), builder.getF64Type()));
  auto entry = EntryOp::create(builder, loc, name, Phase::Vector, types);
  mlir::Block &body = entry.getBodyBlock();
  builder.setInsertionPoint(body.getTerminator());
  auto estimate = [&](Value scale, ArrayAttr layers) {
    EstimateGradientOp::create(builder, loc, body.getArgument(0),
                               body.getArgument(1), scale, layers);
  };
  if (scaled.empty())
    estimate({}, part.prefixes(model));
  for (auto [index, prefix] : llvm::enumerate(scaled))
    estimate(ElementOp::create(builder, loc, real, body.getArgument(2), index),
             builder.getStrArrayAttr(prefix));
  return entry;
}

Value DirectionMethod::makeScales(ScheduleBuilder &b) const {
  if (scaled.empty())
    return {};
  Value rise = b.scalar(
      "rise", {b.integerSetting("completed"),
               b.integerSetting(part.symbol("direction_scale_steps"))});
  Value last = b.constants(part.symbol("direction_scales"), lastScales);
  return b.scalar("risen_scales",
                  {last, b.constants(part.symbol("scales_rise"), rises), rise},
                  last.getType());
}

SmallVector<Value> DirectionMethod::begin(ScheduleBuilder &b) {
  seed = b.integerSetting("seed");
  step = b.integerSetting("completed");
  isDue = {};
  scales = makeScales(b);
  beginTrials(b);
  Value none = b.scalar("zeros", {},
                        RankedTensorType::get(int64_t(part.settings.directions),
                                              b.builder.getF64Type()));
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
  int64_t directions = part.settings.directions;
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

Value DirectionMethod::makeLate(ScheduleBuilder &b, Value loss) {
  if (!part.isLate)
    return loss;
  Value number = b.scalar("rounded", loss,
                          RankedTensorType::get(1, b.builder.getF32Type()));
  Type types[] = {found.getType(), number.getType(), b.integer};
  auto late =
      LateOp::create(b.builder, b.loc, types, ValueRange{found, number});
  found = late.getLates()[0];
  isDue =
      b.scalar("was_step", {step, late.getSteps(), b.integerSetting("steps")},
               b.integer);
  // Direction, rate and corrections are those of the step that is made up for.
  b.replaceSetting("completed",
                   b.scalar("earlier", {step, late.getSteps()}, b.integer));
  scales = makeScales(b);
  return b.scalar("widened", late.getLates()[1]);
}

void DirectionMethod::appendChecked(ScheduleBuilder &b,
                                    SmallVector<Value> &checked) {
  checked.push_back(b.scalar("largest", found));
}

Value DirectionMethod::updateAlong(ScheduleBuilder &b, Value coefficients) {
  Value rate = b.learningRate(part.name);
  Value scale = scales ? scales : b.scalar("one", {});
  SmallVector<Value> values = b.updateScalars(*scalars, part.name, scale, rate);
  values.append({b.stepKey(), coefficients});
  b.runEither(isDue, updateEntry, {}, values, {});
  return rate;
}

void DirectionMethod::update(ScheduleBuilder &b) {
  rate = updateAlong(b, found);
}

void DirectionMethod::report(ScheduleBuilder &b) {
  b.report(rate, part.symbol("learning_rate"));
  if (!part.isLate) // there is no replay of a part
    b.report(found, part.symbol("coefficients"));
}

void DirectionMethod::writeGradient(ScheduleBuilder &b) {
  SmallVector<Value> values = {b.stepKey(), found};
  if (scales)
    values.push_back(scales);
  b.run(estimateEntry, values);
}

LogicalResult DirectionMethod::scheduleReplay() {
  if (part.isLate)
    return success();
  ScheduleBuilder b(model.module, Purpose::Replay);
  scales = makeScales(b);
  Value given = b.setting(part.symbol("coefficients"), coefficientType);
  b.report(updateAlong(b, given), part.symbol("learning_rate"));
  return failure(b.hasFailed);
}

} // namespace hone
