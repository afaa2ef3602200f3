//===- HoneElements.cpp - The formulas of element-wise ops ----------------===//
//
// One scalar formula each. The order of its operations decides the last bits,
// wherever it runs: in a loop of its own or behind a product.
//
//===----------------------------------------------------------------------===//

#include "dialects/Hone/Activations.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Math/IR/Math.h"

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

static Value subtract(ImplicitLocOpBuilder &b, Value x, Value y) {
  return arith::SubFOp::create(b, x, y);
}

static Value multiply(ImplicitLocOpBuilder &b, Value x, Value y) {
  return arith::MulFOp::create(b, x, y);
}

static Value divide(ImplicitLocOpBuilder &b, Value x, Value y) {
  return arith::DivFOp::create(b, x, y);
}

static Value oneLike(ImplicitLocOpBuilder &b, Value x) {
  return arith::ConstantOp::create(b, b.getFloatAttr(x.getType(), 1.0));
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
  return {activate(b, getFunction(), operands[0])};
}

Elements ActivationAdjointOp::buildElements(ImplicitLocOpBuilder &b,
                                            ValueRange operands) {
  return {timesSlope(b, operands[0],
                     differentiate(b, getFunction(), operands[1]))};
}

//===----------------------------------------------------------------------===//
// SwiGLU
//===----------------------------------------------------------------------===//

/// `1 + exp(-gate)`. For gates below -88 it overflows to infinity, and the
/// quotients by it go to zero, which is their limit.
static Value sigmoidDenominator(ImplicitLocOpBuilder &b, Value gate) {
  Value exponential = math::ExpOp::create(b, arith::NegFOp::create(b, gate));
  return add(b, oneLike(b, gate), exponential);
}

Elements SwigluOp::buildElements(ImplicitLocOpBuilder &b, ValueRange operands) {
  Value gate = operands[0], up = operands[1];
  return {multiply(b, divide(b, gate, sigmoidDenominator(b, gate)), up)};
}

namespace {
/// d(swiglu)/d(gate) and d(swiglu)/d(up) of one element.
struct SwigluSlopes {
  Value gate, up;
};
} // namespace

static SwigluSlopes swigluSlopes(ImplicitLocOpBuilder &b, Value gate,
                                 Value up) {
  Value one = oneLike(b, gate);
  Value s = divide(b, one, sigmoidDenominator(b, gate));
  Value slope = add(b, one, multiply(b, gate, subtract(b, one, s)));
  return {multiply(b, multiply(b, up, s), slope), multiply(b, gate, s)};
}

Elements SwigluAdjointOp::buildElements(ImplicitLocOpBuilder &b,
                                        ValueRange operands) {
  Value dy = operands[0];
  SwigluSlopes slopes = swigluSlopes(b, operands[1], operands[2]);
  return {multiply(b, dy, slopes.gate), multiply(b, dy, slopes.up)};
}

Elements SwigluTangentOp::buildElements(ImplicitLocOpBuilder &b,
                                        ValueRange operands) {
  Adaptor elements(operands, *this);
  SwigluSlopes slopes = swigluSlopes(b, elements.getGate(), elements.getUp());
  Value sum;
  for (auto [tangent, slope] : {std::pair(elements.getTgate(), slopes.gate),
                                std::pair(elements.getTup(), slopes.up)}) {
    if (!tangent)
      continue;
    Value term = multiply(b, tangent, slope);
    sum = sum ? add(b, sum, term) : term;
  }
  return {sum};
}
