//===- PerturbParameters.cpp - The loss beside where parameters are -------===//

#include "passes/derive/PerturbParameters.h"

#include "passes/derive/ScheduleBuilder.h"

using namespace mlir;

namespace hone {

/// Appends the key and the scale to the arguments of a block or an entry.
template <typename OpTy> static std::pair<Value, Value> addDirection(OpTy op) {
  MLIRContext *context = op.getContext();
  mlir::Block &body = op.getBody().front();
  Value key = body.addArgument(randomKeyType(context), op.getLoc());
  Value scale = body.addArgument(scalarType(context), op.getLoc());
  op.setFunctionType(FunctionType::get(context, body.getArgumentTypes(),
                                       op.getFunctionType().getResults()));
  return {key, scale};
}

static SmallVector<ParameterOp> trainableParameters(BlockOp block) {
  SmallVector<ParameterOp> found;
  block.walk([&](ParameterOp op) {
    if (op.getTrainable())
      found.push_back(op);
  });
  return found;
}

static BlockOp createPerturbedCopy(BlockOp block, StringRef name) {
  OpBuilder builder(block);
  builder.setInsertionPointAfter(block);
  auto copy = cast<BlockOp>(builder.clone(*block));
  copy.setSymName(name);
  auto [key, scale] = addDirection(copy);
  for (ParameterOp parameter : trainableParameters(copy)) {
    builder.setInsertionPointAfter(parameter);
    auto moved =
        PerturbedOp::create(builder, parameter.getLoc(), parameter.getType(),
                            parameter.getResult(), key, scale);
    parameter.getResult().replaceAllUsesExcept(moved.getResult(), moved);
  }
  return copy;
}

FailureOr<EntryOp> PerturbedCopies::create(EntryOp entry, StringRef name,
                                           LayerFilter moves) {
  auto module = entry->getParentOfType<ModuleOp>();
  if (failed(checkNamesAreFree(module, {name.str()})))
    return failure();
  SymbolTable symbols(module);
  OpBuilder builder(entry);
  builder.setInsertionPointAfter(entry);
  auto copy = cast<EntryOp>(builder.clone(*entry));
  copy.setSymName(name);
  auto [key, scale] = addDirection(copy);
  bool moved = false;
  for (CallOp call : copy.getBodyBlock().getOps<CallOp>()) {
    auto block = symbols.lookup<BlockOp>(call.getBlock());
    if (!hasLayer(moves, call.getPrefix()) ||
        trainableParameters(block).empty())
      continue;
    BlockOp &ofBlock = copies[block.getSymName()];
    if (!ofBlock) {
      std::string copyName = (block.getSymName() + ".perturbed").str();
      if (failed(checkNamesAreFree(module, {copyName})))
        return failure();
      ofBlock = createPerturbedCopy(block, copyName);
    }
    call.setBlock(ofBlock.getSymName());
    call.getValuesMutable().append({key, scale});
    moved = true;
  }
  if (!moved)
    return entry.emitOpError("has no trainable parameter to move");
  return copy;
}

} // namespace hone
