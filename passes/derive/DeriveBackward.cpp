//===- DeriveBackward.cpp - hone-derive-backward --------------------------===//
//
// Turns the entry of the loss into the entry of its gradient. Each block
// is derived once, for all layers that run it, so depth never multiplies code.
//
//===----------------------------------------------------------------------===//

#include "passes/Passes.h"
#include "passes/derive/ActivityAnalysis.h"
#include "passes/derive/BlockDerivation.h"
#include "passes/methods/Methods.h"
#include "passes/methods/StepSettings.h"
#include "passes/module/Conversion.h"
#include "passes/module/Layers.h"
#include "passes/module/Schedule.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace hone {

#define GEN_PASS_DEF_DERIVEBACKWARD
#include "passes/Passes.h.inc"

namespace {

/// The calls of the loss, and how each is derived.
class EntryDerivation {
public:
  EntryDerivation(EntryOp loss, const ResidualPlan &plan,
                  int64_t recomputedInputs, int64_t roundedInputs,
                  LayerFilter trains)
      : loss(loss), plan(plan), recomputedInputs(recomputedInputs),
        roundedInputs(roundedInputs),
        symbols(loss->getParentOfType<ModuleOp>()), activity(loss, trains) {}

  LogicalResult checkEveryCallRuns();
  LogicalResult findLossCall();
  LogicalResult checkNames();
  LogicalResult deriveBlocks();
  /// Which values of the loss are computed again for the backward.
  LogicalResult chooseRecomputed();
  LogicalResult writeGradientEntry();

private:
  /// Writes the calls up to that of the loss, which, with `scale`, also begins
  /// the backward.
  LogicalResult writeForward(OpBuilder &builder, Value scale);
  /// In reverse order of the calls.
  LogicalResult writeBackward(OpBuilder &builder);
  /// The call of the block that is derived for `lossCall`.
  LogicalResult writeLossCall(OpBuilder &builder, Value scale);
  BlockOp blockOf(CallOp call) {
    return symbols.lookup<BlockOp>(call.getBlock());
  }
  /// The name of the block that is derived for `call` under a policy.
  std::string nameOf(const std::string &variant, CallOp call) const {
    return activity.inputsOf(call).parameters ? variant : variant + ".held";
  }
  LogicalResult setCotangent(Value value, Value cotangent, CallOp user);
  /// `value` of the loss where the backward stands: kept, or computed again.
  Value restore(Value value, OpBuilder &builder);
  /// Rounds values that `call` of the loss computes and the backward reads
  /// rounded.
  void keepRounded(CallOp call, OpBuilder &builder);
  /// A call of a block that converts `value` to `element`.
  Value createConversion(CallOp like, Value value, Type element,
                         OpBuilder &builder);

  EntryOp loss;
  ResidualPlan plan;
  int64_t recomputedInputs, roundedInputs;
  SymbolTable symbols;
  CallOp lossCall;
  EntryActivity activity;
  /// Calls whose forward and backward are apart, in order.
  SmallVector<CallOp> splitCalls;
  llvm::StringMap<SplitDerivation> derivations; ///< by block and variant
  llvm::DenseMap<Operation *, const SplitDerivation *> split;
  FusedDerivation fused;
  /// Values of the loss to values of the gradient.
  IRMapping mapping;
  /// Active calls of the loss to those of the gradient that have their results.
  llvm::DenseMap<Operation *, CallOp> forwardCalls;
  /// Values of the loss that no backward finds in memory.
  llvm::DenseSet<Value> recomputed;
  /// Values of the loss that are kept in bfloat16; to the rounded value, once
  /// there is one.
  llvm::DenseMap<Value, Value> rounded;
  /// Cotangents of values of the loss, as values of the gradient.
  llvm::DenseMap<Value, Value> cotangents;
};

struct DeriveBackward : impl::DeriveBackwardBase<DeriveBackward> {
  using DeriveBackwardBase::DeriveBackwardBase;

