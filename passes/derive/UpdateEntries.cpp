//===- UpdateEntries.cpp - Entries that update parameters -----------------===//

#include "passes/derive/UpdateEntries.h"

#include "passes/module/Schedule.h"

using namespace mlir;

namespace hone {

std::optional<Optimizer> parseOptimizer(StringRef name) {
  return llvm::StringSwitch<std::optional<Optimizer>>(name)
      .Case("sgd", Optimizer::Sgd)
      .Case("sgd_momentum", Optimizer::SgdMomentum)
      .Case("adamw", Optimizer::Adamw)
      .Default(std::nullopt);
}

UpdateScalars::UpdateScalars(MLIRContext *context, Optimizer optimizer,
                             bool rounds) {
  names = {"gradient_scale", "learning_rate", "weight_decay"};
  if (optimizer == Optimizer::Adamw)
    names.append(
        {"beta1", "beta2", "epsilon", "bias_correction1", "bias_correction2"});
  else if (optimizer == Optimizer::SgdMomentum)
    names.push_back("momentum");
  types.assign(names.size(),
               RankedTensorType::get({}, Float64Type::get(context)));
  if (!rounds)
    return;
  names.push_back("rounding_key");
  types.push_back(RankedTensorType::get(4, IntegerType::get(context, 32)));
}

namespace {
/// Where an update has its gradient from; with nothing, from memory, for all
/// parameters.
struct GradientSource {
  Value ofLayer;           ///< a hone.layer_gradient
  Value key, coefficients; ///< of random directions
  ArrayAttr layers;        ///< those it is of; null: all, or one
};
} // namespace

/// Creates the optimizer's op on `scalars`.
static void createUpdate(OpBuilder &builder, Location loc, Optimizer optimizer,
                         const UpdateScalars &meaning, ValueRange scalars,
                         const GradientSource &from) {
  Value rounding;
  if (meaning.names.back() == "rounding_key") {
    rounding = scalars.back();
    scalars = scalars.drop_back();
  }
  auto s = [&](size_t i) -> Value {
    return i < scalars.size() ? scalars[i] : Value();
  };
  if (optimizer == Optimizer::Adamw)
    AdamwOp::create(builder, loc, s(0), s(1), s(2), s(3), s(4), s(5), s(6),
                    s(7), rounding, from.ofLayer, from.key, from.coefficients,
                    from.layers);
  else
    SgdOp::create(builder, loc, s(0), s(1), s(2), s(3), rounding, from.ofLayer,
                  from.key, from.coefficients, from.layers);
}

/// @name(scalars, more), whose gradient is from where `from` says of `more`.
static EntryOp
createUpdateEntry(ModuleOp module, StringRef name, Optimizer optimizer,
                  const ParameterTable &parameters, TypeRange more,
                  function_ref<GradientSource(ValueRange)> from) {
  OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
  UpdateScalars scalars(module.getContext(), optimizer, parameters.isRounded());
  SmallVector<Type> types(scalars.types);
  llvm::append_range(types, more);
  auto entry =
      EntryOp::create(builder, module.getLoc(), name, Phase::Update, types);
  mlir::Block &body = entry.getBodyBlock();
  builder.setInsertionPoint(body.getTerminator());
  ValueRange arguments = body.getArguments();
  createUpdate(builder, module.getLoc(), optimizer, scalars,
               arguments.drop_back(more.size()),
               from(arguments.take_back(more.size())));
  return entry;
}

EntryOp createUpdateEntry(ModuleOp module, StringRef name, Optimizer optimizer,
                          const ParameterTable &parameters, ArrayAttr layers) {
  return createUpdateEntry(
      module, name, optimizer, parameters, {},
      [&](ValueRange) { return GradientSource{{}, {}, {}, layers}; });
}

EntryOp createUpdateEntryAlong(ModuleOp module, StringRef name,
                               Optimizer optimizer,
                               const ParameterTable &parameters,
                               ArrayAttr layers, Type coefficients) {
  Type key =
      RankedTensorType::get(4, IntegerType::get(module.getContext(), 32));
  return createUpdateEntry(module, name, optimizer, parameters,
                           {key, coefficients}, [&](ValueRange more) {
                             return GradientSource{
                                 {}, more[0], more[1], layers};
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
  Type integer = RankedTensorType::get({}, builder.getI64Type());
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

EntryOp createUpdatingCopy(EntryOp gradient, Optimizer optimizer,
                           const ParameterTable &parameters) {
  ModuleOp module = gradient->getParentOfType<ModuleOp>();
  OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
  auto step = cast<EntryOp>(builder.clone(*gradient));
  step.setSymName(
      (gradient.getSymName() + "." + stringifyPhase(Phase::Update)).str());
  UpdateScalars meaning(module.getContext(), optimizer, parameters.isRounded());
  SmallVector<Value> scalars = addArguments(step, meaning.types);
  SmallVector<LayerUses> uses = findLayerUses(step, parameters);
  for (auto [layer, use] : llvm::zip_equal(parameters.layers(), uses)) {
    if (!use.firstSink)
      continue;
    Value window =
        createWindow(builder, parameters, layer, use, /*condition=*/Value());
    builder.setInsertionPointAfter(use.lastUse);
    createUpdate(builder, module.getLoc(), optimizer, meaning, scalars,
                 {window, {}, {}, {}});
  }
  return step;
}

} // namespace hone
