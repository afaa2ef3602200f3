//===- SelectLayers.cpp - Which layers have a backward in a step ----------===//

#include "passes/selection/SelectLayers.h"

#include "passes/derive/ActivityAnalysis.h"
#include "passes/derive/ResidualPolicy.h"
#include "passes/module/Layers.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

#include <algorithm>

using namespace mlir;

namespace hone {

//===----------------------------------------------------------------------===//
// The gradient
//===----------------------------------------------------------------------===//

/// The call that computes what `entry` returns first.
static Operation *lossCallOf(EntryOp entry) {
  return entry.getBodyBlock().getTerminator()->getOperand(0).getDefiningOp();
}

static bool trains(BlockOp block) {
  return llvm::any_of(block.getBody().getOps<ParameterOp>(),
                      [](ParameterOp op) { return op.getTrainable(); });
}

/// The calls of `entry` for `layers` whose block `isKind`. What is no layer is
/// in every step.
static SmallVector<CallOp> layersOf(EntryOp entry, LayerFilter layers,
                                    function_ref<bool(BlockOp)> isKind) {
  SymbolTable symbols(entry->getParentOp());
  Operation *loss = lossCallOf(entry);
  const Layers numbered = Layers::of(entry);
  SmallVector<CallOp> calls;
  for (CallOp call : entry.getBody().getOps<CallOp>())
    if (call != loss && numbered.has(call.getPrefix()) &&
        hasLayer(layers, call.getPrefix()) &&
        isKind(symbols.lookup<BlockOp>(call.getBlock())))
      calls.push_back(call);
  return calls;
}

SmallVector<StringRef> selectableLayers(EntryOp loss, LayerFilter layers) {
  SmallVector<StringRef> prefixes;
  for (CallOp call : layersOf(loss, layers, trains))
    prefixes.push_back(call.getPrefix());
  return prefixes;
}

namespace {

/// The blocks that stand in for backwards that do not run.
class Substitutes {
public:
  explicit Substitutes(Operation *module) : symbols(module) {}

  /// The block that gives the last operand of `call`, its cotangent, for its
  /// one result; null with a diagnostic if that has another type.
  BlockOp passThrough(CallOp call);
  /// What `call` runs, without gradients of parameters.
  BlockOp withoutSinks(CallOp call);

private:
  SymbolTable symbols;
  llvm::DenseMap<Type, BlockOp> passThroughs;
  llvm::StringMap<BlockOp> sinkless; ///< by the name of what has the sinks
};

} // namespace

BlockOp Substitutes::passThrough(CallOp call) {
  OpBuilder builder(call->getParentOp());
  FunctionType type = builder.getFunctionType(call.getValues().getTypes(),
                                              call.getResultTypes());
  BlockOp &block = passThroughs[type];
  if (block)
    return block;
  if (type.getResults() != type.getInputs().take_back(1)) {
    call.emitOpError("expects one result of the type of its cotangent");
    return {};
  }
  block = BlockOp::create(builder, call.getLoc(), "pass_through", type);
  mlir::Block &body = block.getBody().front();
  builder.setInsertionPointToEnd(&body);
  Value same = ConvertOp::create(builder, call.getLoc(), type.getResult(0),
                                 body.getArguments().back());
  ReturnOp::create(builder, call.getLoc(), same);
  symbols.insert(block);
  return block;
}

BlockOp Substitutes::withoutSinks(CallOp call) {
  BlockOp &block = sinkless[call.getBlock()];
  if (block)
    return block;
  auto whole = symbols.lookup<BlockOp>(call.getBlock());
  block = whole.clone();
  block.setSymName((whole.getSymName() + ".frozen").str());
  // What only sinks need goes with them: readers stand behind what they read.
  for (Operation &op :
       llvm::make_early_inc_range(llvm::reverse(block.getBody().front())))
    if (isa<GradientOp>(op) || isOpTriviallyDead(&op))
      op.erase();
  symbols.insert(block, std::next(whole->getIterator()));
  return block;
}

/// The first op of `value`'s body that reads it.
static Operation *firstReader(Value value) {
  return *llvm::min_element(value.getUsers(), [](Operation *a, Operation *b) {
    return a->isBeforeInBlock(b);
  });
}

/// The backwards of `layers` in `gradient`, in the order of the forwards.
static SmallVector<CallOp> backwardsOf(EntryOp gradient, LayerFilter layers) {
  SmallVector<CallOp> calls = layersOf(gradient, layers, [](BlockOp block) {
    return !block.getBody().getOps<GradientOp>().empty();
  });
  std::reverse(calls.begin(), calls.end());
  return calls;
}

/// Adds `count` arguments, each with a `type` for each of `layers` layers.
static SmallVector<Value> addNumbers(EntryOp entry, int64_t count,
                                     int64_t layers, Type type) {
  Builder builder(entry.getContext());
  mlir::Block &body = entry.getBodyBlock();
  auto numbers = RankedTensorType::get(layers, type);
  SmallVector<Value> arguments;
  for (int64_t i = 0; i < count; ++i)
    arguments.push_back(body.addArgument(numbers, entry.getLoc()));
  entry.setFunctionType(
      builder.getFunctionType(body.getArgumentTypes(), entry.getResultTypes()));
  return arguments;
}

namespace {

/// Values of an entry that are computed again where they are needed late.
class Restorer {
public:
  explicit Restorer(llvm::DenseSet<Value> kept) : kept(std::move(kept)) {}

