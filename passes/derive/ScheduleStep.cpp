//===- ScheduleStep.cpp - hone-schedule-step ------------------------------===//
//
// What today's training is made of, as items. A weight of 1 / targets for each
// token of a step's batches, and not a mean of their means, which would favour
// the tokens of short ones.
//
//===----------------------------------------------------------------------===//

#include "passes/Passes.h"
#include "passes/derive/ScalarFunctions.h"
#include "passes/derive/UpdateEntries.h"
#include "passes/module/Schedule.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace hone {

#define GEN_PASS_DEF_SCHEDULESTEP
#include "passes/Passes.h.inc"

namespace {

/// Writes items at the builder's place.
class ScheduleBuilder {
public:
  ScheduleBuilder(ModuleOp module, Purpose purpose)
      : module(module), loc(module.getLoc()),
        builder(OpBuilder::atBlockEnd(module.getBody())) {
    auto schedule = ScheduleOp::create(builder, loc, purpose);
    builder.setInsertionPointToEnd(&schedule.getBody().front());
    real = RankedTensorType::get({}, builder.getF64Type());
    integer = RankedTensorType::get({}, builder.getI64Type());
  }

  /// The number of the program called `name`.
  Value setting(StringRef name, Type type) {
    Value &known = settings[name];
    if (!known)
      known = SettingOp::create(builder, loc, type, name);
    return known;
  }
  Value realSetting(StringRef name) { return setting(name, real); }
  Value integerSetting(StringRef name) { return setting(name, integer); }

  /// scalar.`name`(operands); null if it cannot be had.
  Value scalar(StringRef name, ValueRange operands, Type type = {}) {
    FailureOr<func::FuncOp> function =
        getScalarFunction(module, name, operands.getTypes());
    if (failed(function)) {
      hasFailed = true;
      return SettingOp::create(builder, loc, type ? type : real, name);
    }
    Type result = type ? type : real;
    return ScalarOp::create(builder, loc, result, function->getSymName(),
                            operands)
        .getResult(0);
  }

  ResultRange run(EntryOp entry, ValueRange values, Value batch = {}) {
    return RunOp::create(builder, loc, entry.getResultTypes(),
                         entry.getSymName(), /*otherwise=*/nullptr, values,
                         batch, /*condition=*/Value())
        .getResults();
  }

  /// What `body` makes of `carried`, `count` times.
  ResultRange repeat(Value count, ValueRange carried,
                     function_ref<SmallVector<Value>(ValueRange)> body) {
    auto repeat =
        RepeatOp::create(builder, loc, carried.getTypes(), count, carried);
    mlir::Block &block = repeat.getBody().emplaceBlock();
    for (Value value : carried)
      block.addArgument(value.getType(), loc);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToEnd(&block);
    YieldOp::create(builder, loc, body(block.getArguments()));
    return repeat.getResults();
  }

  /// `sum` and what `body` returns for each of `count` batches.
  Value addOverBatches(Value sum, Value count,
                       function_ref<Value(Value batch)> body) {
    return repeat(count, sum, [&](ValueRange before) {
      Value term = body(LoadOp::create(builder, loc));
      return SmallVector<Value>{scalar("add", {before[0], term})};
    })[0];
  }

  /// `own` of each of `ranks`, in their order; `own` is that of `rank`.
  SmallVector<Value> exchange(Value own, StringRef channel,
                              ArrayRef<std::string> ranks, StringRef rank) {
    SmallVector<Value> all;
    for (StringRef other : ranks) {
      if (other == rank) {
        all.push_back(own);
        continue;
      }
      SendOp::create(builder, loc, own, other, channel, /*batch=*/Value());
      all.push_back(ReceiveOp::create(builder, loc, own.getType(), other,
                                      channel, /*batch=*/Value()));
    }
    for (Value value : all)
      if (ranks.size() > 1)
        WaitOp::create(builder, loc, value);
    return all;
  }

