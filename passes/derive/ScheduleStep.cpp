//===- ScheduleStep.cpp - hone-schedule-step ------------------------------===//
//
// Training by the gradient of a backward, as items. A weight of 1 / targets for
// each token of a step's batches, and not a mean of their means, which would
// favour the tokens of short ones.
//
//===----------------------------------------------------------------------===//

#include "passes/Passes.h"
#include "passes/derive/ScheduleBuilder.h"

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

struct ScheduleStep : impl::ScheduleStepBase<ScheduleStep> {
  using ScheduleStepBase::ScheduleStepBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (failed(checkRanks(module)))
      return signalPassFailure();
    FailureOr<StepParts> parts = StepParts::find(module, optimizer);
    if (failed(parts))
      return signalPassFailure();
    FailureOr<EntryOp> gradient = findGradientEntry(module);
    if (failed(gradient) || failed(checkNames(module, *gradient)))
      return signalPassFailure();
    const ParameterTable &parameters = parts->parameters;
    UpdateScalars scalars(&getContext(), parts->optimizer,
                          parameters.isRounded());
    EntryOp zero = createVectorEntry<ZeroGradientOp>(module, {}, {});
    EntryOp squares =
        createVectorEntry<GradientSquaresOp>(module, {}, parts->perParameter);
    EntryOp update =
        inBackward ? createUpdatingCopy(*gradient, parts->optimizer, parameters)
                   : createUpdateEntry(module, parts->optimizer, parameters);
    accumulateByLayer(*gradient, parameters);
    bool isScheduled =
        inBackward
            ? scheduleTrainingLayerByLayer(update, scalars)
            : scheduleTraining(zero, *gradient, squares, update, scalars);
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

  /// @zero, then @gradient for each batch, those of the first in place and the
  /// others folded to them in order; returns the mean loss.
  static Value differentiate(ScheduleBuilder &b, EntryOp zero,
                             EntryOp gradient);
  /// The same where `ranks` have a batch each in turn.
  Value differentiateShared(ScheduleBuilder &b, EntryOp zero, EntryOp gradient);
  bool scheduleTraining(EntryOp zero, EntryOp gradient, EntryOp squares,
                        EntryOp update, const UpdateScalars &scalars);
  bool scheduleTrainingLayerByLayer(EntryOp step, const UpdateScalars &scalars);
  bool scheduleGradient(EntryOp zero, EntryOp gradient, EntryOp squares);
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

LogicalResult ScheduleStep::checkNames(ModuleOp module, EntryOp gradient) {
  std::string update = stringifyPhase(Phase::Update).str();
  if (inBackward)
    update = gradient.getSymName().str() + "." + update;
  return checkNamesAreFree(module, {update, vectorEntryName<ZeroGradientOp>(),
                                    vectorEntryName<GradientSquaresOp>(),
                                    vectorEntryName<ParameterSquaresOp>(),
                                    vectorEntryName<ReadGradientOp>(),
                                    vectorEntryName<AddGradientOp>()});
}

Value ScheduleStep::differentiate(ScheduleBuilder &b, EntryOp zero,
                                  EntryOp gradient) {
  Value scale = b.scalar("inverse", b.realSetting("targets"));
  Value batches = b.integerSetting("batches");
  b.run(zero, {});
  Value first = b.load();
  Value no = b.scalar("false", {}, b.integer);
  Value sum = b.run(gradient, {scale, no}, first).front();
  Value others = b.scalar("decrement", batches, b.integer);
  Value yes = b.scalar("true", {}, b.integer);
  sum = b.addOverBatches(sum, others, [&](Value batch) {
    return b.run(gradient, {scale, yes}, batch).front();
  });
  return b.scalar("multiply", {sum, scale});
}

Value ScheduleStep::differentiateShared(ScheduleBuilder &b, EntryOp zero,
                                        EntryOp gradient) {
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
    Value loss = b.run(gradient, {scale, no}, batch).front();
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

bool ScheduleStep::scheduleTraining(EntryOp zero, EntryOp gradient,
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

bool ScheduleStep::scheduleTrainingLayerByLayer(EntryOp step,
                                                const UpdateScalars &scalars) {
  ScheduleBuilder b(getOperation(), Purpose::Train);
  Value scale = b.scalar("inverse", b.realSetting("targets"));
  Value rate = b.learningRate();
  SmallVector<Value> values = {scale};
  llvm::append_range(values,
                     b.updateScalars(scalars, b.scalar("one", {}), rate));
  Value batch = b.load();
  Value sum = b.run(step, values, batch).front();
  Value mean = b.scalar("multiply", {sum, scale});
  b.check(mean);
  b.report(mean, "loss");
  b.report(rate, "learning_rate");
  return !b.hasFailed;
}

bool ScheduleStep::scheduleGradient(EntryOp zero, EntryOp gradient,
                                    EntryOp squares) {
  ScheduleBuilder b(getOperation(), Purpose::Differentiate);
  Value mean = differentiate(b, zero, gradient);
  b.report(mean, "loss");
  b.report(b.scalar("norm", b.run(squares, {})), "gradient_norm");
  return !b.hasFailed;
}

} // namespace hone
