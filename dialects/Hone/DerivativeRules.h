//===- DerivativeRules.h - The words of adjoints and tangents -------------===//
//
// An adjoint's residuals, how it is built, and the tangent stand side by side
// at their op (ops/). Formulas are in the descriptions of the ops that are
// built. Alternatives are listed cheapest in compute first; which one is taken
// is a policy's decision.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "dialects/Hone/HoneOps.h"

namespace hone {

using Alternatives = llvm::SmallVector<ResidualAlternative>;
using Cotangents = mlir::FailureOr<llvm::SmallVector<mlir::Value>>;
using Tangent = mlir::FailureOr<mlir::Value>;

/// The alternative of an adjoint that reads parameters and inputs alone.
inline Alternatives readsNothing() { return {ResidualAlternative{}}; }

mlir::Value readOperand(const AdjointRequest &request, unsigned index);
mlir::Value readOperand(const AdjointRequest &request,
                        mlir::OpOperand &operand);
/// The auxiliary result if the chosen alternative has it, else null.
mlir::Value readAuxiliary(const AdjointRequest &request,
                          const Alternatives &alternatives);

/// Fails, naming the operand, if one other than `allowed` has a cotangent.
mlir::LogicalResult onlyActive(mlir::Operation *op,
                               const AdjointRequest &request,
                               llvm::ArrayRef<unsigned> allowed);
/// The same of tangents.
mlir::LogicalResult onlyActive(mlir::Operation *op,
                               llvm::ArrayRef<mlir::Value> tangents,
                               llvm::ArrayRef<unsigned> allowed);

/// The sum of two terms, either of which may be null.
mlir::Value sumOf(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value a,
                  mlir::Value b);

/// The index of the bias among the operands of an op that has one.
template <typename LinearLike>
std::optional<unsigned> biasIndex(LinearLike op) {
  if (!op.getBias())
    return std::nullopt;
  return op.getBiasMutable().begin()->getOperandNumber();
}

/// The cotangent of the bias of `op`, if it is wanted.
template <typename LinearLike>
void addBiasAdjoint(LinearLike op, mlir::OpBuilder &builder,
                    const AdjointRequest &request,
                    llvm::SmallVectorImpl<mlir::Value> &cotangents) {
  std::optional<unsigned> index = biasIndex(op);
  if (index && request.activeOperands.test(*index))
    cotangents[*index] = BiasAdjointOp::create(
        builder, op.getLoc(), op.getBias().getType(), request.cotangents[0]);
}

/// The tangent of `op` along its bias, or null.
template <typename LinearLike>
mlir::Value tangentOfBias(LinearLike op, llvm::ArrayRef<mlir::Value> tangents) {
  std::optional<unsigned> index = biasIndex(op);
  return index ? tangents[*index] : mlir::Value();
}

/// `allowed` and the bias.
template <typename LinearLike>
llvm::SmallVector<unsigned> andBias(LinearLike op,
                                    std::initializer_list<unsigned> allowed) {
  llvm::SmallVector<unsigned> all(allowed);
  if (std::optional<unsigned> index = biasIndex(op))
    all.push_back(*index);
  return all;
}

} // namespace hone