  void report(Value value, StringRef name) {
    ReportOp::create(builder, loc, value, name);
  }
  /// The step goes on only if all are finite; `problem` if that is not about
  /// training that diverged.
  void check(ValueRange values, StringRef problem = {}) {
    CheckOp::create(builder, loc, values,
                    problem.empty() ? nullptr : builder.getStringAttr(problem));
  }

  /// What an update takes, computed from settings; `clip` scales gradients.
  SmallVector<Value> updateScalars(const UpdateScalars &wanted, Value clip,
                                   Value rate);
  Value learningRate() {
    return scalar("learning_rate",
                  {realSetting("learning_rate"), integerSetting("lr_scheduler"),
                   integerSetting("warmup_steps"), integerSetting("steps"),
                   integerSetting("completed")});
  }

  ModuleOp module;
  Location loc;
  OpBuilder builder;
  Type real, integer;
  bool hasFailed = false;

private:
  llvm::StringMap<Value> settings;
};

struct ScheduleStep : impl::ScheduleStepBase<ScheduleStep> {
  using ScheduleStepBase::ScheduleStepBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    std::optional<Optimizer> parsed = parseOptimizer(optimizer);
    if (!parsed) {
      module.emitError("expects optimizer to be one of sgd, sgd_momentum, "
                       "adamw but got '")
          << optimizer << "'";
      return signalPassFailure();
    }
    if (failed(checkRanks(module)))
      return signalPassFailure();
    FailureOr<EntryOp> loss = findLossEntry(module);
    FailureOr<EntryOp> gradient = findGradientEntry(module);
    FailureOr<ParameterTable> parameters = ParameterTable::build(module);
    if (failed(loss) || failed(gradient) || failed(parameters) ||
        failed(checkNames(module, *gradient)))
      return signalPassFailure();
    if (!loss->getArgumentTypes().empty()) {
      loss->emitOpError("expects a loss without arguments; blocks read the "
                        "inputs of a batch with 'hone.input'");
      return signalPassFailure();
    }
    UpdateScalars scalars(&getContext(), *parsed, parameters->isRounded());
    EntryOp zero = createVectorEntry<ZeroGradientOp>(module, {}, {});
    Type perParameter = RankedTensorType::get(
        static_cast<int64_t>(parameters->trainable().size()),
        Float64Type::get(&getContext()));
    EntryOp squares =
        createVectorEntry<GradientSquaresOp>(module, {}, perParameter);
    EntryOp update = inBackward
                         ? createUpdatingCopy(*gradient, *parsed, *parameters)
                         : createUpdateEntry(module, *parsed, *parameters);
    accumulateByLayer(*gradient, *parameters);
    bool isScheduled =
        inBackward
            ? scheduleTrainingLayerByLayer(update, scalars)
            : scheduleTraining(zero, *gradient, squares, update, scalars);
    if (!isScheduled || !scheduleEvaluation(*loss) ||
        !scheduleGradient(zero, *gradient, squares) ||
        !scheduleValidation(
            createVectorEntry<ParameterSquaresOp>(module, {}, perParameter)))
      signalPassFailure();
  }

private:
  static FailureOr<EntryOp> findGradientEntry(ModuleOp module);
  /// One of several different ranks, none of which updates in the backward.
  LogicalResult checkRanks(ModuleOp module);
  /// What scheduling defines must not be there already.
  LogicalResult checkNames(ModuleOp module, EntryOp gradient);
  template <typename OpTy>
  static EntryOp createVectorEntry(ModuleOp module, TypeRange arguments,
                                   TypeRange results);

  /// @zero, then @gradient for each batch, those of the first in place and the
  /// others folded to them in order; returns the mean loss.
  static Value differentiate(ScheduleBuilder &b, EntryOp zero,
                             EntryOp gradient);
  /// The same where `ranks` have a batch each in turn.
  Value differentiateShared(ScheduleBuilder &b, EntryOp zero, EntryOp gradient);
  bool scheduleTraining(EntryOp zero, EntryOp gradient, EntryOp squares,
                        EntryOp update, const UpdateScalars &scalars);
  bool scheduleTrainingLayerByLayer(EntryOp step, const UpdateScalars &scalars);
  bool scheduleEvaluation(EntryOp loss);
  bool scheduleGradient(EntryOp zero, EntryOp gradient, EntryOp squares);
  bool scheduleValidation(EntryOp squares);
};

} // namespace

