//===- SelectLayers.cpp - test-select-layers ------------------------------===//
//
// What a method that trains some of the layers in a step does to a derived
// gradient. Two arguments join the entry: `mask`, which layers train, and
// `slots`, the order of each within the selection. A layer's input is kept in a
// pool only if it trains; else its cotangent goes through unchanged.
//
//===----------------------------------------------------------------------===//

#include "test/lib/TestPasses.h"

#include "dialects/Hone/HoneOps.h"

using namespace mlir;
using namespace hone;

namespace {

struct SelectLayers : PassWrapper<SelectLayers, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(SelectLayers)

  SelectLayers() = default;
  SelectLayers(const SelectLayers &other) : PassWrapper(other) {}

  StringRef getArgument() const override { return "test-select-layers"; }
  StringRef getDescription() const override {
    return "make the backward of each layer conditional, and keep inputs of "
           "selected layers in a pool";
  }

  void runOnOperation() override {
    for (EntryOp entry : getOperation().getOps<EntryOp>())
      if (entry.getPhase() == Phase::Gradient && failed(select(entry)))
        return signalPassFailure();
  }

  Option<int64_t> slots{
      *this, "slots", llvm::cl::init(0),
      llvm::cl::desc("slots of the pool; 0: one for each layer")};

private:
  LogicalResult select(EntryOp entry);
  /// The block that gives the last operand of `call`, its cotangent, for its
  /// one result; null with a diagnostic if that has another type.
  BlockOp passThrough(CallOp call);

  llvm::DenseMap<Type, BlockOp> passThroughs;
};

} // namespace

/// The backward calls of layers, by the order of their forwards.
static SmallVector<CallOp> backwardCalls(EntryOp entry) {
  SymbolTable symbols(entry->getParentOp());
  Operation *loss =
      entry.getBodyBlock().getTerminator()->getOperand(0).getDefiningOp();
  SmallVector<CallOp> calls;
  for (CallOp call : entry.getBody().getOps<CallOp>()) {
    auto block = symbols.lookup<BlockOp>(call.getBlock());
    if (call != loss && !block.getBody().getOps<GradientOp>().empty())
      calls.insert(calls.begin(), call);
  }
  return calls;
}

BlockOp SelectLayers::passThrough(CallOp call) {
  auto type = FunctionType::get(&getContext(), call.getValues().getTypes(),
                                call.getResultTypes());
  BlockOp &block = passThroughs[type];
  if (block)
    return block;
  if (type.getResults() != type.getInputs().take_back(1)) {
    call.emitOpError("expects one result of the type of its cotangent");
    return {};
  }
  OpBuilder builder(call->getParentOp());
  block = BlockOp::create(builder, call.getLoc(), "pass_through", type);
  mlir::Block &body = block.getBody().front();
  builder.setInsertionPointToEnd(&body);
  Value same = ConvertOp::create(builder, call.getLoc(), type.getResult(0),
                                 body.getArguments().back());
  ReturnOp::create(builder, call.getLoc(), same);
  SymbolTable(getOperation()).insert(block);
  return block;
}

/// The first op of `value`'s body that reads it.
static Operation *firstReader(Value value) {
  return *llvm::min_element(value.getUsers(), [](Operation *a, Operation *b) {
    return a->isBeforeInBlock(b);
  });
}

LogicalResult SelectLayers::select(EntryOp entry) {
  SmallVector<CallOp> layers = backwardCalls(entry);
  if (layers.empty())
    return entry.emitOpError("has no layer that trains");
  auto count = static_cast<int64_t>(layers.size());
  OpBuilder builder(entry);
  mlir::Block &body = entry.getBodyBlock();
  auto numbers = RankedTensorType::get(count, builder.getI32Type());
  Value mask = body.addArgument(numbers, entry.getLoc());
  Value order = body.addArgument(numbers, entry.getLoc());
  entry.setFunctionType(
      builder.getFunctionType(body.getArgumentTypes(), entry.getResultTypes()));

  Value pool;
  for (auto [index, call] : llvm::enumerate(layers)) {
    Location loc = call.getLoc();
    if (call.getValues().size() < 2)
      return call.emitOpError("expects an input and a cotangent");
    Value input = call.getValues().front();
    builder.setInsertionPoint(firstReader(input));
    if (!pool) {
      auto type = cast<RankedTensorType>(input.getType());
      SmallVector<int64_t> shape = {slots ? int64_t(slots) : count};
      llvm::append_range(shape, type.getShape());
      pool = PoolOp::create(
          builder, loc, RankedTensorType::get(shape, type.getElementType()));
    }
    if (PoolOp::slotType(pool.getType()) != input.getType())
      return call.emitOpError("expects an input of the type ")
             << PoolOp::slotType(pool.getType())
             << ", as the first layer has, but got " << input.getType();
    KeepOp::create(builder, loc, input, pool, order, index, mask,
                   builder.getI64IntegerAttr(index));
    builder.setInsertionPoint(call);
    Value kept =
        KeptOp::create(builder, loc, input.getType(), pool, order, index);
    call.setOperand(0, kept);
    call.getMaskMutable().assign(mask);
    call.setMaskIndex(index);
    if (call.getNumResults() == 0)
      continue;
    BlockOp otherwise = passThrough(call);
    if (!otherwise)
      return failure();
    call.setOtherwise(otherwise.getName());
  }
  return success();
}

std::unique_ptr<Pass> hone::createSelectLayers(int64_t slots) {
  auto pass = std::make_unique<SelectLayers>();
  pass->slots = slots;
  return pass;
}

void hone::registerTestPasses() { PassRegistration<SelectLayers>(); }
