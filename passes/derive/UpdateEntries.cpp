//===- UpdateEntries.cpp - Entries that update parameters -----------------===//

#include "passes/derive/UpdateEntries.h"

#include "passes/module/Schedule.h"

using namespace mlir;

namespace hone {

UpdateScalars::UpdateScalars(MLIRContext *context, const Optimizer &optimizer,
                             bool rounds, int64_t selectable, int64_t always,
                             int64_t scaled) {
  Type real = scalarType(context);
  names = {"gradient_scale", "learning_rate", "weight_decay"};
  for (StringRef number : optimizer.numbers)
    names.push_back(number.str());
  if (optimizer.hasRateOfB)
    names.push_back("rate_of_b");
  for (const std::string &name : names) {
    int64_t layers = name == "gradient_scale" ? scaled
                     : findCounted(name)      ? selectable
                                              : 0;
    types.push_back(
        layers > 0 ? RankedTensorType::get(layers, Float64Type::get(context))
                   : real);
  }
  if (selectable > 0) {
    names.push_back("selected");
    types.push_back(
        RankedTensorType::get(selectable, IntegerType::get(context, 32)));
    for (StringRef name : optimizer.numbers)
      if (always > 0 && findCounted(name)) {
        names.push_back((alwaysPrefix + name).str());
        types.push_back(real);
      }
  }
  if (rounds || optimizer.roundsState) {
    names.push_back("rounding_key");
    types.push_back(randomKeyType(context));
  }
}

namespace {
/// Where an update has its gradient from; with nothing, from memory, for all
/// parameters.
struct GradientSource {
  Value ofLayer;           ///< a hone.layer_gradient
  Value key, coefficients; ///< of random directions
  ArrayAttr layers;        ///< those it is of; null: all, or one
  int64_t index = 0;       ///< in vectors of a scalar for each layer
  bool isAlways = false;   ///< not of a mask: updated in every step
};
} // namespace

/// Creates the optimizer's op on `given`, the arguments that `meaning` names.
static void createUpdate(OpBuilder &builder, Location loc,
                         const Optimizer &optimizer,
                         const UpdateScalars &meaning, ValueRange given,
                         const GradientSource &from) {
  UpdateOperands operands;
  operands.gradient = from.ofLayer;
  operands.key = from.key;
  operands.coefficients = from.coefficients;
  operands.layers = from.layers;
  SmallVector<Value> scalars;
  for (auto [name, value] : llvm::zip_equal(meaning.names, given)) {
    const bool isAlways = StringRef(name).starts_with(alwaysPrefix);
    const bool isVector = cast<RankedTensorType>(value.getType()).getRank() > 0;
    if (name == "rate_of_b") {
      operands.rateOfB = value;
    } else if (name == "rounding_key") {
      operands.rounding = value;
    } else if (from.isAlways ? isVector : isAlways) {
      continue;
    } else if (name == "selected") {
      operands.mask = value;
      operands.maskIndex = builder.getI64IntegerAttr(from.index);
    } else if (isVector) {
      scalars.push_back(ElementOp::create(
          builder, loc, scalarType(builder.getContext()), value, from.index));
    } else {
      scalars.push_back(value);
    }
  }
  optimizer.create(builder, loc, optimizer, scalars, operands);
}

/// @name(scalars, more), whose updates have their gradients from where `from`
/// says of `more`.
static EntryOp
createUpdateEntry(ModuleOp module, StringRef name, const Optimizer &optimizer,
                  const UpdateScalars &scalars, TypeRange more,
                  function_ref<SmallVector<GradientSource>(ValueRange)> from) {
  OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
  SmallVector<Type> types(scalars.types);
  llvm::append_range(types, more);
  auto entry =
      EntryOp::create(builder, module.getLoc(), name, Phase::Update, types);
  mlir::Block &body = entry.getBodyBlock();
  builder.setInsertionPoint(body.getTerminator());
  ValueRange arguments = body.getArguments();
  for (const GradientSource &source : from(arguments.take_back(more.size())))
    createUpdate(builder, module.getLoc(), optimizer, scalars,
                 arguments.drop_back(more.size()), source);
  return entry;
}

EntryOp createUpdateEntry(ModuleOp module, StringRef name,
                          const Optimizer &optimizer,
                          const ParameterTable &parameters, ArrayAttr layers) {
  UpdateScalars scalars(module.getContext(), optimizer, parameters.isRounded());
  return createUpdateEntry(module, name, optimizer, scalars, {},
                           [&](ValueRange) -> SmallVector<GradientSource> {
                             return {{{}, {}, {}, layers}};
                           });
}

/// `all` for each of `layers` by itself.
static SmallVector<GradientSource> splitByLayer(MLIRContext *context,
                                                const GradientSource &all,
                                                ArrayRef<StringRef> layers) {
  SmallVector<GradientSource> sources(layers.size(), all);
  for (auto [index, prefix] : llvm::enumerate(layers)) {
    sources[index].layers = Builder(context).getStrArrayAttr(prefix);
    sources[index].index = index;
  }
  return sources;
}

EntryOp createSelectedUpdateEntry(ModuleOp module, StringRef name,
                                  const Optimizer &optimizer,
                                  const ParameterTable &parameters,
                                  ArrayRef<StringRef> selectable,
                                  ArrayRef<StringRef> always) {
  UpdateScalars scalars(module.getContext(), optimizer, parameters.isRounded(),
                        selectable.size(), always.size());
  return createUpdateEntry(
      module, name, optimizer, scalars, {}, [&](ValueRange) {
        MLIRContext *context = module.getContext();
        GradientSource inEveryStep;
        inEveryStep.isAlways = true;
        SmallVector<GradientSource> sources =
            splitByLayer(context, {}, selectable);
        llvm::append_range(sources, splitByLayer(context, inEveryStep, always));
        return sources;
      });
}

EntryOp createUpdateEntryAlong(ModuleOp module, StringRef name,
                               const Optimizer &optimizer,
                               const ParameterTable &parameters,
                               ArrayAttr layers, Type coefficients,
                               ArrayRef<StringRef> scaled) {
  Type key = randomKeyType(module.getContext());
  UpdateScalars scalars(module.getContext(), optimizer, parameters.isRounded(),
                        /*selectable=*/0, /*always=*/0, scaled.size());
  return createUpdateEntry(
      module, name, optimizer, scalars, {key, coefficients},
      [&](ValueRange more) -> SmallVector<GradientSource> {
        GradientSource all = {{}, more[0], more[1], layers};
        if (scaled.empty())
          return {all};
        return splitByLayer(module.getContext(), all, scaled);
      });
}

namespace {
/// The calls that the update of one layer has to respect.
struct LayerUses {
  CallOp firstSink; ///< null if nothing adds to the layer's gradients
  CallOp lastSink;
  CallOp lastUse;
};
} // namespace

/// By layer of `parameters`.
static SmallVector<LayerUses> findLayerUses(EntryOp entry,
                                            const ParameterTable &parameters) {
  SymbolTable symbols(entry->getParentOp());
  SmallVector<LayerUses> uses(parameters.layers().size());
  (void)forEachCall(entry, symbols, [&](CallOp call, BlockOp block) {
    auto use = [&](StringRef name, bool isSink) {
      const Parameter *parameter = parameters.find(call.getPrefix(), name);
      if (!parameter || !parameter->trainable)
        return;
      LayerUses &layer = uses[parameter->layer];
      layer.lastUse = call;
      if (!isSink)
        return;
      layer.lastSink = call;
      if (!layer.firstSink)
        layer.firstSink = call;
    };
    block.walk([&](ParameterOp op) { use(op.getName(), /*isSink=*/false); });
    block.walk([&](GradientOp op) { use(op.getOf(), /*isSink=*/true); });
  });
  return uses;
}

/// Appends arguments of `types` to `entry`.
static SmallVector<Value> addArguments(EntryOp entry, TypeRange types) {
  SmallVector<Value> arguments;
  for (Type type : types)
    arguments.push_back(entry.getBodyBlock().addArgument(type, entry.getLoc()));
  entry.setFunctionType(FunctionType::get(
      entry.getContext(), entry.getBodyBlock().getArgumentTypes(),
      entry.getResultTypes()));
  return arguments;
}

/// Gradients of `layer` from before its first sink on.
static Value createWindow(OpBuilder &builder, const ParameterTable &parameters,
                          const TrainableLayer &layer, const LayerUses &uses,
                          Value condition) {
  builder.setInsertionPoint(uses.firstSink);
  auto type =
      RankedTensorType::get(layer.elements, parameters.gradientElement());
  return LayerGradientOp::create(builder, CallOp(uses.firstSink).getLoc(), type,
                                 layer.prefix, condition);
}

void accumulateByLayer(EntryOp gradient, const ParameterTable &parameters) {
  OpBuilder builder(gradient);
  Type integer = integerType(builder.getContext());
  Value condition = addArguments(gradient, integer).front();
  SmallVector<LayerUses> uses = findLayerUses(gradient, parameters);
  for (auto [layer, use] : llvm::zip_equal(parameters.layers(), uses)) {
    if (!use.firstSink)
      continue;
    Value window = createWindow(builder, parameters, layer, use, condition);
    builder.setInsertionPointAfter(use.lastSink);
    FoldGradientOp::create(builder, CallOp(use.lastSink).getLoc(), window);
  }
}

EntryOp createUpdatingCopy(EntryOp gradient, const Optimizer &optimizer,
                           const ParameterTable &parameters,
                           ArrayRef<StringRef> selectable,
                           ArrayRef<StringRef> always) {
  ModuleOp module = gradient->getParentOfType<ModuleOp>();
  OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
  auto step = cast<EntryOp>(builder.clone(*gradient));
  step.setSymName(
      (gradient.getSymName() + "." + stringifyPhase(Phase::Update)).str());
  UpdateScalars meaning(module.getContext(), optimizer, parameters.isRounded(),
                        selectable.size(), always.size());
  SmallVector<Value> scalars = addArguments(step, meaning.types);
  SmallVector<LayerUses> uses = findLayerUses(step, parameters);
  for (auto [layer, use] : llvm::zip_equal(parameters.layers(), uses)) {
    if (!use.firstSink)
      continue;
    Value window =
        createWindow(builder, parameters, layer, use, /*condition=*/Value());
    builder.setInsertionPointAfter(use.lastUse);
    int64_t index = llvm::find(selectable, layer.prefix) - selectable.begin();
    createUpdate(
        builder, module.getLoc(), optimizer, meaning, scalars,
        {window, {}, {}, {}, index, llvm::is_contained(always, layer.prefix)});
  }
  return step;
}

} // namespace hone
