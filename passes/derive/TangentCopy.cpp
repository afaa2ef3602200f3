//===- TangentCopy.cpp - The loss and its slope along a direction ---------===//
//
// Forward mode, op by op: a tangent stands after its op, whose operands and
// results are there to read. A tangent that is zero is absent, in blocks as
// between them.
//
//===----------------------------------------------------------------------===//

#include "passes/derive/TangentCopy.h"

#include "passes/derive/BlockDerivation.h"
#include "passes/derive/ScheduleBuilder.h"

#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace hone {

FailureOr<TangentBlock> TangentCopies::copyOf(BlockOp block,
                                              const llvm::BitVector &active,
                                              Moves moves) {
  std::vector<bool> key;
  for (unsigned i = 0; i < active.size(); ++i)
    key.push_back(active[i]);
  auto [known, isNew] =
      copies.try_emplace({block.getSymName().str(), std::move(key), moves});
  if (!isNew)
    return known->second;
  unsigned number = numbers[block.getSymName()]++;
  std::string name = (block.getSymName() + ".tangent").str();
  if (number > 0)
    name += std::to_string(number + 1);
  FailureOr<TangentBlock> made = makeCopy(block, active, moves, name);
  if (succeeded(made))
    known->second = *made;
  return made;
}

/// Clones `op`, and writes its tangent after it if an operand has one.
/// `tangents` are of the copy's values, as `values` maps them.
static LogicalResult writeWithTangent(OpBuilder &builder, Operation &op,
                                      IRMapping &values,
                                      llvm::DenseMap<Value, Value> &tangents) {
  SmallVector<Value> directions;
  for (Value operand : op.getOperands())
    directions.push_back(tangents.lookup(values.lookup(operand)));
  bool isActive = !op.hasTrait<Detached>() &&
                  llvm::any_of(directions, [](Value v) { return bool(v); });
  Operation *made = cloneWithAuxiliary(builder, &op, values, isActive);
  if (!isActive)
    return success();
  auto tangent = dyn_cast<TangentOpInterface>(made);
  if (!tangent)
    return op.emitOpError("has no derivative rule (TangentOpInterface), but "
                          "depends on trainable parameters");
  FailureOr<Value> built = tangent.buildTangent(builder, directions);
  if (failed(built))
    return failure();
  tangents[made->getResult(0)] = *built;
  return success();
}

/// Ends `copy` with the values that `original` returns, then their tangents.
/// Returns which of them have one.
static llvm::BitVector
returnWithTangents(BlockOp copy, ReturnOp original, const IRMapping &values,
                   const llvm::DenseMap<Value, Value> &tangents) {
  SmallVector<Value> returned, slopes;
  llvm::BitVector active;
  for (Value value : original.getOperands()) {
    returned.push_back(values.lookup(value));
    Value slope = tangents.lookup(returned.back());
    active.push_back(bool(slope));
    if (slope)
      slopes.push_back(slope);
  }
  llvm::append_range(returned, slopes);
  mlir::Block &body = copy.getBody().front();
  OpBuilder builder = OpBuilder::atBlockEnd(&body);
  ReturnOp::create(builder, copy.getLoc(), returned);
  copy.setFunctionType(builder.getFunctionType(
      body.getArgumentTypes(), ValueRange(returned).getTypes()));
  return active;
}

FailureOr<TangentBlock> TangentCopies::makeCopy(BlockOp block,
                                                const llvm::BitVector &active,
                                                Moves moves, StringRef name) {
  auto isMoved = [&](ParameterOp op) {
    return moves != Moves::No && op.getTrainable();
  };
  if (llvm::none_of(block.getBody().getOps<ParameterOp>(), isMoved) &&
      active.none())
    return TangentBlock();
  if (failed(
          checkNamesAreFree(block->getParentOfType<ModuleOp>(), {name.str()})))
    return failure();
  OpBuilder builder(block);
  builder.setInsertionPointAfter(block);
  auto copy =
      BlockOp::create(builder, block.getLoc(), name,
                      builder.getFunctionType(block.getArgumentTypes(), {}));
  mlir::Block &original = block.getBody().front(),
              &body = copy.getBody().front();
  IRMapping values;
  values.map(original.getArguments(), body.getArguments());
  llvm::DenseMap<Value, Value> tangents;
  for (unsigned index : active.set_bits()) {
    Value argument = body.getArgument(index);
    tangents[argument] = body.addArgument(argument.getType(), copy.getLoc());
  }
  MLIRContext *context = builder.getContext();
  Value key = body.addArgument(randomKeyType(context), copy.getLoc()), scale;
  if (moves == Moves::Scaled)
    scale = body.addArgument(scalarType(context), copy.getLoc());
  builder.setInsertionPointToEnd(&body);
  for (Operation &op : original.without_terminator()) {
    if (failed(writeWithTangent(builder, op, values, tangents)))
      return failure();
    if (auto parameter = dyn_cast<ParameterOp>(op);
        parameter && isMoved(parameter)) {
      Value moved = values.lookup(parameter.getResult());
      tangents[moved] = DirectionOp::create(builder, op.getLoc(),
                                            moved.getType(), moved, key, scale);
    }
  }
  return TangentBlock{
      copy, returnWithTangents(copy, cast<ReturnOp>(original.getTerminator()),
                               values, tangents)};
}