  void runOnOperation() override {
    auto plan = ResidualPlan::parse(residuals);
    if (!plan) {
      getOperation().emitError("expects residuals to be one of ")
          << ResidualPolicy::names()
          << ", or POLICY*LAYERS+POLICY*LAYERS, but got '" << residuals << "'";
      return signalPassFailure();
    }
    FailureOr<StepSettings> settings = StepSettings::read(getOperation());
    if (failed(settings))
      return signalPassFailure();
    if (!hasBackward(*settings))
      return;
    FailureOr<EntryOp> found = findLossEntry(getOperation());
    if (failed(found))
      return signalPassFailure();
    EntryOp loss = *found;
    const std::vector<std::string> trained = partsWithBackward(*settings);
    FailureOr<LayerParts> parts = cutParts(*settings, loss);
    if (failed(parts))
      return signalPassFailure();
    EntryDerivation derivation(
        loss, *plan, recomputedInputs, roundedInputs,
        [&](StringRef prefix) { return parts->hasAny(trained, prefix); });
    if (failed(derivation.checkEveryCallRuns()) ||
        failed(derivation.findLossCall()) || failed(derivation.checkNames()))
      return signalPassFailure();
    if (failed(derivation.deriveBlocks()) ||
        failed(derivation.chooseRecomputed()) ||
        failed(derivation.writeGradientEntry()))
      return signalPassFailure();
  }
};

} // namespace

/// The name of the gradient's entry.
static StringRef gradientName() { return stringifyPhase(Phase::Gradient); }

LogicalResult EntryDerivation::checkEveryCallRuns() {
  for (Operation &op : loss.getBodyBlock()) {
    auto call = dyn_cast<CallOp>(op);
    if ((call && call.getMask()) || isa<PoolOp, KeptOp>(op))
      return op.emitOpError("stands in the loss, of which all is derived; "
                            "choose what runs in the entry of its gradient");
  }
  return success();
}

LogicalResult EntryDerivation::findLossCall() {
  Value returned = loss.getBodyBlock().getTerminator()->getOperand(0);
  lossCall = returned.getDefiningOp<CallOp>();
  if (!lossCall || lossCall.getNumResults() != 1)
    return loss.emitOpError("expects to return the loss, the one result of a "
                            "call, and nothing else");
  return success();
}

/// Whether `op` is a block that conversionName names.
static bool isConversion(Operation &op) {
  auto block = dyn_cast<BlockOp>(op);
  auto convert = block ? dyn_cast<ConvertOp>(block.getBody().front().front())
                       : ConvertOp();
  if (!convert || block.getNumArguments() != 1 ||
      block.getBody().front().getTerminator()->getOperands() !=
          convert->getResults())
    return false;
  auto from = cast<RankedTensorType>(convert.getX().getType());
  Type element = getElementTypeOrSelf(convert.getType());
  return block.getName() == conversionName(from, element);
}

/// Symbols that the derivation defines must not be there already.
LogicalResult EntryDerivation::checkNames() {
  auto expectFree = [&](Operation *from, const Twine &name) -> LogicalResult {
    Operation *taken = symbols.lookup(name.str());
    if (!taken)
      return success();
    InFlightDiagnostic diag =
        taken->emitOpError("has the name '@")
        << name << "', which the derivation defines; give it another name";
    diag.attachNote(from->getLoc()) << "derived from here";
    return diag;
  };
  if (failed(expectFree(loss, gradientName())))
    return failure();
  for (Operation &op : *loss->getBlock())
    if (auto symbol = dyn_cast<SymbolOpInterface>(op);
        symbol && symbol.getName().starts_with("convert.") && !isConversion(op))
      return expectFree(loss, symbol.getName());
  for (CallOp call : loss.getBody().getOps<CallOp>()) {
    if (failed(expectFree(blockOf(call), call.getBlock() + ".gradient")))
      return failure();
    for (const std::string &variant : plan.variants())
      for (const char *suffix : {".forward", ".backward"})
        if (failed(expectFree(blockOf(call), call.getBlock() + suffix +
                                                 nameOf(variant, call))))
          return failure();
  }
  return success();
}

