//===- ScheduleStep.cpp - hone-schedule-step ------------------------------===//
//
// Training by the gradient of a backward, as items. A weight of 1 / targets for
// each token of a step's batches, and not a mean of their means, which would
// favour the tokens of short ones.
//
//===----------------------------------------------------------------------===//

#include "passes/Passes.h"
#include "passes/derive/ScheduleBuilder.h"
#include "passes/derive/SelectLayers.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace hone {

#define GEN_PASS_DEF_SCHEDULESTEP
#include "passes/Passes.h.inc"

namespace {

/// What computes a step's gradient.
struct StepGradient {
  EntryOp entry; ///< of the layers that are selected, if any are
  EntryOp ofAll; ///< of all of them, in a warm-up; null: there is none
};

/// What a schedule knows of the layers that train.
struct StepLayers {
  SmallVector<Value> arguments; ///< of selectLayers; none: all layers do
  Value isWarm;                 ///< null without a warm-up
};

struct ScheduleStep : impl::ScheduleStepBase<ScheduleStep> {
  using ScheduleStepBase::ScheduleStepBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (failed(checkRanks(module)))
      return signalPassFailure();
    FailureOr<StepParts> parts = StepParts::find(module, optimizer);
    if (failed(parts))
      return signalPassFailure();
    FailureOr<EntryOp> found = findGradientEntry(module);
    if (failed(found) || failed(checkNames(module, *found)))
      return signalPassFailure();
    FailureOr<StepGradient> gradient = select(parts->loss, *found);
    if (failed(gradient))
      return signalPassFailure();
    const ParameterTable &parameters = parts->parameters;
    UpdateScalars scalars(&getContext(), parts->optimizer,
                          parameters.isRounded());
    EntryOp zero = createVectorEntry<ZeroGradientOp>(module, {}, {});
    EntryOp squares =
        createVectorEntry<GradientSquaresOp>(module, {}, parts->perParameter);
    bool isScheduled;
    if (inBackward) {
      StepGradient step = *gradient;
      for (EntryOp *entry : {&step.entry, &step.ofAll})
        if (*entry)
          *entry = createUpdatingCopy(*entry, parts->optimizer, parameters);
      isScheduled = scheduleTrainingLayerByLayer(step, scalars);
    }
    for (EntryOp entry : {gradient->entry, gradient->ofAll})
      if (entry)
        accumulateByLayer(entry, parameters);
    if (!inBackward)
      isScheduled = scheduleTraining(
          zero, *gradient, squares,
          createUpdateEntry(module, parts->optimizer, parameters), scalars);
    if (!isScheduled || failed(scheduleEvaluation(module, *parts)) ||
        !scheduleGradient(zero, *gradient, squares) ||
        failed(scheduleValidation(module, *parts)))
      signalPassFailure();
  }

private:
  static FailureOr<EntryOp> findGradientEntry(ModuleOp module);
  /// One of several different ranks, none of which updates in the backward.
  LogicalResult checkRanks(ModuleOp module);
  /// What scheduling defines must not be there already.
  LogicalResult checkNames(ModuleOp module, EntryOp gradient);

  /// Makes `gradient` one of some of the layers, if options say so.
  FailureOr<StepGradient> select(EntryOp loss, EntryOp gradient);
  StepLayers layersOf(ScheduleBuilder &b);

  /// @zero, then @gradient for each batch, those of the first in place and the
  /// others folded to them in order; returns the mean loss.
  Value differentiate(ScheduleBuilder &b, EntryOp zero,
                      const StepGradient &gradient);
  /// The same where `ranks` have a batch each in turn.
  Value differentiateShared(ScheduleBuilder &b, EntryOp zero,
                            const StepGradient &gradient);
  bool scheduleTraining(EntryOp zero, const StepGradient &gradient,
                        EntryOp squares, EntryOp update,
                        const UpdateScalars &scalars);
  bool scheduleTrainingLayerByLayer(const StepGradient &step,
                                    const UpdateScalars &scalars);
  bool scheduleGradient(EntryOp zero, const StepGradient &gradient,
                        EntryOp squares);

  std::optional<SelectionRule> rule; ///< none: all layers in every step
  Type ofLayers;                     ///< an integer for each of them
  std::optional<int64_t> slots;      ///< of selectLayers
};

} // namespace

FailureOr<EntryOp> ScheduleStep::findGradientEntry(ModuleOp module) {
  for (EntryOp entry : module.getOps<EntryOp>())
    if (entry.getPhase() == Phase::Gradient)
      return entry;
  return module.emitError("expects an entry of the phase 'gradient'; run "
                          "hone-derive-backward first");
}

