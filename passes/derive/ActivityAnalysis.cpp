//===- ActivityAnalysis.cpp - Which values carry a cotangent --------------===//

#include "passes/derive/ActivityAnalysis.h"

using namespace mlir;

namespace hone {

ActivityAnalysis::ActivityAnalysis(BlockOp block, const ActiveInputs &inputs)
    : terminator(block.getBody().front().getTerminator()) {
  for (unsigned index : inputs.arguments.set_bits())
    active.insert(block.getBody().getArgument(index));
  for (Operation &op : block.getBody().front()) {
    auto parameter = dyn_cast<ParameterOp>(op);
    bool isSource = inputs.parameters && parameter && parameter.getTrainable();
    if (isSource || activeOperands(&op).any())
      active.insert(op.result_begin(), op.result_end());
  }
}

llvm::BitVector ActivityAnalysis::activeOperands(Operation *op) const {
  llvm::BitVector bits(op->getNumOperands());
  if (op->hasTrait<Detached>())
    return bits;
  for (OpOperand &operand : op->getOpOperands())
    bits[operand.getOperandNumber()] = isActive(operand.get());
  return bits;
}

llvm::BitVector ActivityAnalysis::activeResults() const {
  return activeOperands(terminator);
}

EntryActivity::EntryActivity(EntryOp entry, LayerFilter trains) {
  SymbolTable symbols(entry->getParentOp());
  // A block that is active for one call is derived for all, which can make
  // results of earlier calls of that block active: repeat until nothing
  // changes. Two rounds are enough for chains of layers.
  size_t known;
  do {
    known = values.size() + calls.size();
    for (CallOp call : entry.getBody().getOps<CallOp>()) {
      auto block = symbols.lookup<BlockOp>(call.getBlock());
      Kind kind(block, hasLayer(trains, call.getPrefix()));
      kinds[call] = kind;
      ActiveInputs &active = inputs[kind];
      active.parameters = kind.getInt();
      active.arguments.resize(call.getNumOperands());
      for (auto [index, operand] : llvm::enumerate(call.getOperands()))
        if (values.contains(operand))
          active.arguments.set(index);
      llvm::BitVector results = ActivityAnalysis(block, active).activeResults();
      for (unsigned index : results.set_bits())
        values.insert(call.getResult(index));
      if (results.any())
        calls.insert(call);
    }
  } while (known != values.size() + calls.size());
}

SmallVector<CallOp> EntryActivity::callsBefore(CallOp loss) const {
  SmallVector<CallOp> layers;
  for (CallOp call :
       loss->getParentOfType<EntryOp>().getBody().getOps<CallOp>())
    if (isActive(call) && call != loss)
      layers.push_back(call);
  return layers;
}

} // namespace hone