SmallVector<Value> ScheduleBuilder::updateScalars(const UpdateScalars &wanted,
                                                  Value clip, Value rate) {
  SmallVector<Value> values;
  for (StringRef name : wanted.names) {
    if (name == "gradient_scale")
      values.push_back(clip);
    else if (name == "learning_rate")
      values.push_back(rate);
    else if (name.consume_front("bias_correction"))
      values.push_back(
          scalar("bias_correction", {realSetting(("beta" + name).str()),
                                     integerSetting("completed")}));
    else if (name == "rounding_key")
      values.push_back(
          scalar(name, {integerSetting("seed"), integerSetting("completed")},
                 RankedTensorType::get(4, builder.getI32Type())));
    else
      values.push_back(realSetting(name));
  }
  return values;
}

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

/// "zero_gradient" of "hone.zero_gradient".
template <typename OpTy> static StringRef entryName() {
  return OpTy::getOperationName().split('.').second;
}

LogicalResult ScheduleStep::checkNames(ModuleOp module, EntryOp gradient) {
  SymbolTable symbols(module);
  StringRef update = stringifyPhase(Phase::Update);
  std::string copy = (gradient.getSymName() + "." + update).str();
  StringRef names[] = {
      inBackward ? StringRef(copy) : update, entryName<ZeroGradientOp>(),
      entryName<GradientSquaresOp>(),        entryName<ParameterSquaresOp>(),
      entryName<ReadGradientOp>(),           entryName<AddGradientOp>()};
  for (StringRef name : names)
    if (Operation *taken = symbols.lookup(name))
      return taken->emitOpError("has the name '@")
             << name << "', which scheduling defines; give it another name";
  return success();
}

template <typename OpTy>
EntryOp ScheduleStep::createVectorEntry(ModuleOp module, TypeRange arguments,
                                        TypeRange results) {
  OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
  auto entry = EntryOp::create(builder, module.getLoc(), entryName<OpTy>(),
                               Phase::Vector, arguments, results);
  mlir::Block &body = entry.getBodyBlock();
  builder.setInsertionPoint(&body, body.begin());
  auto op = OpTy::create(builder, module.getLoc(), results,
                         ValueRange(body.getArguments()));
  if (!results.empty()) {
    builder.setInsertionPointToEnd(&body);
    ReturnOp::create(builder, module.getLoc(), op->getResults());
  }
  return entry;
}

Value ScheduleStep::differentiate(ScheduleBuilder &b, EntryOp zero,
                                  EntryOp gradient) {
  Value scale = b.scalar("inverse", b.realSetting("targets"));
  Value batches = b.integerSetting("batches");
  b.run(zero, {});
  Value first = LoadOp::create(b.builder, b.loc);
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
    Value batch = LoadOp::create(b.builder, b.loc);
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
  Value batch = LoadOp::create(b.builder, b.loc);
  Value sum = b.run(step, values, batch).front();
  Value mean = b.scalar("multiply", {sum, scale});
  b.check(mean);
  b.report(mean, "loss");
  b.report(rate, "learning_rate");
  return !b.hasFailed;
}

bool ScheduleStep::scheduleEvaluation(EntryOp loss) {
  ScheduleBuilder b(getOperation(), Purpose::Evaluate);
  Value batches = b.integerSetting("batches");
  Value sum = b.addOverBatches(b.scalar("zero", {}), batches, [&](Value batch) {
    return b.run(loss, {}, batch).front();
  });
  b.report(b.scalar("divide", {sum, b.realSetting("targets")}), "loss");
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

bool ScheduleStep::scheduleValidation(EntryOp squares) {
  ScheduleBuilder b(getOperation(), Purpose::Validate);
  Value length = b.scalar("norm", b.run(squares, {}));
  b.check(length);
  b.report(length, "parameter_norm");
  return !b.hasFailed;
}

} // namespace hone
