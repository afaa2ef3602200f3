//===- Elementwise.cpp - Sums, factors and conversions --------------------===//

#include "dialects/Hone/DerivativeRules.h"
#include "dialects/Hone/ShapeChecks.h"
#include "dialects/Hone/Sizes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"

using namespace mlir;

namespace hone {

static Value convert(ImplicitLocOpBuilder &b, Type type, Value x) {
  return convertScalarToDtype(b, b.getLoc(), x, type, /*isUnsignedCast=*/false);
}

//===----------------------------------------------------------------------===//
// AddOp: the cotangent goes to both operands; tangents add.
//===----------------------------------------------------------------------===//

Alternatives AddOp::getResidualAlternatives(const llvm::BitVector &) {
  return readsNothing();
}

Cotangents AddOp::buildAdjoint(OpBuilder &, const AdjointRequest &request) {
  return SmallVector<Value>{request.cotangents[0], request.cotangents[0]};
}

Tangent AddOp::buildTangent(OpBuilder &builder, ArrayRef<Value> tangents) {
  return sumOf(builder, getLoc(), tangents[0], tangents[1]);
}

SmallVector<Value> AddOp::buildElements(ImplicitLocOpBuilder &b,
                                        ValueRange operands) {
  return {arith::AddFOp::create(b, operands[0], operands[1])};
}

int64_t AddOp::getFlops(int64_t rows) { return elements(getY(), rows); }

//===----------------------------------------------------------------------===//
// ScaleOp: created by adjoints, which forward mode may meet; linear in each
// operand.
//===----------------------------------------------------------------------===//

LogicalResult ScaleOp::verify() {
  return ShapeChecks(*this).sameType("x", getX(), "y", getY()); // (C1)
}

Tangent ScaleOp::buildTangent(OpBuilder &builder, ArrayRef<Value> tangents) {
  auto scaled = [&](Value x, Value factor) -> Value {
    if (!x || !factor)
      return {};
    return ScaleOp::create(builder, getLoc(), getX().getType(), x, factor);
  };
  return sumOf(builder, getLoc(), scaled(tangents[0], getFactor()),
               scaled(getX(), tangents[1]));
}

SmallVector<Value> ScaleOp::buildElements(ImplicitLocOpBuilder &b,
                                          ValueRange operands) {
  Value factor = convert(b, operands[0].getType(), operands[1]);
  return {arith::MulFOp::create(b, operands[0], factor)};
}

int64_t ScaleOp::getFlops(int64_t rows) { return elements(getX(), rows); }

//===----------------------------------------------------------------------===//
// ConvertOp
//===----------------------------------------------------------------------===//

LogicalResult ConvertOp::verify() {
  // (C1)
  if (getX().getType().getShape() != getY().getType().getShape())
    return emitOpError("expects 'x' and 'y' to have one shape but got ")
           << getX().getType() << " and " << getY().getType();
  // (C2): of LLVM it would be a call of a routine that libgcc 12 lacks.
  if (getX().getType().getElementType().isF64() &&
      getY().getType().getElementType().isBF16())
    return emitOpError("expects f64 not to become bf16, which targets round "
                       "f32 to alone");
  return success();
}

SmallVector<Value> ConvertOp::buildElements(ImplicitLocOpBuilder &b,
                                            ValueRange operands) {
  return {convert(b, getElementTypeOrSelf(getY().getType()), operands[0])};
}

int64_t ConvertOp::getFlops(int64_t rows) { return elements(getX(), rows); }

} // namespace hone