  /// `value`, from what is kept; calls stand at the builder's place.
  Value restore(Value value, OpBuilder &builder) {
    auto call = value.getDefiningOp<CallOp>();
    if (!call || kept.contains(value))
      return value;
    if (Value known = restored.lookupOrNull(value))
      return known;
    IRMapping operands;
    for (Value operand : call.getValues())
      operands.map(operand, restore(operand, builder));
    Operation *again = builder.clone(*call, operands);
    restored.map(call.getResults(), again->getResults());
    return restored.lookup(value);
  }

private:
  llvm::DenseSet<Value> kept;
  IRMapping restored;
};

} // namespace

/// Computes inputs of `backwards`, those of `layers`, again but for `least` of
/// them, or as few more as that takes. What comes from other layers is kept.
static void runInputsAgain(ArrayRef<CallOp> backwards, int64_t least,
                           LayerFilter layers) {
  int64_t count = backwards.size();
  int64_t again = std::max<int64_t>(count - least, 0);
  while (again > 0 && !keptInputs(count, again))
    --again;
  llvm::DenseSet<Value> kept;
  for (auto [call, isKept] :
       llvm::zip_equal(backwards, *keptInputs(count, again)))
    if (isKept)
      kept.insert(call->getOperand(0));
  for (CallOp call : backwards) {
    Value input = call.getValues().front();
    auto maker = input.getDefiningOp<CallOp>();
    if (maker && !hasLayer(layers, maker.getPrefix()))
      kept.insert(input);
  }
  Restorer restorer(std::move(kept));
  for (CallOp call : llvm::reverse(backwards)) {
    OpBuilder builder(call);
    call.setOperand(0, restorer.restore(call.getValues().front(), builder));
  }
}

void selectAllLayers(EntryOp all, std::optional<int64_t> slots,
                     LayerFilter layers) {
  SmallVector<CallOp> backwards = backwardsOf(all, layers);
  if (slots)
    runInputsAgain(backwards, *slots, layers);
  addNumbers(all, slots ? 2 : 1, backwards.size(),
             IntegerType::get(all.getContext(), 32));
}

namespace {

/// A pool for the inputs of selected layers.
struct InputPool {
  Value mask, order; ///< arguments of the entry
  int64_t slots;
  Value pool = {};

