//===- DerivativeRules.cpp - The words of adjoints and tangents -----------===//

#include "dialects/Hone/DerivativeRules.h"

using namespace mlir;

namespace hone {

bool ResidualAlternative::readsAuxiliary() const {
  return llvm::any_of(reads, [](const Residual &residual) {
    return residual.kind == Residual::Kind::Auxiliary;
  });
}

Value readOperand(const AdjointRequest &request, unsigned index) {
  return request.read(Residual::operand(index));
}

Value readOperand(const AdjointRequest &request, OpOperand &operand) {
  return readOperand(request, operand.getOperandNumber());
}

Value readAuxiliary(const AdjointRequest &request,
                    const Alternatives &alternatives) {
  if (!alternatives[request.alternative].readsAuxiliary())
    return {};
  return request.read(Residual::auxiliary());
}

/// Fails, naming the operand, if an operand other than `allowed` is active.
static LogicalResult onlyActive(Operation *op, StringRef derivative,
                                const llvm::BitVector &active,
                                ArrayRef<unsigned> allowed) {
  for (unsigned index : active.set_bits())
    if (!llvm::is_contained(allowed, index))
      return op->emitOpError("has no ")
             << derivative << " with respect to operand #" << index
             << ", but a trainable parameter reaches it";
  return success();
}

LogicalResult onlyActive(Operation *op, const AdjointRequest &request,
                         ArrayRef<unsigned> allowed) {
  return onlyActive(op, "adjoint", request.activeOperands, allowed);
}

LogicalResult onlyActive(Operation *op, ArrayRef<Value> tangents,
                         ArrayRef<unsigned> allowed) {
  llvm::BitVector active(tangents.size());
  for (auto [i, tangent] : llvm::enumerate(tangents))
    active[i] = bool(tangent);
  return onlyActive(op, "tangent", active, allowed);
}

Value sumOf(OpBuilder &builder, Location loc, Value a, Value b) {
  return a && b ? AddOp::create(builder, loc, a, b) : a ? a : b;
}

} // namespace hone
