//===- VerifyStep.cpp - hone-verify-step ----------------------------------===//
//
// A broken rule here is a bug of the derivation, so messages name the pass.
//
//===----------------------------------------------------------------------===//

#include "passes/Passes.h"
#include "passes/module/ParameterTable.h"
#include "passes/module/Schedule.h"

#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace hone {

#define GEN_PASS_DEF_VERIFYSTEP
#include "passes/Passes.h.inc"

namespace {

/// Follows an entry whose layers have gradients of their own: these are there
/// from before the first sink until they are used, by one update or one fold;
/// no parameter is read after its update.
class WindowCheck {
public:
  WindowCheck(EntryOp entry, const ParameterTable &parameters)
      : entry(entry), parameters(parameters), symbols(entry->getParentOp()),
        states(parameters.layers().size(), State::Untouched) {}

  LogicalResult check();

private:
  enum class State { Untouched, Gradient, Folded, Updated };

  LogicalResult visit(Operation &op);
  LogicalResult begin(LayerGradientOp window);
  /// `op` uses the gradients of `window`, whose state is `end` from then on.
  LogicalResult close(Operation *op, LayerGradientOp window, State end,
                      StringRef problem);
  LogicalResult visitCall(CallOp call);
  /// `call` reads the parameter `name` of its layer, or adds to its gradient.
  LogicalResult use(CallOp call, StringRef name, bool isSink) const;

  State &stateOf(LayerGradientOp window) {
    return states[parameters.findLayer(window.getPrefix()) -
                  parameters.layers().data()];
  }
  static LogicalResult broken(Operation *op, StringRef problem,
                              StringRef prefix) {
    return op->emitOpError(problem)
           << " of the layer '" << prefix << "'; broken by hone-schedule-step";
  }