LogicalResult TangentCopies::writeCall(CallOp call, OpBuilder &builder,
                                       Value key, bool moved, Value scale,
                                       llvm::DenseMap<Value, Value> &tangents) {
  auto block =
      SymbolTable::lookupNearestSymbolFrom<BlockOp>(call, call.getBlockAttr());
  llvm::BitVector active(call.getValues().size());
  SmallVector<Value> arguments(call.getValues());
  for (auto [index, value] : llvm::enumerate(call.getValues()))
    if (Value tangent = tangents.lookup(value)) {
      active.set(index);
      arguments.push_back(tangent);
    }
  Moves moves = !moved ? Moves::No : scale ? Moves::Scaled : Moves::Whole;
  FailureOr<TangentBlock> copy = copyOf(block, active, moves);
  if (failed(copy))
    return failure();
  if (!copy->block)
    return success();
  arguments.push_back(key);
  if (moves == Moves::Scaled)
    arguments.push_back(scale);
  builder.setInsertionPoint(call);
  auto made = CallOp::create(
      builder, call.getLoc(), BlockOp(copy->block).getResultTypes(),
      BlockOp(copy->block).getSymName(), call.getPrefix(), arguments);
  unsigned count = call.getNumResults(), next = count;
  for (unsigned i = 0; i < count; ++i)
    if (copy->activeResults[i])
      tangents[made.getResult(i)] = made.getResult(next++);
  call.getResults().replaceAllUsesWith(made.getResults().take_front(count));
  call.erase();
  return success();
}

FailureOr<EntryOp> TangentCopies::create(EntryOp entry, StringRef name,
                                         LayerFilter moves,
                                         ArrayRef<StringRef> scaled) {
  if (failed(
          checkNamesAreFree(entry->getParentOfType<ModuleOp>(), {name.str()})))
    return failure();
  OpBuilder builder(entry);
  builder.setInsertionPointAfter(entry);
  auto copy = cast<EntryOp>(builder.clone(*entry));
  copy.setSymName(name);
  mlir::Block &body = copy.getBodyBlock();
  Value key =
      body.addArgument(randomKeyType(builder.getContext()), copy.getLoc());
  llvm::StringMap<Value> scales;
  if (!scaled.empty()) {
    auto type = RankedTensorType::get(scaled.size(), builder.getF64Type());
    Value numbers = body.addArgument(type, copy.getLoc());
    builder.setInsertionPointToStart(&body);
    for (auto [index, prefix] : llvm::enumerate(scaled))
      scales[prefix] =
          ElementOp::create(builder, copy.getLoc(),
                            scalarType(builder.getContext()), numbers, index);
  }
  llvm::DenseMap<Value, Value> tangents; // of the copy's values
  for (CallOp call : llvm::make_early_inc_range(body.getOps<CallOp>()))
    if (failed(writeCall(call, builder, key, hasLayer(moves, call.getPrefix()),
                         scales.lookup(call.getPrefix()), tangents)))
      return failure();
  Operation *end = body.getTerminator();
  Value slope = tangents.lookup(end->getOperand(0));
  if (!slope)
    return entry.emitOpError("has no trainable parameter to move");
  end->insertOperands(1, slope);
  copy.setFunctionType(
      builder.getFunctionType(body.getArgumentTypes(), end->getOperandTypes()));
  return copy;
}

} // namespace hone