LogicalResult EntryDerivation::deriveBlocks() {
  if (!activity.isActive(lossCall))
    return loss.emitOpError("expects the loss to depend on a trainable "
                            "parameter");
  splitCalls = activity.callsBefore(lossCall);
  const Layers layers = Layers::of(loss);
  auto isLayer = [&](CallOp call) { return layers.has(call.getPrefix()); };
  const auto numLayers = llvm::count_if(splitCalls, isLayer);
  if (!plan.isFor(numLayers))
    return loss.emitOpError("has ")
           << numLayers << " layers to derive, but residuals is '" << plan.str()
           << "'";
  unsigned next = 0;
  for (CallOp call : splitCalls) {
    ResidualPolicy policy = plan.policyOf(isLayer(call) ? next++ : 0);
    std::string variant = nameOf(plan.variantOf(policy), call);
    BlockOp block = blockOf(call);
    auto [known, isNew] =
        derivations.try_emplace((call.getBlock() + "/" + variant).str());
    split[call] = &known->second;
    if (!isNew)
      continue;
    auto derived = deriveSplit(block, activity.inputsOf(call), policy, variant);
    if (failed(derived))
      return failure();
    known->second = *derived;
  }
  auto derived = deriveFused(blockOf(lossCall), activity.inputsOf(lossCall));
  if (failed(derived))
    return failure();
  fused = *derived;
  return success();
}

LogicalResult EntryDerivation::setCotangent(Value value, Value cotangent,
                                            CallOp user) {
  if (!activity.isActive(value))
    return success(); // the first layer's input: nothing before it trains
  if (cotangents.try_emplace(value, cotangent).second)
    return success();
  InFlightDiagnostic diag =
      user.emitOpError("reads a value that another call reads too; sum the two "
                       "paths inside one block");
  diag.attachNote(value.getLoc()) << "the value is defined here";
  return diag;
}

/// One call of `block` for the layer of `like`.
static CallOp createCall(OpBuilder &builder, CallOp like, BlockOp block,
                         ArrayRef<Value> operands) {
  return CallOp::create(builder, like.getLoc(), block.getResultTypes(),
                        block.getName(), like.getPrefix(), operands);
}

LogicalResult EntryDerivation::chooseRecomputed() {
  // Values that backwards read, in the order in which they are computed.
  llvm::SetVector<Value> inputs;
  for (CallOp call : splitCalls)
    for (unsigned index : split[call]->arguments)
      inputs.insert(call.getOperand(index));
  SmallVector<Value> candidates;
  for (CallOp call : loss.getBody().getOps<CallOp>())
    for (Value result : call.getResults())
      if (inputs.contains(result))
        candidates.push_back(result);
  auto kept = keptInputs(candidates.size(), recomputedInputs);
  if (!kept)
    return loss.emitOpError("has ")
           << candidates.size()
           << " block inputs that the backward reads: " << recomputedInputs
           << " of them cannot be computed again in the "
           << "memory of the others";
  // The first of those that are kept: they are for the longest time.
  int64_t toRound = roundedInputs;
  for (auto [input, isKept] : llvm::zip(candidates, *kept))
    if (isKept && toRound-- > 0)
      rounded[input] = Value();
  if (toRound > 0)
    return loss.emitOpError("keeps ")
           << candidates.size() - recomputedInputs
           << " block inputs for the backward, fewer than the " << roundedInputs
           << " to keep in bfloat16";
  if (recomputedInputs == 0)
    return success();
  // Also values between two inputs: they are in no memory to begin from.
  for (CallOp call : loss.getBody().getOps<CallOp>())
    recomputed.insert_range(call.getResults());
  for (auto [input, isKept] : llvm::zip(candidates, *kept))
    if (isKept)
      recomputed.erase(input);
  return success();
}

Value EntryDerivation::createConversion(CallOp like, Value value, Type element,
                                        OpBuilder &builder) {
  auto from = cast<RankedTensorType>(value.getType());
  BlockOp block = getConversion(symbols, from, element, loss);
  return createCall(builder, like, block, value).getResult(0);
}

void EntryDerivation::keepRounded(CallOp call, OpBuilder &builder) {
  for (Value result : call.getResults())
    if (auto kept = rounded.find(result); kept != rounded.end())
      kept->second = createConversion(call, mapping.lookup(result),
                                      builder.getBF16Type(), builder);
}