  EntryOp entry;
  const ParameterTable &parameters;
  SymbolTable symbols;
  SmallVector<State> states; ///< by layer of `parameters`
};

struct VerifyStep : impl::VerifyStepBase<VerifyStep> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto parameters = ParameterTable::build(module);
    if (failed(parameters) || failed(checkSinks(module, *parameters)) ||
        failed(checkCoverage(module, *parameters)) ||
        failed(checkUpdates(module, *parameters)) ||
        failed(checkSeparated(module)))
      return signalPassFailure();
    if (auto schedule = Schedule::find(module, Purpose::Train))
      if (failed(checkOrder(*schedule, *parameters)) ||
          failed(checkLanes(*schedule)))
        signalPassFailure();
  }

  /// Every sink names a trainable parameter of its type, in every layer.
  static LogicalResult checkSinks(ModuleOp module,
                                  const ParameterTable &parameters) {
    SymbolTable symbols(module);
    LogicalResult result = success();
    auto check = [&](CallOp call, BlockOp block) {
      block.walk([&](GradientOp sink) {
        const Parameter *parameter =
            parameters.find(call.getPrefix(), sink.getOf());
        if (parameter && parameter->trainable &&
            parameter->type == sink.getValue().getType())
          return;
        InFlightDiagnostic diag = sink.emitOpError("expects '")
                                  << call.getPrefix() << sink.getOf()
                                  << "' to be a trainable parameter of type "
                                  << sink.getValue().getType()
                                  << "; broken by hone-derive-backward";
        diag.attachNote(call.getLoc()) << "for this layer";
        result = failure();
      });
    };
    for (EntryOp entry : module.getOps<EntryOp>())
      if (failed(forEachCall(entry, symbols, check)))
        return failure();
    return result;
  }

  /// Every trainable parameter has a gradient in the step, or moves along the
  /// directions whose sum that is: zero where no sink of it runs, since
  /// gradients start from zero.
  static LogicalResult checkCoverage(ModuleOp module,
                                     const ParameterTable &parameters) {
    SymbolTable symbols(module);
    llvm::StringSet<> covered;
    for (EntryOp entry : entriesOfStep(module))
      if (failed(forEachCall(entry, symbols, [&](CallOp call, BlockOp block) {
            auto cover = [&](StringRef name) {
              covered.insert((call.getPrefix() + name).str());
            };
            block.walk([&](Operation *op) {
              if (auto sink = dyn_cast<GradientOp>(op))
                cover(sink.getOf());
              else if (auto random = dyn_cast<RandomOpInterface>(op))
                if (auto source = random.getRandomSource();
                    source && source->purpose == rt::RandomPurpose::Perturb)
                  cover(source->name);
            });
          })))
        return failure();
    for (const Parameter &parameter : parameters.trainable())
      if (!covered.contains(parameter.name))
        return module.emitError("expects a gradient of '")
               << parameter.name
               << "' in the step; broken by hone-derive-backward or "
                  "hone-schedule-step";
    return success();
  }

  /// Nothing is late in a program that has all parts: it would have no values
  /// of steps before.
  static LogicalResult checkSeparated(ModuleOp module) {
    for (ScheduleOp schedule : module.getOps<ScheduleOp>())
      for (LateOp late : schedule.getBody().getOps<LateOp>())
        return late.emitOpError("expects parts that are programs of their own; "
                                "hone-extract-part makes one of each");
    return success();
  }

  /// The layers that `update` is of.
  static llvm::DenseSet<int64_t> layersOf(UpdateOpInterface update,
                                          const ParameterTable &parameters) {
    llvm::DenseSet<int64_t> layers;
    auto add = [&](StringRef prefix) {
      if (const TrainableLayer *layer = parameters.findLayer(prefix))
        layers.insert(layer - parameters.layers().data());
    };
    if (Value window = update.getLayerGradient())
      add(window.getDefiningOp<LayerGradientOp>().getPrefix());
    else if (ArrayAttr some = update.getLayersAttr())
      for (StringRef prefix : some.getAsValueRange<StringAttr>())
        add(prefix);
    else
      for (const TrainableLayer &layer : parameters.layers())
        add(layer.prefix);
    return layers;
  }

  static LogicalResult checkUpdates(ModuleOp module,
                                    const ParameterTable &parameters) {
    llvm::DenseSet<int64_t> updated;
    for (EntryOp entry : module.getOps<EntryOp>())
      if (!entry.getBody().getOps<LayerGradientOp>().empty() &&
          failed(WindowCheck(entry, parameters).check()))
        return failure();
    for (EntryOp entry : entriesOfStep(module))
      for (auto update : entry.getBody().getOps<UpdateOpInterface>())
        updated.insert_range(layersOf(update, parameters));
    for (auto [index, layer] : llvm::enumerate(parameters.layers()))
      if (!updated.empty() && !updated.contains(index))
        return module.emitError("expects an update of the layer '")
               << layer.prefix << "'; broken by hone-schedule-step";
    return success();
  }

  /// Trainable layers whose parameters `entry` reads, and that it updates.
  struct Touched {
    llvm::DenseSet<int64_t> reads, updates;
  };
  static FailureOr<Touched> touchedBy(EntryOp entry, const SymbolTable &symbols,
                                      const ParameterTable &parameters) {
    Touched touched;
    if (failed(forEachCall(entry, symbols, [&](CallOp call, BlockOp block) {
          block.walk([&](ParameterOp op) {
            const Parameter *parameter =
                parameters.find(call.getPrefix(), op.getName());
            if (parameter->trainable)
              touched.reads.insert(parameter->layer);
          });
        })))
      return failure();
    for (auto update : entry.getBody().getOps<UpdateOpInterface>())
      touched.updates.insert_range(layersOf(update, parameters));
    return touched;
  }

  /// In the order of the items, each layer is updated once and not read after
  /// that: a step is of the parameters that it began with.
  static LogicalResult checkOrder(const Schedule &schedule,
                                  const ParameterTable &parameters) {
    SymbolTable symbols(ScheduleOp(schedule.getOp())->getParentOp());
    llvm::DenseSet<int64_t> updated;
    auto broken = [&](RunOp run, StringRef problem, int64_t layer) {
      return run.emitOpError(problem)
             << " of the layer '" << parameters.layers()[layer].prefix
             << "'; broken by hone-schedule-step";
    };
    for (const Schedule::Item &item : schedule.items()) {
      auto run = dyn_cast<RunOp>(item.op);
      if (!run)
        continue;
      llvm::DenseSet<int64_t> updates;
      for (EntryOp entry : entriesOf(run, symbols)) {
        FailureOr<Touched> touched = touchedBy(entry, symbols, parameters);
        if (failed(touched))
          return failure();
        for (int64_t layer : touched->reads)
          if (updated.contains(layer))
            return broken(run, "stands after the update", layer);
        updates.insert(touched->updates.begin(), touched->updates.end());
      }
      for (int64_t layer : updates)
        if (item.repeat || !updated.insert(layer).second)
          return broken(run, "is not the only update", layer);
    }
    return success();
  }

  /// Runs that may overlap have no gradient of one batch in common: the region
  /// of a batch that is folded is there once.
  static LogicalResult checkLanes(const Schedule &schedule) {
    SymbolTable symbols(ScheduleOp(schedule.getOp())->getParentOp());
    llvm::DenseMap<RepeatOp, RunOp> first;
    for (const Schedule::Item &item : schedule.items()) {
      auto run = dyn_cast<RunOp>(item.op);
      if (!run || !item.repeat || !Schedule::hasLanes(item.repeat))
        continue;
      bool accumulates =
          llvm::any_of(entriesOf(run, symbols), [](EntryOp entry) {
            return llvm::any_of(entry.getBody().getOps<LayerGradientOp>(),
                                [](LayerGradientOp window) {
                                  return bool(window.getCondition());
                                });
          });
      if (!accumulates)
        continue;
      RunOp &known = first[item.repeat];
      if (!known)
        known = run;
      if (known.getLane() == run.getLane())
        continue;
      InFlightDiagnostic diag =
          run.emitOpError("accumulates in another lane than a run that may be "
                          "at work at the same time; give both one lane");
      diag.attachNote(known.getLoc()) << "the other one is here";
      return diag;
    }
    return success();
  }
};

} // namespace

