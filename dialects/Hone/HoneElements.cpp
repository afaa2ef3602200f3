//===- HoneElements.cpp - The formulas of element-wise ops ----------------===//
//
// One scalar formula each. The order of its operations decides the last bits,
// wherever it runs: in a loop of its own or behind a product.
//
//===----------------------------------------------------------------------===//

#include "dialects/Hone/Activations.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"

using namespace mlir;
using namespace hone;

Type hone::computeType(Type type) {
  if (auto shaped = dyn_cast<ShapedType>(type))
    return shaped.clone(computeType(shaped.getElementType()));
  return type.isBF16() ? Float32Type::get(type.getContext()) : type;
}

using Elements = SmallVector<Value>;

static Value add(ImplicitLocOpBuilder &b, Value x, Value y) {
  return arith::AddFOp::create(b, x, y);
}

static Value multiply(ImplicitLocOpBuilder &b, Value x, Value y) {
  return arith::MulFOp::create(b, x, y);
}

static Value convert(ImplicitLocOpBuilder &b, Type type, Value x) {
  return convertScalarToDtype(b, b.getLoc(), x, type, /*isUnsignedCast=*/false);
}

//===----------------------------------------------------------------------===//
// Sums and factors
//===----------------------------------------------------------------------===//

Elements AddOp::buildElements(ImplicitLocOpBuilder &b, ValueRange operands) {
  return {add(b, operands[0], operands[1])};
}

Elements ScaleOp::buildElements(ImplicitLocOpBuilder &b, ValueRange operands) {
  Value factor = convert(b, operands[0].getType(), operands[1]);
  return {multiply(b, operands[0], factor)};
}

Elements ConvertOp::buildElements(ImplicitLocOpBuilder &b,
                                  ValueRange operands) {
  return {convert(b, getElementTypeOrSelf(getY().getType()), operands[0])};
}

//===----------------------------------------------------------------------===//
// Activations
//===----------------------------------------------------------------------===//

Elements ActivationOp::buildElements(ImplicitLocOpBuilder &b,
                                     ValueRange operands) {
  return {activate(b, getActivation(), operands[0])};
}

Elements ActivationAdjointOp::buildElements(ImplicitLocOpBuilder &b,
                                            ValueRange operands) {
  return {timesSlope(b, operands[0],
                     differentiate(b, getActivation(), operands[1]))};
}

//===----------------------------------------------------------------------===//
// Gated activations
//===----------------------------------------------------------------------===//

Elements GatedActivationOp::buildElements(ImplicitLocOpBuilder &b,
                                          ValueRange operands) {
  return {multiply(b, activate(b, getActivation(), operands[0]), operands[1])};
}

Elements GatedActivationAdjointOp::buildElements(ImplicitLocOpBuilder &b,
                                                 ValueRange operands) {
  Value dy = operands[0], up = operands[2];
  ActivationSlope slope = differentiate(b, getActivation(), operands[1]);
  return {multiply(b, dy, timesSlope(b, up, slope)),
          multiply(b, dy, slope.value)};
}

Elements GatedActivationTangentOp::buildElements(ImplicitLocOpBuilder &b,
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
