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

/// The call that computes the first result of `entry`.
static Operation *lossCallOf(EntryOp entry) {
  return entry.getBodyBlock().getTerminator()->getOperand(0).getDefiningOp();
}

static bool trains(BlockOp block) {
  return llvm::any_of(block.getBody().getOps<ParameterOp>(),
                      [](ParameterOp op) { return op.getTrainable(); });
}

/// The calls of `entry` for `layers` whose block `isKind`. Calls of no layer
/// are in every step.
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

int64_t countConstantLayers(EntryOp loss, LayerFilter layers) {
  SymbolTable symbols(loss->getParentOp());
  int64_t count = 0;
  bool isAbove = false;
  for (CallOp call : layersOf(loss, layers, [](BlockOp) { return true; })) {
    bool isTrained = trains(symbols.lookup<BlockOp>(call.getBlock()));
    isAbove |= isTrained;
    count += isAbove && !isTrained;
  }
  return count;
}

LayerCounts countLayers(EntryOp loss, const LayerParts &cut, StringRef part) {
  auto isOwn = [&](StringRef prefix) { return cut.has(part, prefix); };
  return {Layers::of(loss).count(),
          int64_t(selectableLayers(loss, isOwn).size()),
          trainsSource(loss, isOwn)};
}

namespace {

/// The blocks that stand in for backwards that do not run.
class Substitutes {
public:
  explicit Substitutes(Operation *module) : symbols(module) {}

