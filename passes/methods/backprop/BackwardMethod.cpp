//===- BackwardMethod.cpp - Training by the gradient of a backward --------===//
//
// Each token of a step's batches has the weight 1 / targets. A mean of the
// batches' means would favour the tokens of short batches.
//
//===----------------------------------------------------------------------===//

#include "passes/methods/backprop/BackwardMethod.h"

#include "passes/selection/SelectLayers.h"

using namespace mlir;

namespace hone {

BackwardMethod::BackwardMethod(StepModel &model, ArrayRef<TrainedPart> given,
                               BackwardOptions options)
    : model(model), options(std::move(options)) {
  for (const TrainedPart &part : given)
    parts.emplace_back(part);
}

//===----------------------------------------------------------------------===//
// Entries
//===----------------------------------------------------------------------===//

LogicalResult BackwardMethod::selectLayers() {
  for (Part &part : parts) {
    if (!part.trained.method.selects)
      continue;
    auto read = LayerSelection::read(model, part.trained);
    if (failed(read))
      return failure();
    part.selection.emplace(std::move(*read));
  }
  if (llvm::any_of(parts, [](const Part &part) {
        return part.selection && part.selection->rule().warmup > 0;
      })) {
    std::string name = gradient.getSymName().str() + ".all";
    if (failed(checkNamesAreFree(model.module, {name})))
      return failure();
    OpBuilder builder(gradient);
    ofAll = cast<EntryOp>(builder.clone(*gradient));
    ofAll.setSymName(name);
  }
  for (Part &part : parts) {
    auto isOwn = [&](StringRef prefix) { return part.trained.has(prefix); };
    if (!part.selection)
      continue;
    std::optional<int64_t> slots = part.selection->slots();
    if (slots && part.selection->rule().isOfLast() &&
        trainsBelow(gradient, isOwn))
      return model.module.emitError(
          "expects unselected exact of selection freeze, since the gradients "
          "of parameters below the frozen layers have to come through them");
    SmallVector<LayerNumbers> numbers =
        selectedNumbers(gradient, slots.has_value(), isOwn);
    part.selection->setNumbers(numbers);
    if (ofAll)
      selectAllLayers(ofAll, numbers, slots, isOwn);
    if (failed(hone::selectLayers(gradient, numbers, slots, isOwn)))
      return failure();
    if (!part.selection->rule().skipsForwards())
      continue;
    if (failed(skipForwards(gradient, isOwn)))
      return failure();
    // An evaluation is of the model that was trained.
    if (updates() && failed(scaleEvaluation(part)))
      return failure();
  }
  return success();
}

LogicalResult BackwardMethod::scaleEvaluation(const Part &part) {
  if (model.evaluated == model.loss) {
    std::string name = model.loss.getSymName().str() + ".scaled";
    if (failed(checkNamesAreFree(model.module, {name})))
      return failure();
    OpBuilder builder(model.loss);
    builder.setInsertionPointAfter(model.loss);
    model.evaluated = cast<EntryOp>(builder.clone(*model.loss));
    model.evaluated.setSymName(name);
  }
  scaleLayers(model.evaluated,
              [&](StringRef prefix) { return part.trained.has(prefix); });
  return success();
}

SmallVector<Value> BackwardMethod::evaluationArguments(ScheduleBuilder &b) {
  SmallVector<Value> weights;
  for (const Part &part : parts)
    if (part.selection)
      llvm::append_range(weights, part.selection->evaluationWeights(b));
  return weights;
}

FailureOr<EntryOp> BackwardMethod::findGradient() {
  FailureOr<EntryOp> found = findGradientEntry(model.module);
  if (failed(found) || updates())
    return found;
  std::string name = parts.front().trained.symbol(found->getSymName());
  if (failed(checkNamesAreFree(model.module, {name})))
    return failure();
  // After the gradient's entry, since searches find the first one.
  OpBuilder builder(*found);
  builder.setInsertionPointAfter(*found);
  auto copy = cast<EntryOp>(builder.clone(**found));
  copy.setSymName(name);
  return copy;
}

/// The name, or its end, of entries that update.
static StringRef updateName() { return stringifyPhase(Phase::Update); }

std::string BackwardMethod::zeroName() const {
  return parts.front().trained.symbol(vectorEntryName<ZeroGradientOp>());
}

std::vector<std::string> BackwardMethod::entryNames() const {
  std::vector<std::string> names = {zeroName()};
  for (EntryOp entry : {gradient, ofAll})
    if (entry && options.inBackward)
      names.push_back((entry.getSymName() + "." + updateName()).str());
  for (const Part &part : parts) {
    if (!options.inBackward)
      names.push_back(part.trained.symbol(updateName()));
    if (!part.trained.name.empty())
      names.push_back(
          part.trained.symbol(vectorEntryName<GradientSquaresOp>()));
    if (part.selection)
      llvm::append_range(names, part.selection->names());
  }
  return names;
}

void BackwardMethod::createUpdatingEntries() {
  const Part &all = parts.front();
  auto createCopy = [&](EntryOp entry) {
    return createUpdatingCopy(entry, all.trained.optimizer(), model.parameters,
                              all.conditionalLayers(), all.alwaysLayers());
  };
  updating = createCopy(gradient);
  if (ofAll)
    updatingAll = createCopy(ofAll);
}

void BackwardMethod::createPartEntries(Part &part) {
  ArrayAttr prefixes = part.trained.prefixes(model);
  std::string squares =
      part.trained.symbol(vectorEntryName<GradientSquaresOp>());
  part.squares = findEntry(model.module, squares);
  if (!part.squares)
    part.squares = createVectorEntry<GradientSquaresOp>(
        model.module, {}, model.perParameter(prefixes), squares, prefixes);
  if (part.selection)
    part.selection->createEntries(model);
  if (options.inBackward)
    return;
  const Optimizer optimizer = part.trained.optimizer();
  std::string update = part.trained.symbol(updateName());
  ArrayRef<StringRef> conditional = part.conditionalLayers();
  part.update = conditional.empty()
                    ? createUpdateEntry(model.module, update, optimizer,
                                        model.parameters, prefixes)
                    : createSelectedUpdateEntry(model.module, update, optimizer,
                                                model.parameters, conditional,
                                                part.alwaysLayers());
}

LogicalResult BackwardMethod::createEntries() {
  FailureOr<EntryOp> found = findGradient();
  if (failed(found))
    return failure();
  gradient = *found;
  if (failed(selectLayers()) ||
      failed(checkNamesAreFree(model.module, entryNames())))
    return failure();
  zero = createVectorEntry<ZeroGradientOp>(model.module, {}, {}, zeroName());
  // Copies the entry without the argument that accumulation adds: such a step
  // has one batch.
  if (options.inBackward)
    createUpdatingEntries();
  for (EntryOp entry : {gradient, ofAll})
    if (entry)
      accumulateByLayer(entry, model.parameters);
  if (updates())
    for (Part &part : parts)
      createPartEntries(part);
  return success();
}

//===----------------------------------------------------------------------===//
// Schedules
//===----------------------------------------------------------------------===//

void BackwardMethod::selectForStep(ScheduleBuilder &b) {
  selected.clear();
  isWarm = {};
  for (Part &part : parts) {
    if (!part.selection)
      continue;
    part.selection->begin(b);
    llvm::append_range(selected, part.selection->arguments());
    if (!isWarm)
      isWarm = part.selection->isPast();
  }
}

SmallVector<Value> BackwardMethod::updateScalars(ScheduleBuilder &b, Part &part,
                                                 Value clip, Value rate) {
  UpdatedLayers updated;
  if (part.selection)
    updated = part.selection->beginUpdates(b);
  UpdateScalars scalars(b.builder.getContext(), part.trained.optimizer(),
                        model.parameters.isRounded(),
                        part.conditionalLayers().size(),
                        part.alwaysLayers().size());
  return b.updateScalars(scalars, part.trained.name, clip, rate, updated);
}

/// Runs `entry`, or `ofAll` in a warm-up.
static Value runEither(ScheduleBuilder &b, Value isWarm, EntryOp entry,
                       EntryOp ofAll, Value scale, ArrayRef<Value> selected,
                       ValueRange more, Value batch) {
  SmallVector<Value> values = {scale};
  llvm::append_range(values, selected);
  llvm::append_range(values, more);
  return b.runEither(isWarm, entry, ofAll, values, batch).front();
}

Value BackwardMethod::runGradient(ScheduleBuilder &b, ValueRange more,
                                  Value batch) {
  return runEither(b, isWarm, gradient, ofAll, scale, selected, more, batch);
}

SmallVector<Value> BackwardMethod::begin(ScheduleBuilder &b) {
  scale = b.scalar("inverse", b.realSetting("targets"));
  selectForStep(b);
  b.run(zero, {});
  Value no = b.scalar("false", {}, b.integer);
  // Where ranks share batches each batch's gradients are in place, until they
  // fold.
  yes = options.sharesBatches ? b.integerSetting("alone")
                              : b.scalar("true", {}, b.integer);
  return {no, b.scalar("zero", {})};
}

SmallVector<Value> BackwardMethod::addBatch(ScheduleBuilder &b, Value batch,
                                            ValueRange carried) {
  // The first batch's gradients are in place, the others' are folded to them.
  Value loss = runGradient(b, carried[0], batch);
  if (options.sharesBatches)
    FoldOp::create(b.builder, b.loc);
  return {yes, b.scalar("add", {carried[1], loss})};
}

Value BackwardMethod::end(ScheduleBuilder &b, ValueRange carried) {
  return b.scalar("multiply", {carried[1], scale});
}

void BackwardMethod::appendChecked(ScheduleBuilder &b,
                                   SmallVector<Value> &checked) {
  for (Part &part : parts) {
    part.squaresNow = b.run(part.squares, {}).front();
    part.length = b.scalar("norm", part.squaresNow);
    checked.push_back(part.length);
  }
}

void BackwardMethod::update(ScheduleBuilder &b) {
  for (Part &part : parts) {
    const TrainedPart &own = part.trained;
    Value clip = b.scalar(
        "clip", {part.length, b.realSetting(own.symbol("max_grad_norm"))});
    part.rate = b.learningRate(own.name);
    if (part.selection)
      part.selection->average(b, part.squaresNow);
    b.run(part.update, updateScalars(b, part, clip, part.rate));
  }
}

void BackwardMethod::report(ScheduleBuilder &b) {
  for (Part &part : parts) {
    b.report(part.length, part.trained.symbol("gradient_norm"));
    b.report(part.rate, part.trained.symbol("learning_rate"));
    if (part.selection)
      part.selection->report(b);
  }
}

LogicalResult BackwardMethod::scheduleTraining() {
  ScheduleBuilder b(model.module, Purpose::Train);
  scale = b.scalar("inverse", b.realSetting("targets"));
  Value rate = b.learningRate("");
  selectForStep(b);
  Part &all = parts.front();
  SmallVector<Value> update = updateScalars(b, all, b.scalar("one", {}), rate);
  Value sum = runEither(b, isWarm, updating, updatingAll, scale, selected,
                        update, b.load());
  Value mean = b.scalar("multiply", {sum, scale});
  b.check(mean);
  b.report(mean, "loss");
  b.report(rate, "learning_rate");
  if (all.selection)
    all.selection->report(b);
  return failure(b.hasFailed);
}

} // namespace hone
