//===- StepMethod.cpp - A training method's part in a step ----------------===//

#include "passes/methods/StepMethod.h"

#include "passes/derive/PlainBlocks.h"

using namespace mlir;

namespace hone {

FailureOr<StepModel> StepModel::find(ModuleOp module) {
  FailureOr<EntryOp> loss = findLossEntry(module);
  FailureOr<ParameterTable> parameters = ParameterTable::build(module);
  if (failed(loss) || failed(parameters))
    return failure();
  if (!loss->getArgumentTypes().empty())
    return loss->emitOpError(
        "expects a loss without arguments; blocks read the "
        "inputs of a batch with 'hone.input'");
  FailureOr<EntryOp> evaluated = createPlainCopy(*loss);
  if (failed(evaluated))
    return failure();
  return StepModel{module, *loss, *evaluated, std::move(*parameters),
                   Layers::of(*loss)};
}

Type StepModel::perParameter(ArrayAttr prefixes) const {
  std::optional<ThetaSlice> slice = parameters.slice(prefixes);
  return RankedTensorType::get(
      static_cast<int64_t>(slice ? slice->parameters.size() : 0),
      Float64Type::get(EntryOp(loss).getContext()));
}

Optimizer TrainedPart::optimizer() const { return describeOptimizer(settings); }

ArrayAttr TrainedPart::prefixes(const StepModel &model) const {
  if (name.empty())
    return {};
  SmallVector<StringRef> own;
  for (const TrainableLayer &layer : model.parameters.layers())
    if (has(layer.prefix))
      own.push_back(layer.prefix);
  return Builder(EntryOp(model.loss).getContext()).getStrArrayAttr(own);
}

LogicalResult StepMethod::scheduleTraining() {
  llvm_unreachable("this method has no schedule of its own");
}

LogicalResult StepMethod::scheduleReplay() { return success(); }

/// Writes the gradients that `methods` find in all batches; returns the mean
/// loss.
static Value findGradients(ScheduleBuilder &b,
                           ArrayRef<std::unique_ptr<StepMethod>> methods) {
  Value batches = b.integerSetting("batches");
  SmallVector<Value> carried;
  SmallVector<size_t> ends;
  for (auto &method : methods) {
    llvm::append_range(carried, method->begin(b));
    ends.push_back(carried.size());
  }
  // The slice of `values` of each method.
  auto forEachMethod = [&](ValueRange values,
                           function_ref<void(StepMethod &, ValueRange)> body) {
    size_t start = 0;
    for (auto [method, end] : llvm::zip_equal(methods, ends)) {
      body(*method, values.slice(start, end - start));
      start = end;
    }
  };
  ResultRange sums = b.repeat(batches, carried, [&](ValueRange before) {
    Value batch = b.load();
    SmallVector<Value> after;
    forEachMethod(before, [&](StepMethod &method, ValueRange own) {
      llvm::append_range(after, method.addBatch(b, batch, own));
    });
    return after;
  });
  Value loss;
  bool isClean = false;
  forEachMethod(sums, [&](StepMethod &method, ValueRange own) {
    Value found = method.end(b, own);
    if (!loss || (!isClean && method.isLossClean()))
      std::tie(loss, isClean) = std::pair(found, method.isLossClean());
  });
  return loss;
}

static LogicalResult
scheduleTraining(const StepModel &model,
                 ArrayRef<std::unique_ptr<StepMethod>> methods) {
  if (methods.size() == 1 && methods.front()->trainsAlone())
    return methods.front()->scheduleTraining();
  ScheduleBuilder b(model.module, Purpose::Train);
  Value loss = findGradients(b, methods);
  for (auto &method : methods)
    loss = method->makeLate(b, loss);
  SmallVector<Value> checked = {loss};
  for (auto &method : methods)
    method->appendChecked(b, checked);
  b.check(checked);
  for (auto &method : methods)
    method->update(b);
  b.report(loss, "loss");
  for (auto &method : methods)
    method->report(b);
  return failure(b.hasFailed);
}

static LogicalResult
scheduleGradient(const StepModel &model, Purpose purpose,
                 ArrayRef<std::unique_ptr<StepMethod>> methods) {
  auto squares = findEntry(model.module, vectorEntryName<GradientSquaresOp>());
  ScheduleBuilder b(model.module, purpose);
  Value loss = findGradients(b, methods);
  for (auto &method : methods)
    method->writeGradient(b);
  b.report(loss, "loss");
  b.report(b.scalar("norm", b.run(squares, {})), "gradient_norm");
  return failure(b.hasFailed);
}

static LogicalResult
scheduleEvaluation(const StepModel &model,
                   ArrayRef<std::unique_ptr<StepMethod>> methods) {
  ScheduleBuilder b(model.module, Purpose::Evaluate);
  SmallVector<Value> values;
  for (auto &method : methods)
    llvm::append_range(values, method->evaluationArguments(b));
  Value batches = b.integerSetting("batches");
  Value sum = b.addOverBatches(b.scalar("zero", {}), batches, [&](Value batch) {
    return b.run(model.evaluated, values, batch).front();
  });
  b.report(b.scalar("divide", {sum, b.realSetting("targets")}), "loss");
  return failure(b.hasFailed);
}

static LogicalResult scheduleValidation(const StepModel &model) {
  EntryOp squares = createVectorEntry<ParameterSquaresOp>(model.module, {},
                                                          model.perParameter());
  ScheduleBuilder b(model.module, Purpose::Validate);
  Value length = b.scalar("norm", b.run(squares, {}));
  b.check(length);
  b.report(length, "parameter_norm");
  return failure(b.hasFailed);
}

LogicalResult scheduleStep(const StepModel &model,
                           ArrayRef<std::unique_ptr<StepMethod>> methods,
                           ArrayRef<std::unique_ptr<StepMethod>> compared) {
  if (failed(checkNamesAreFree(model.module,
                               {vectorEntryName<GradientSquaresOp>(),
                                vectorEntryName<ParameterSquaresOp>()})))
    return failure();
  createVectorEntry<GradientSquaresOp>(model.module, {}, model.perParameter());
  // A compared method copies the gradient's entry before others change it.
  for (ArrayRef<std::unique_ptr<StepMethod>> some : {compared, methods})
    for (auto &method : some)
      if (failed(method->createEntries()))
        return failure();
  if (failed(scheduleTraining(model, methods)) ||
      failed(scheduleEvaluation(model, methods)) ||
      failed(scheduleGradient(model, Purpose::Differentiate, methods)) ||
      failed(scheduleValidation(model)))
    return failure();
  if (!compared.empty() &&
      failed(scheduleGradient(model, Purpose::Compare, compared)))
    return failure();
  if (model.evaluated != model.loss)
    eraseUnrun(model.loss);
  return methods.size() == 1 ? methods.front()->scheduleReplay() : success();
}

} // namespace hone
