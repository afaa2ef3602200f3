//===- ActivityAnalysis.cpp - Which values carry a cotangent --------------===//

#include "passes/derive/ActivityAnalysis.h"

using namespace mlir;

namespace hone {

ActivityAnalysis::ActivityAnalysis(BlockOp block,
                                   const llvm::BitVector &activeArguments)
    : terminator(block.getBody().front().getTerminator()) {
  for (unsigned index : activeArguments.set_bits())
    active.insert(block.getBody().getArgument(index));
  for (Operation &op : block.getBody().front()) {
    auto parameter = dyn_cast<ParameterOp>(op);
    bool isSource = parameter && parameter.getTrainable();
    if (isSource || activeOperands(&op).any())
      active.insert(op.result_begin(), op.result_end());
  }
}

llvm::BitVector ActivityAnalysis::activeOperands(Operation *op) const {
  llvm::BitVector bits(op->getNumOperands());
  for (OpOperand &operand : op->getOpOperands())
    bits[operand.getOperandNumber()] = isActive(operand.get());
  return bits;
}

llvm::BitVector ActivityAnalysis::activeResults() const {
  return activeOperands(terminator);
}

} // namespace hone