Value EntryDerivation::restore(Value value, OpBuilder &builder) {
  if (auto kept = rounded.find(value); kept != rounded.end()) {
    Type element = cast<RankedTensorType>(value.getType()).getElementType();
    mapping.map(value, createConversion(value.getDefiningOp<CallOp>(),
                                        kept->second, element, builder));
    rounded.erase(kept);
  }
  if (!recomputed.contains(value))
    return mapping.lookup(value);
  auto call = value.getDefiningOp<CallOp>();
  SmallVector<Value> operands;
  for (Value operand : call.getOperands())
    operands.push_back(restore(operand, builder));
  CallOp again = createCall(builder, call, blockOf(call), operands);
  for (auto [from, to] : llvm::zip(call.getResults(), again.getResults())) {
    mapping.map(from, to);
    recomputed.erase(from);
  }
  return mapping.lookup(value);
}

/// The operands of `call` as `mapping` has them.
static SmallVector<Value> mappedOperands(CallOp call,
                                         const IRMapping &mapping) {
  return llvm::map_to_vector(call.getOperands(), [&](Value operand) {
    return mapping.lookup(operand);
  });
}

LogicalResult EntryDerivation::writeLossCall(OpBuilder &builder, Value scale) {
  SmallVector<Value> operands = mappedOperands(lossCall, mapping);
  operands.push_back(scale);
  CallOp gradient = createCall(builder, lossCall, fused.gradient, operands);
  mapping.map(lossCall.getResult(0), gradient.getResult(0));
  for (auto [position, index] : llvm::enumerate(fused.activeArguments))
    if (failed(setCotangent(lossCall.getOperand(index),
                            gradient.getResult(1 + position), lossCall)))
      return failure();
  return success();
}

LogicalResult EntryDerivation::writeForward(OpBuilder &builder, Value scale) {
  for (Operation &op : loss.getBodyBlock().without_terminator()) {
    auto call = dyn_cast<CallOp>(op);
    if (call && call == lossCall) {
      if (failed(writeLossCall(builder, scale)))
        return failure();
      continue;
    }
    if (call && activity.isActive(call)) {
      CallOp forward = createCall(builder, call, split[call]->forward,
                                  mappedOperands(call, mapping));
      for (auto [from, to] :
           llvm::zip_first(call.getResults(), forward.getResults()))
        mapping.map(from, to);
      forwardCalls[call] = forward;
    } else {
      builder.clone(op, mapping);
    }
    if (call)
      keepRounded(call, builder);
  }
  return success();
}

LogicalResult EntryDerivation::writeBackward(OpBuilder &builder) {
  for (CallOp call : llvm::reverse(splitCalls)) {
    const SplitDerivation &derived = *split[call];
    SmallVector<Value> operands;
    for (unsigned index : derived.arguments)
      operands.push_back(restore(call.getOperand(index), builder));
    llvm::append_range(
        operands, forwardCalls[call].getResults().take_back(derived.numKept));
    for (unsigned index : derived.activeResults) {
      Value cotangent = cotangents.lookup(call.getResult(index));
      if (!cotangent)
        return call.emitOpError("has a trainable result #")
               << index << " that the loss does not depend on";
      operands.push_back(cotangent);
    }
    CallOp backward = createCall(builder, call, derived.backward, operands);
    for (auto [position, index] : llvm::enumerate(derived.activeArguments))
      if (failed(setCotangent(call.getOperand(index),
                              backward.getResult(position), call)))
        return failure();
  }
  return success();
}

LogicalResult EntryDerivation::writeGradientEntry() {
  OpBuilder builder(loss.getContext());
  builder.setInsertionPointAfter(loss);
  SmallVector<Type> inputs(loss.getArgumentTypes());
  inputs.push_back(scalarType(loss.getContext()));
  auto entry = EntryOp::create(builder, loss.getLoc(), gradientName(),
                               Phase::Gradient, inputs, loss.getResultTypes());
  entry.setPartAttr(loss.getPartAttr());
  mlir::Block &body = entry.getBodyBlock();
  mapping.map(loss.getBodyBlock().getArguments(),
              body.getArguments().drop_back());
  builder.setInsertionPointToEnd(&body);
  if (failed(writeForward(builder, body.getArguments().back())) ||
      failed(writeBackward(builder)))
    return failure();
  ReturnOp::create(builder, loss.getLoc(),
                   mapping.lookup(lossCall.getResult(0)));
  return success();
}

} // namespace hone