LogicalResult WindowCheck::begin(LayerGradientOp window) {
  const TrainableLayer *layer = parameters.findLayer(window.getPrefix());
  if (!layer)
    return broken(window, "expects parameters that train", window.getPrefix());
  auto type =
      RankedTensorType::get(layer->elements, parameters.gradientElement());
  if (window.getGradient().getType() != type)
    return window.emitOpError("expects the type ")
           << type << " of the layer's gradients but got "
           << window.getGradient().getType();
  // It is read again by the fold.
  if (window.getCondition() && !isa<BlockArgument>(window.getCondition()))
    return window.emitOpError("expects a condition that is an argument of the "
                              "entry");
  State &state = stateOf(window);
  if (state != State::Untouched)
    return broken(window, "is not the first", window.getPrefix());
  state = State::Gradient;
  return success();
}

LogicalResult WindowCheck::close(Operation *op, LayerGradientOp window,
                                 State end, StringRef problem) {
  State &state = stateOf(window);
  if (state != State::Gradient)
    return broken(op, problem, window.getPrefix());
  state = end;
  return success();
}

LogicalResult WindowCheck::use(CallOp call, StringRef name, bool isSink) const {
  const Parameter *parameter = parameters.find(call.getPrefix(), name);
  if (!parameter->trainable)
    return success();
  StringRef prefix = parameters.layers()[parameter->layer].prefix;
  State state = states[parameter->layer];
  if (state == State::Updated)
    return broken(call, "stands after the update", prefix);
  if (isSink && state == State::Folded)
    return broken(call, "stands after the fold", prefix);
  if (isSink && state != State::Gradient)
    return broken(call, "stands before the 'hone.layer_gradient'", prefix);
  return success();
}

LogicalResult WindowCheck::visitCall(CallOp call) {
  for (FlatSymbolRefAttr callee : call.getCallees()) {
    WalkResult walked =
        symbols.lookup<BlockOp>(callee.getValue()).walk([&](Operation *op) {
          LogicalResult isRight = success();
          if (auto parameter = dyn_cast<ParameterOp>(op))
            isRight = use(call, parameter.getName(), /*isSink=*/false);
          else if (auto sink = dyn_cast<GradientOp>(op))
            isRight = use(call, sink.getOf(), /*isSink=*/true);
          return succeeded(isRight) ? WalkResult::advance()
                                    : WalkResult::interrupt();
        });
    if (walked.wasInterrupted())
      return failure();
  }
  return success();
}

LogicalResult WindowCheck::visit(Operation &op) {
  if (auto window = dyn_cast<LayerGradientOp>(op))
    return begin(window);
  if (auto update = dyn_cast<UpdateOpInterface>(op)) {
    if (!update.getLayerGradient())
      return update->emitOpError("expects a 'hone.layer_gradient' to update "
                                 "from, as other layers of the entry have; "
                                 "broken by hone-schedule-step");
    return close(update,
                 update.getLayerGradient().getDefiningOp<LayerGradientOp>(),
                 State::Updated, "is not the only update");
  }
  if (auto fold = dyn_cast<FoldGradientOp>(op))
    return close(fold, fold.getLayerGradient(), State::Folded,
                 "is not the only fold");
  if (auto call = dyn_cast<CallOp>(op))
    return visitCall(call);
  return success();
}

LogicalResult WindowCheck::check() {
  for (Operation &op : entry.getBodyBlock())
    if (failed(visit(op)))
      return failure();
  for (auto [layer, state] : llvm::zip_equal(parameters.layers(), states))
    if (state == State::Gradient)
      return broken(entry, "expects an update or a fold", layer.prefix);
  return success();
}

} // namespace hone
