//===- PerturbParameters.cpp - The loss beside where parameters are -------===//

#include "passes/derive/PerturbParameters.h"

#include "passes/derive/ScheduleBuilder.h"

using namespace mlir;

namespace hone {

static std::string perturbedName(StringRef name) {
  return (name + ".perturbed").str();
}

/// Appends the key and the scale to the arguments of a block or an entry.
template <typename OpTy> static std::pair<Value, Value> addDirection(OpTy op) {
  Builder builder(op.getContext());
  mlir::Block &body = op.getBody().front();
  Value key = body.addArgument(RankedTensorType::get(4, builder.getI32Type()),
                               op.getLoc());
  Value scale = body.addArgument(
      RankedTensorType::get({}, builder.getF64Type()), op.getLoc());
  op.setFunctionType(builder.getFunctionType(
      body.getArgumentTypes(), op.getFunctionType().getResults()));
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

static BlockOp createPerturbedCopy(BlockOp block) {
  OpBuilder builder(block);
  builder.setInsertionPointAfter(block);
  auto copy = cast<BlockOp>(builder.clone(*block));
  copy.setSymName(perturbedName(block.getSymName()));
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

FailureOr<EntryOp> createPerturbedCopy(EntryOp entry) {
  auto module = entry->getParentOfType<ModuleOp>();
  SymbolTable symbols(module);
  llvm::MapVector<StringRef, BlockOp> moved;
  for (CallOp call : entry.getBodyBlock().getOps<CallOp>()) {
    auto block = symbols.lookup<BlockOp>(call.getBlock());
    if (!trainableParameters(block).empty())
      moved.insert({block.getSymName(), block});
  }
  if (moved.empty())
    return entry.emitOpError("has no trainable parameter to move");
  SmallVector<std::string> names = {perturbedName(entry.getSymName())};
  for (auto &[name, block] : moved)
    names.push_back(perturbedName(name));
  if (failed(checkNamesAreFree(module, names)))
    return failure();
  for (auto &[name, block] : moved)
    block = createPerturbedCopy(block);

  OpBuilder builder(entry);
  builder.setInsertionPointAfter(entry);
  auto copy = cast<EntryOp>(builder.clone(*entry));
  copy.setSymName(perturbedName(entry.getSymName()));
  auto [key, scale] = addDirection(copy);
  for (CallOp call : copy.getBodyBlock().getOps<CallOp>()) {
    auto found = moved.find(call.getBlock());
    if (found == moved.end())
      continue;
    call.setBlock(found->second.getSymName());
    call.getValuesMutable().append({key, scale});
  }
  return copy;
}

} // namespace hone
