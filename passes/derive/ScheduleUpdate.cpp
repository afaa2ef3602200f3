//===- ScheduleUpdate.cpp - hone-schedule-update --------------------------===//
//
// An update in the backward is a copy of @gradient, whatever passes made of it,
// with each layer's update behind the last call that adds to the layer's
// gradients or reads its parameters.
//
//===----------------------------------------------------------------------===//

#include "passes/Passes.h"
#include "passes/module/ParameterTable.h"

using namespace mlir;

namespace hone {

#define GEN_PASS_DEF_SCHEDULEUPDATE
#include "passes/Passes.h.inc"

namespace {

/// The calls that the update of one layer has to respect.
struct LayerUses {
  CallOp firstSink; ///< null if nothing adds to the layer's gradients
  CallOp lastUse;
};

/// Creates optimizer ops on the scalars of one entry.
class UpdateBuilder {
public:
  /// Creates the scalars' inputs at the insertion point; `rounds` if the
  /// parameters are stored as bfloat16.
  UpdateBuilder(OpBuilder &builder, Location loc, StringRef optimizer,
                bool rounds);

  /// `gradient` is null for all parameters.
  void create(Value gradient);

private:
  OpBuilder &builder;
  Location loc;
  bool isAdamw;
  SmallVector<Value> scalars; ///< as the op's operands
  Value rounding;
};

struct ScheduleUpdate : impl::ScheduleUpdateBase<ScheduleUpdate> {
  using ScheduleUpdateBase::ScheduleUpdateBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (optimizer != "sgd" && optimizer != "sgd_momentum" &&
        optimizer != "adamw") {
      module.emitError("expects optimizer to be one of sgd, sgd_momentum, "
                       "adamw but got '")
          << optimizer << "'";
      return signalPassFailure();
    }
    StringRef name = inBackward ? "step" : "update";
    if (Operation *taken = SymbolTable(module).lookup(name)) {
      taken->emitOpError("has the name '@")
          << name << "', which scheduling defines; give it another name";
      return signalPassFailure();
    }
    FailureOr<ParameterTable> parameters = ParameterTable::build(module);
    if (failed(parameters))
      return signalPassFailure();
    OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
    if (inBackward) {
      if (failed(scheduleStep(module, *parameters, builder)))
        signalPassFailure();
      return;
    }
    auto entry = EntryOp::create(builder, module.getLoc(), name);
    builder.setInsertionPoint(entry.getBody().front().getTerminator());
    UpdateBuilder(builder, module.getLoc(), optimizer, rounds(*parameters))
        .create(Value());
  }

  LogicalResult scheduleStep(ModuleOp module, const ParameterTable &parameters,
                             OpBuilder &builder);
  static bool rounds(const ParameterTable &parameters) {
    return parameters.thetaElement() != parameters.gradientElement();
  }
};

} // namespace

UpdateBuilder::UpdateBuilder(OpBuilder &builder, Location loc,
                             StringRef optimizer, bool rounds)
    : builder(builder), loc(loc), isAdamw(optimizer == "adamw") {
  SmallVector<StringRef> names = {"gradient_scale", "learning_rate",
                                  "weight_decay"};
  if (isAdamw)
    names.append(
        {"beta1", "beta2", "epsilon", "bias_correction1", "bias_correction2"});
  else if (optimizer == "sgd_momentum")
    names.push_back("momentum");
  for (StringRef name : names)
    scalars.push_back(InputOp::create(
        builder, loc, RankedTensorType::get({}, builder.getF64Type()), name));
  if (rounds)
    rounding = InputOp::create(builder, loc,
                               RankedTensorType::get(4, builder.getI32Type()),
                               "rounding_key");
}

void UpdateBuilder::create(Value gradient) {
  ArrayRef<Value> s = scalars;
  if (isAdamw)
    AdamwOp::create(builder, loc, s[0], s[1], s[2], s[3], s[4], s[5], s[6],
                    s[7], rounding, gradient);
  else
    SgdOp::create(builder, loc, s[0], s[1], s[2], s.size() > 3 ? s[3] : Value(),
                  rounding, gradient);
}

/// By layer of `parameters`.
static SmallVector<LayerUses> findLayerUses(EntryOp entry,
                                            const ParameterTable &parameters) {
  SymbolTable symbols(entry->getParentOp());
  SmallVector<LayerUses> uses(parameters.layers().size());
  for (CallOp call : entry.getBody().getOps<CallOp>()) {
    auto use = [&](StringRef name, bool isSink) {
      const Parameter *parameter = parameters.find(call.getPrefix(), name);
      if (!parameter || !parameter->trainable)
        return;
      LayerUses &layer = uses[parameter->layer];
      layer.lastUse = call;
      if (isSink && !layer.firstSink)
        layer.firstSink = call;
    };
    auto block = symbols.lookup<BlockOp>(call.getBlock());
    block.walk([&](ParameterOp op) { use(op.getName(), /*isSink=*/false); });
    block.walk([&](GradientOp op) { use(op.getOf(), /*isSink=*/true); });
  }
  return uses;
}

LogicalResult ScheduleUpdate::scheduleStep(ModuleOp module,
                                           const ParameterTable &parameters,
                                           OpBuilder &builder) {
  auto gradient = SymbolTable(module).lookup<EntryOp>("gradient");
  if (!gradient)
    return module.emitError("expects an entry '@gradient'; run "
                            "hone-derive-backward first");
  auto step = cast<EntryOp>(builder.clone(*gradient));
  step.setSymName("step");
  SmallVector<LayerUses> uses = findLayerUses(step, parameters);
  builder.setInsertionPointToStart(&step.getBody().front());
  UpdateBuilder update(builder, module.getLoc(), optimizer, rounds(parameters));
  for (auto [layer, use] : llvm::zip_equal(parameters.layers(), uses)) {
    if (!use.firstSink)
      continue;
    builder.setInsertionPoint(use.firstSink);
    Value window = LayerGradientOp::create(
        builder, module.getLoc(),
        RankedTensorType::get(layer.elements, parameters.gradientElement()),
        layer.prefix);
    builder.setInsertionPointAfter(use.lastUse);
    update.create(window);
  }
  return success();
}

} // namespace hone