  /// The block that gives the last operand of `call`, its cotangent, for its
  /// one result; null with a diagnostic if that has another type.
  BlockOp passThrough(CallOp call);
  /// The block of `call`, without gradients of parameters.
  BlockOp withoutSinks(CallOp call);

private:
  SymbolTable symbols;
  llvm::DenseMap<Type, BlockOp> passThroughs;
  llvm::StringMap<BlockOp> sinkless; ///< by the name of the block with sinks
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
  // Ops that only sinks need go with them: readers stand after their operands.
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

/// Whether the block of `call` ends gradients of parameters.
static bool hasSinks(CallOp call, const SymbolTable &symbols) {
  auto block = symbols.lookup<BlockOp>(call.getBlock());
  return !block.getBody().getOps<GradientOp>().empty();
}

/// Whether a call after `lowest`, a backward, has gradients.
static bool trainsAfter(CallOp lowest) {
  SymbolTable symbols(lowest->getParentOfType<ModuleOp>());
  for (Operation *op = lowest->getNextNode(); op; op = op->getNextNode())
    if (auto call = dyn_cast<CallOp>(op); call && hasSinks(call, symbols))
      return true;
  return false;
}

bool trainsSource(EntryOp loss, LayerFilter layers) {
  SymbolTable symbols(loss->getParentOp());
  const Layers numbered = Layers::of(loss);
  return llvm::any_of(loss.getBody().getOps<CallOp>(), [&](CallOp call) {
    return call != lossCallOf(loss) && !numbered.has(call.getPrefix()) &&
           hasLayer(layers, call.getPrefix()) &&
           trains(symbols.lookup<BlockOp>(call.getBlock()));
  });
}

bool trainsBelow(EntryOp gradient, LayerFilter layers) {
  SmallVector<CallOp> backwards = backwardsOf(gradient, layers);
  return !backwards.empty() && trainsAfter(backwards.front());
}

/// Backwards between those of two layers that may be selected: of layers where
/// nothing trains. Index: the next one below that may be.
static SmallVector<std::pair<CallOp, int64_t>>
constantLayers(ArrayRef<CallOp> backwards, LayerFilter layers) {
  SmallVector<std::pair<CallOp, int64_t>> found;
  // A cotangent is the last operand of the backward that it comes to.
  auto above = [](CallOp call) {
    return call.getValues().back().getDefiningOp<CallOp>();
  };
  for (size_t index = 0; index + 1 < backwards.size(); ++index)
    for (CallOp call = above(backwards[index]);
         call && call != backwards[index + 1]; call = above(call))
      if (hasLayer(layers, call.getPrefix()))
        found.push_back({call, int64_t(index)});
  return found;
}

SmallVector<LayerNumbers> selectedNumbers(EntryOp gradient, bool hasSlots,
                                          LayerFilter layers) {
  SmallVector<CallOp> backwards = backwardsOf(gradient, layers);
  SmallVector<LayerNumbers> numbers = {LayerNumbers::Mask};
  if (hasSlots)
    numbers.push_back(LayerNumbers::Slots);
  if (backwards.size() < 2 || trainsAfter(backwards.front()))
    return numbers;
  if (!constantLayers(backwards, layers).empty())
    numbers.push_back(LayerNumbers::Reaches);
  if (!hasSlots)
    numbers.push_back(LayerNumbers::Skips);
  return numbers;
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

/// `value`, computed again from values in `memory` or of other layers than
/// `layers`; new values are in `made`. Calls stand at the builder's place.
static Value restore(Value value, const IRMapping &memory, IRMapping &made,
                     LayerFilter layers, OpBuilder &builder) {
  for (const IRMapping *known : {&memory, (const IRMapping *)&made})
    if (Value there = known->lookupOrNull(value))
      return there;
  auto call = value.getDefiningOp<CallOp>();
  if (!call || !hasLayer(layers, call.getPrefix()))
    return value;
  IRMapping operands;
  for (Value operand : call.getValues())
    operands.map(operand, restore(operand, memory, made, layers, builder));
  Operation *again = builder.clone(*call, operands);
  made.map(call.getResults(), again->getResults());
  return made.lookup(value);
}

/// Computes inputs of `backwards`, those of `layers`, again where there would
/// be more than `most` in memory at a time. Results of other layers are kept.
static void runInputsAgain(ArrayRef<CallOp> backwards, int64_t most,
                           LayerFilter layers) {
  SmallVector<Value> inputs;
  for (CallOp call : backwards)
    inputs.push_back(call.getValues().front());
  auto held = heldInputs(inputs.size(), most);
  IRMapping memory;
  for (int64_t input : held.back())
    memory.map(inputs[input], inputs[input]);
  for (size_t index = backwards.size(); index-- > 0;) {
    CallOp call = backwards[index];
    OpBuilder builder(call);
    IRMapping made;
    call.setOperand(0, restore(inputs[index], memory, made, layers, builder));
    for (int64_t input : held[index])
      if (Value value = made.lookupOrNull(inputs[input]))
        memory.map(inputs[input], value);
  }
}

void selectAllLayers(EntryOp all, ArrayRef<LayerNumbers> numbers,
                     std::optional<int64_t> slots, LayerFilter layers) {
  SmallVector<CallOp> backwards = backwardsOf(all, layers);
  if (slots)
    runInputsAgain(backwards, *slots, layers);
  addNumbers(all, numbers.size(), backwards.size(),
             IntegerType::get(all.getContext(), 32));
}

namespace {

/// A pool for the inputs of selected layers.
struct InputPool {
  Value mask, order; ///< arguments of the entry
  int64_t slots;
  Value pool = {};

  /// Keeps the input that `backward` of layer `index` reads there. Fails with a
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

/// Makes `call` conditional on element `index` of `mask`.
static void setCondition(CallOp call, Value mask, int64_t index,
                         BlockOp otherwise) {
  call.getMaskMutable().assign(mask);
  call.setMaskIndex(index);
  if (otherwise)
    call.setOtherwise(otherwise.getName());
}

LogicalResult selectLayers(EntryOp gradient, ArrayRef<LayerNumbers> numbers,
                           std::optional<int64_t> slots, LayerFilter layers) {
  SmallVector<CallOp> backwards = backwardsOf(gradient, layers);
  if (backwards.empty())
    return gradient.emitOpError("has no layer that trains");
  auto constants = constantLayers(backwards, layers);
  SmallVector<Value> arguments =
      addNumbers(gradient, numbers.size(), backwards.size(),
                 IntegerType::get(gradient.getContext(), 32));
  auto argumentOf = [&](LayerNumbers wanted) {
    const auto *found = llvm::find(numbers, wanted);
    return found == numbers.end() ? Value()
                                  : arguments[found - numbers.begin()];
  };
  Value mask = argumentOf(LayerNumbers::Mask),
        reaches = argumentOf(LayerNumbers::Reaches),
        skips = argumentOf(LayerNumbers::Skips);
  InputPool inputs = {mask, argumentOf(LayerNumbers::Slots), slots.value_or(0)};
  Substitutes substitutes(gradient->getParentOp());
  if (reaches)
    for (auto [call, index] : constants) {
      BlockOp otherwise = substitutes.passThrough(call);
      if (!otherwise)
        return failure();
      setCondition(call, reaches, index, otherwise);
    }
  for (auto [index, backward] : llvm::enumerate(backwards)) {
    CallOp call = backward;
    if (slots && failed(inputs.keep(call, index)))
      return failure();
    if (call.getNumResults() == 0) {
      setCondition(call, mask, index, {});
      continue;
    }
    // Unread values are not computed.
    bool isExact = !slots && !call->use_empty();
    BlockOp passThrough =
        isExact && !skips ? BlockOp() : substitutes.passThrough(call);
    BlockOp frozen = isExact ? substitutes.withoutSinks(call) : BlockOp();
    if (isExact && skips) {
      // At most one of two calls runs; the other passes the cotangent on.
      OpBuilder builder(call);
      auto through = cast<CallOp>(builder.clone(*call));
      through.setBlock(passThrough.getName());
      setCondition(through, skips, index, frozen);
      call->setOperand(call.getValues().size() - 1, through.getResult(0));
      frozen = {};
    }
    BlockOp otherwise = frozen ? frozen : passThrough;
    if (!otherwise)
      return failure();
    setCondition(call, mask, index, otherwise);
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
    setCondition(call, backward.getMask(), *backward.getMaskIndex(), otherwise);
  }
  return success();
}

/// rest x + weight y, of two hidden states and two numbers.
static BlockOp createBlend(EntryOp before, Type type) {
  OpBuilder builder(before);
  Location loc = before.getLoc();
  Type number = scalarType(builder.getContext());
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
  Type number = scalarType(loss.getContext());
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
