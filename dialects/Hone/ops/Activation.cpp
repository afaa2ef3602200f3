//===- Activation.cpp - Activations, with a gate and without --------------===//

#include "dialects/Hone/Activations.h"
#include "dialects/Hone/DerivativeRules.h"
#include "dialects/Hone/ShapeChecks.h"
#include "dialects/Hone/Sizes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace hone {

static Value add(ImplicitLocOpBuilder &b, Value x, Value y) {
  return arith::AddFOp::create(b, x, y);
}

static Value multiply(ImplicitLocOpBuilder &b, Value x, Value y) {
  return arith::MulFOp::create(b, x, y);
}

//===----------------------------------------------------------------------===//
// ActivationOp: its input.
//===----------------------------------------------------------------------===//

/// f(x), and f(x) with f'(x), of one element; erf counts as one too.
static int64_t valueFlops(Activation kind) {
  switch (kind) {
  case Activation::Relu:
    return 1;
  case Activation::Gelu:
    return 5;
  case Activation::GeluTanh:
    return 8;
  case Activation::Silu:
    return 4;
  }
  llvm_unreachable("all activations are handled");
}

static int64_t slopeFlops(Activation kind) {
  switch (kind) {
  case Activation::Relu:
    return 2;
  case Activation::Gelu:
    return 11;
  case Activation::GeluTanh:
    return 16;
  case Activation::Silu:
    return 7;
  }
  llvm_unreachable("all activations are handled");
}

Alternatives ActivationOp::getResidualAlternatives(const llvm::BitVector &) {
  return {ResidualAlternative{{Residual::operand(0)}}};
}

Cotangents ActivationOp::buildAdjoint(OpBuilder &builder,
                                      const AdjointRequest &request) {
  Value dx = ActivationAdjointOp::create(
      builder, getLoc(), getX().getType(), getActivationAttr(),
      request.cotangents[0], readOperand(request, getXMutable()));
  return SmallVector<Value>{dx};
}

Tangent ActivationOp::buildTangent(OpBuilder &builder,
                                   ArrayRef<Value> tangents) {
  return ActivationAdjointOp::create(builder, getLoc(), getY().getType(),
                                     getActivationAttr(), tangents[0], getX())
      .getDx();
}

SmallVector<Value> ActivationOp::buildElements(ImplicitLocOpBuilder &b,
                                               ValueRange operands) {
  return {activate(b, getActivation(), operands[0])};
}

int64_t ActivationOp::getFlops(int64_t rows) {
  return valueFlops(getActivation()) * elements(getY(), rows);
}

SmallVector<Value> ActivationAdjointOp::buildElements(ImplicitLocOpBuilder &b,
                                                      ValueRange operands) {
  return {timesSlope(b, operands[0],
                     differentiate(b, getActivation(), operands[1]))};
}

int64_t ActivationAdjointOp::getFlops(int64_t rows) {
  return (slopeFlops(getActivation()) + 1) * elements(getX(), rows);
}

//===----------------------------------------------------------------------===//
// GatedActivationOp: both operands.
//===----------------------------------------------------------------------===//

Alternatives
GatedActivationOp::getResidualAlternatives(const llvm::BitVector &) {
  return {ResidualAlternative{{Residual::operand(0), Residual::operand(1)}}};
}

Cotangents GatedActivationOp::buildAdjoint(OpBuilder &builder,
                                           const AdjointRequest &request) {
  Type type = getY().getType();
  auto adjoint = GatedActivationAdjointOp::create(
      builder, getLoc(), TypeRange{type, type}, getActivationAttr(),
      request.cotangents[0], readOperand(request, getGateMutable()),
      readOperand(request, getUpMutable()));
  return SmallVector<Value>{adjoint.getDgate(), adjoint.getDup()};
}

Tangent GatedActivationOp::buildTangent(OpBuilder &builder,
                                        ArrayRef<Value> tangents) {
  return GatedActivationTangentOp::create(builder, getLoc(), getY().getType(),
                                          getActivationAttr(), getGate(),
                                          getUp(), tangents[0], tangents[1])
      .getTy();
}

SmallVector<Value> GatedActivationOp::buildElements(ImplicitLocOpBuilder &b,
                                                    ValueRange operands) {
  return {multiply(b, activate(b, getActivation(), operands[0]), operands[1])};
}

int64_t GatedActivationOp::getFlops(int64_t rows) {
  return (valueFlops(getActivation()) + 1) * elements(getY(), rows);
}

SmallVector<Value>
GatedActivationAdjointOp::buildElements(ImplicitLocOpBuilder &b,
                                        ValueRange operands) {
  Value dy = operands[0], up = operands[2];
  ActivationSlope slope = differentiate(b, getActivation(), operands[1]);
  return {multiply(b, dy, timesSlope(b, up, slope)),
          multiply(b, dy, slope.value)};
}

int64_t GatedActivationAdjointOp::getFlops(int64_t rows) {
  return (slopeFlops(getActivation()) + 3) * elements(getGate(), rows);
}

LogicalResult GatedActivationTangentOp::verify() {
  ShapeChecks check(*this);
  return check.all({
      check.sameType("up", getUp(), "gate", getGate()),       // (C1)
      check.sameType("tgate", getTgate(), "gate", getGate()), // (C1)
      check.sameType("tup", getTup(), "gate", getGate()),     // (C1)
      check.sameType("ty", getTy(), "gate", getGate()),       // (C1)
      check.anyTangent({getTgate(), getTup()}),               // (C2)
  });
}

SmallVector<Value>
GatedActivationTangentOp::buildElements(ImplicitLocOpBuilder &b,
                                        ValueRange operands) {
  Adaptor elements(operands, *this);
  ActivationSlope slope = differentiate(b, getActivation(), elements.getGate());
  Value sum;
  if (Value tgate = elements.getTgate())
    sum = multiply(b, tgate, timesSlope(b, elements.getUp(), slope));
  if (Value tup = elements.getTup()) {
    Value term = multiply(b, tup, slope.value);
    sum = sum ? add(b, sum, term) : term;
  }
  return {sum};
}

int64_t GatedActivationTangentOp::getFlops(int64_t rows) {
  return (slopeFlops(getActivation()) + 4) * elements(getGate(), rows);
}

} // namespace hone