LogicalResult ScheduleStep::checkRanks(ModuleOp module) {
  llvm::StringSet<> names;
  for (StringRef name : *ranks)
    if (!names.insert(name).second)
      return module.emitError("expects different ranks but got '")
             << name << "' twice";
  if (ranks.empty() && rank.empty())
    return success();
  if (!names.contains(rank))
    return module.emitError("expects rank to be one of the ranks but got '")
           << rank << "'";
  if (inBackward)
    return module.emitError("expects no update in the backward: ranks add "
                            "gradients of all layers");
  return success();
}

static std::string nameOfAll(EntryOp gradient) {
  return gradient.getSymName().str() + ".all";
}

LogicalResult ScheduleStep::checkNames(ModuleOp module, EntryOp gradient) {
  std::string update = stringifyPhase(Phase::Update).str();
  std::vector<std::string> names = {
      vectorEntryName<ZeroGradientOp>(), vectorEntryName<GradientSquaresOp>(),
      vectorEntryName<ParameterSquaresOp>(), vectorEntryName<ReadGradientOp>(),
      vectorEntryName<AddGradientOp>()};
  bool hasWarmup = !selection.empty() && selectionWarmup > 0;
  if (hasWarmup)
    names.push_back(nameOfAll(gradient));
  if (!inBackward)
    names.push_back(update);
  else
    names.push_back(gradient.getSymName().str() + "." + update);
  if (inBackward && hasWarmup)
    names.push_back(nameOfAll(gradient) + "." + update);
  return checkNamesAreFree(module, names);
}

FailureOr<StepGradient> ScheduleStep::select(EntryOp loss, EntryOp gradient) {
  StepGradient step = {gradient, {}};
  if (selection.empty())
    return step;
  std::optional<SelectionRule::Kind> kind = SelectionRule::parseKind(selection);
  if (!kind)
    return gradient.emitError("expects selection to be one of ")
           << SelectionRule::kindNames() << " but got '" << selection << "'";
  rule = {*kind, selectionRatio, selectionGroups, selectionWarmup};
  if (!(rule->ratio > 0 && rule->ratio <= 1))
    return gradient.emitError("expects selection-ratio to be greater than 0 "
                              "and at most 1 but got ")
           << std::to_string(rule->ratio);
  int64_t layers = countSelectableLayers(loss);
  if (*kind == SelectionRule::Kind::Cyclic &&
      (rule->groups < 1 || rule->groups > layers))
    return gradient.emitError("expects selection-groups to be from 1 to ")
           << layers << ", the layers that train, but got " << rule->groups;
  ofLayers = RankedTensorType::get(layers, IntegerType::get(&getContext(), 32));
  if (unselected == "identity")
    slots = rule->mostOf(layers);
  else if (unselected != "exact")
    return gradient.emitError("expects unselected to be identity or exact but "
                              "got '")
           << unselected << "'";
  if (rule->warmup > 0)
    step.ofAll = createGradientOfAll(gradient, nameOfAll(gradient), slots);
  if (failed(selectLayers(gradient, slots)))
    return failure();
  return step;
}

StepLayers ScheduleStep::layersOf(ScheduleBuilder &b) {
  StepLayers layers;
  if (!rule)
    return layers;
  Value completed = b.integerSetting("completed");
  SmallVector<Value> operands = {rule->kind == SelectionRule::Kind::Cyclic
                                     ? b.integerSetting("selection_groups")
                                     : b.realSetting("selection_ratio"),
                                 completed};
  if (rule->isRandom())
    operands.push_back(b.integerSetting("seed"));
  Value mask = b.scalar(rule->formula(), operands, ofLayers);
  layers.arguments = {mask};
  if (slots)
    layers.arguments.push_back(b.scalar("slots", mask, ofLayers));
  if (rule->warmup > 0)
    layers.isWarm =
        b.scalar("is_warm", {completed, b.integerSetting("selection_warmup")},
                 b.integer);
  return layers;
}

/// Runs it with `scale`, what it takes of `layers`, and `more`.
static ResultRange runGradient(ScheduleBuilder &b, const StepGradient &gradient,
                               const StepLayers &layers, Value scale,
                               ValueRange more, Value batch) {
  SmallVector<Value> values = {scale};
  llvm::append_range(values, layers.arguments);
  llvm::append_range(values, more);
  return b.runEither(layers.isWarm, gradient.entry, gradient.ofAll, values,
                     batch);
}