  /// Keeps what `backward` of layer `index` reads there. Fails with a
  /// diagnostic if it reads something else.
  LogicalResult keep(CallOp backward, int64_t index);
};

} // namespace

LogicalResult InputPool::keep(CallOp backward, int64_t index) {
  Location loc = backward.getLoc();
  if (backward.getValues().size() != 2)
    return backward.emitOpError(
        "expects an input and a cotangent: layers that "
        "are selected keep nothing but their one input");
  Value input = backward.getValues().front();
  OpBuilder builder(firstReader(input));
  if (!pool) {
    auto type = cast<RankedTensorType>(input.getType());
    SmallVector<int64_t> shape = {slots};
    llvm::append_range(shape, type.getShape());
    pool = PoolOp::create(builder, loc,
                          RankedTensorType::get(shape, type.getElementType()));
  }
  if (PoolOp::slotType(pool.getType()) != input.getType())
    return backward.emitOpError("expects an input of the type ")
           << PoolOp::slotType(pool.getType())
           << ", as the first layer has, but got " << input.getType();
  KeepOp::create(builder, loc, input, pool, order, index, mask,
                 builder.getI64IntegerAttr(index));
  builder.setInsertionPoint(backward);
  backward.setOperand(
      0, KeptOp::create(builder, loc, input.getType(), pool, order, index));
  return success();
}

LogicalResult selectLayers(EntryOp gradient, std::optional<int64_t> slots,
                           LayerFilter layers) {
  SmallVector<CallOp> backwards = backwardsOf(gradient, layers);
  if (backwards.empty())
    return gradient.emitOpError("has no layer that trains");
  SmallVector<Value> numbers =
      addNumbers(gradient, slots ? 2 : 1, backwards.size(),
                 IntegerType::get(gradient.getContext(), 32));
  Value mask = numbers.front();
  InputPool inputs = {mask, numbers.back(), slots.value_or(0)};
  Substitutes substitutes(gradient->getParentOp());
  for (auto [index, call] : llvm::enumerate(backwards)) {
    if (slots && failed(inputs.keep(call, index)))
      return failure();
    call.getMaskMutable().assign(mask);
    call.setMaskIndex(index);
    if (call.getNumResults() == 0)
      continue;
    // Nothing is computed that nobody reads.
    BlockOp otherwise = slots || call->use_empty()
                            ? substitutes.passThrough(call)
                            : substitutes.withoutSinks(call);
    if (!otherwise)
      return failure();
    call.setOtherwise(otherwise.getName());
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Stochastic depth
//===----------------------------------------------------------------------===//

LogicalResult skipForwards(EntryOp gradient, LayerFilter layers) {
  Substitutes substitutes(gradient->getParentOp());
  SmallVector<CallOp> forwards = layersOf(gradient, layers, [](BlockOp block) {
    return trains(block) && block.getBody().getOps<GradientOp>().empty();
  });
  for (CallOp backward : backwardsOf(gradient, layers)) {
    auto *forward = llvm::find_if(forwards, [&](CallOp call) {
      return call.getPrefix() == backward.getPrefix();
    });
    if (forward == forwards.end() || !backward.getMask())
      return backward.emitOpError("expects a forward of its layer that the "
                                  "same mask can skip");
    CallOp call = *forward;
    BlockOp otherwise = substitutes.passThrough(call);
    if (!otherwise)
      return failure();
    call.getMaskMutable().assign(backward.getMask());
    call.setMaskIndex(backward.getMaskIndex());
    call.setOtherwise(otherwise.getName());
  }
  return success();
}

/// rest x + weight y, of two hidden states and two numbers.
static BlockOp createBlend(EntryOp before, Type type) {
  OpBuilder builder(before);
  Location loc = before.getLoc();
  auto number = RankedTensorType::get({}, builder.getF64Type());
  auto block = BlockOp::create(
      builder, loc, "blend",
      builder.getFunctionType({type, type, number, number}, type));
  mlir::Block &body = block.getBody().front();
  builder.setInsertionPointToEnd(&body);
  auto scaled = [&](unsigned state) -> Value {
    return ScaleOp::create(builder, loc, type, body.getArgument(state),
                           body.getArgument(2 + state));
  };
  Value sum = AddOp::create(builder, loc, scaled(0), scaled(1));
  ReturnOp::create(builder, loc, sum);
  return block;
}

void scaleLayers(EntryOp loss, LayerFilter layers) {
  SmallVector<CallOp> calls = layersOf(loss, layers, trains);
  if (calls.empty())
    return;
  Builder types(loss.getContext());
  auto number = RankedTensorType::get({}, types.getF64Type());
  SmallVector<Value> weights =
      addNumbers(loss, 2, calls.size(), types.getF64Type());
  SymbolTable symbols(loss->getParentOp());
  BlockOp blend = createBlend(loss, calls.front().getResult(0).getType());
  symbols.insert(blend);
  for (auto [index, call] : llvm::enumerate(calls)) {
    Value input = call.getValues().front(), output = call.getResult(0);
    OpBuilder builder(call->getContext());
    builder.setInsertionPointAfter(call);
    SmallVector<Value> operands = {input, output};
    for (Value numbers : weights)
      operands.push_back(
          ElementOp::create(builder, call.getLoc(), number, numbers, index));
    auto scaled = CallOp::create(builder, call.getLoc(), output.getType(),
                                 blend.getName(), call.getPrefix(), operands);
    output.replaceAllUsesExcept(scaled.getResult(0), scaled);
  }
}

} // namespace hone