Value ScheduleStep::differentiate(ScheduleBuilder &b, EntryOp zero,
                                  const StepGradient &gradient) {
  Value scale = b.scalar("inverse", b.realSetting("targets"));
  StepLayers layers = layersOf(b);
  Value batches = b.integerSetting("batches");
  b.run(zero, {});
  Value first = b.load();
  Value no = b.scalar("false", {}, b.integer);
  Value sum = runGradient(b, gradient, layers, scale, no, first).front();
  Value others = b.scalar("decrement", batches, b.integer);
  Value yes = b.scalar("true", {}, b.integer);
  sum = b.addOverBatches(sum, others, [&](Value batch) {
    return runGradient(b, gradient, layers, scale, yes, batch).front();
  });
  return b.scalar("multiply", {sum, scale});
}

Value ScheduleStep::differentiateShared(ScheduleBuilder &b, EntryOp zero,
                                        const StepGradient &gradient) {
  auto exchange = [&](Value own, StringRef channel) {
    return b.exchange(own, channel, *ranks, rank);
  };
  auto addAll = [&](Value sum, ValueRange terms) {
    for (Value term : terms)
      sum = b.scalar("add", {sum, term});
    return sum;
  };
  FailureOr<ParameterTable> parameters = ParameterTable::build(getOperation());
  auto vector = RankedTensorType::get(parameters->trainableElements(),
                                      parameters->gradientElement());
  EntryOp read = createVectorEntry<ReadGradientOp>(getOperation(), {}, vector);
  EntryOp add = createVectorEntry<AddGradientOp>(getOperation(), vector, {});
  Value none = b.scalar("zero", {});
  // Counts are whole numbers: their sum is exact.
  Value targets =
      addAll(none, exchange(b.realSetting("targets"), "train.targets"));
  Value scale = b.scalar("inverse", targets);
  StepLayers layers = layersOf(b);
  // A rank with more batches would wait for ever.
  Value batches = b.integerSetting("batches");
  for (Value others : exchange(batches, "train.batches"))
    b.check(b.scalar("same_count", {batches, others}),
            "expects as many batches on every rank");
  Value no = b.scalar("false", {}, b.integer);
  b.run(zero, {});
  Value empty = b.run(read, {}).front();
  Value sum = b.repeat(batches, {none, empty}, [&](ValueRange before) {
    Value batch = b.load();
    b.run(zero, {});
    Value loss = runGradient(b, gradient, layers, scale, no, batch).front();
    SmallVector<Value> losses = exchange(loss, "train.loss");
    SmallVector<Value> gradients =
        exchange(b.run(read, {}).front(), "train.gradient");
    b.run(zero, {});
    b.run(add, before[1]);
    for (Value term : gradients)
      b.run(add, term);
    return SmallVector<Value>{addAll(before[0], losses),
                              b.run(read, {}).front()};
  })[0];
  return b.scalar("multiply", {sum, scale});
}

bool ScheduleStep::scheduleTraining(EntryOp zero, const StepGradient &gradient,
                                    EntryOp squares, EntryOp update,
                                    const UpdateScalars &scalars) {
  ScheduleBuilder b(getOperation(), Purpose::Train);
  Value mean = ranks.empty() ? differentiate(b, zero, gradient)
                             : differentiateShared(b, zero, gradient);
  Value length = b.scalar("norm", b.run(squares, {}));
  b.check({mean, length});
  Value clip = b.scalar("clip", {length, b.realSetting("max_grad_norm")});
  Value rate = b.learningRate();
  b.run(update, b.updateScalars(scalars, clip, rate));
  b.report(mean, "loss");
  b.report(length, "gradient_norm");
  b.report(rate, "learning_rate");
  return !b.hasFailed;
}

bool ScheduleStep::scheduleTrainingLayerByLayer(const StepGradient &step,
                                                const UpdateScalars &scalars) {
  ScheduleBuilder b(getOperation(), Purpose::Train);
  Value scale = b.scalar("inverse", b.realSetting("targets"));
  Value rate = b.learningRate();
  StepLayers layers = layersOf(b);
  SmallVector<Value> update =
      b.updateScalars(scalars, b.scalar("one", {}), rate);
  Value batch = b.load();
  Value sum = runGradient(b, step, layers, scale, update, batch).front();
  Value mean = b.scalar("multiply", {sum, scale});
  b.check(mean);
  b.report(mean, "loss");
  b.report(rate, "learning_rate");
  return !b.hasFailed;
}

bool ScheduleStep::scheduleGradient(EntryOp zero, const StepGradient &gradient,
                                    EntryOp squares) {
  ScheduleBuilder b(getOperation(), Purpose::Differentiate);
  Value mean = differentiate(b, zero, gradient);
  b.report(mean, "loss");
  b.report(b.scalar("norm", b.run(squares, {})), "gradient_norm");
  return !b.hasFailed;
}

} // namespace hone
