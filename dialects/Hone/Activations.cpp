//===- Activations.cpp - Activation functions and their derivatives -------===//
//
// For x below -88 exp(-x) overflows to infinity in f32, and quotients by it go
// to zero, which is their limit.
//
//===----------------------------------------------------------------------===//

#include "dialects/Hone/Activations.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

#include <cmath>

using namespace mlir;
using namespace hone;

namespace {
/// Arithmetic on floats of one type.
class Floats {
public:
  Floats(ImplicitLocOpBuilder &b, Type type) : b(b), type(type) {}

  Value number(double value) {
    return arith::ConstantOp::create(b, b.getFloatAttr(type, value));
  }
  Value add(Value x, Value y) { return arith::AddFOp::create(b, x, y); }
  Value subtract(Value x, Value y) { return arith::SubFOp::create(b, x, y); }
  Value multiply(Value x, Value y) { return arith::MulFOp::create(b, x, y); }
  Value divide(Value x, Value y) { return arith::DivFOp::create(b, x, y); }
  Value exp(Value x) { return math::ExpOp::create(b, x); }
  Value negate(Value x) { return arith::NegFOp::create(b, x); }
  Value ifBelow(Value x, double bound, Value below, Value otherwise) {
    Value condition =
        arith::CmpFOp::create(b, arith::CmpFPredicate::OLT, x, number(bound));
    return arith::SelectOp::create(b, condition, below, otherwise);
  }
  /// The polynomial in `x` with the coefficients `c`, the constant first.
  Value polynomial(Value x, ArrayRef<double> c) {
    Value sum = number(c.back());
    for (double coefficient : llvm::reverse(c.drop_back()))
      sum = add(multiply(sum, x), number(coefficient));
    return sum;
  }

  /// `1 + exp(x)`.
  Value onePlusExp(Value x) { return add(number(1.0), exp(x)); }
  Value erf(Value x);

private:
  ImplicitLocOpBuilder &b;
  Type type;
};
} // namespace

/// A rational approximation after W. J. Cody, with the coefficients of FDLIBM's
/// s_erf.c, whose error is below an ulp of double: |x| below 0.84375, below
/// 1.25, below 1 / 0.35 and above. The tails take one exponential where FDLIBM
/// takes two, since a term that is subtracted from one needs no relative
/// accuracy.
Value Floats::erf(Value x) {
  Value zero = number(0.0);
  Value isNegative =
      arith::CmpFOp::create(b, arith::CmpFPredicate::OLT, x, zero);
  Value size = arith::SelectOp::create(b, isNegative, negate(x), x);

  Value square = multiply(x, x);
  Value near = divide(
      polynomial(square,
                 {1.28379167095512558561e-01, -3.25042107247001499370e-01,
                  -2.84817495755985104766e-02, -5.77027029648944159157e-03,
                  -2.37630166566501626084e-05}),
      polynomial(square,
                 {1.0, 3.97917223959155352819e-01, 6.50222499887672944485e-02,
                  5.08130628187576562776e-03, 1.32494738004321644526e-04,
                  -3.96022827877536812320e-06}));
  near = add(x, multiply(x, near));

  Value s = subtract(size, number(1.0));
  Value middle = divide(
      polynomial(s, {-2.36211856075265944077e-03, 4.14856118683748331666e-01,
                     -3.72207876035701323847e-01, 3.18346619901161753674e-01,
                     -1.10894694282396677476e-01, 3.54783043256182359371e-02,
                     -2.16637559486879084300e-03}),
      polynomial(s,
                 {1.0, 1.06420880400844228286e-01, 5.40397917702171048937e-01,
                  7.18286544141962662868e-02, 1.26171219808761642112e-01,
                  1.36370839120290507362e-02, 1.19844998467991074170e-02}));
  middle = add(number(8.45062911510467529297e-01), middle);

  Value r = divide(number(1.0), multiply(size, size));
  Value far = divide(
      polynomial(r, {-9.86494403484714822705e-03, -6.93858572707181764372e-01,
                     -1.05586262253232909814e+01, -6.23753324503260060396e+01,
                     -1.62396669462573470355e+02, -1.84605092906711035994e+02,
                     -8.12874355063065934246e+01, -9.81432934416914548592e+00}),
      polynomial(r,
                 {1.0, 1.96512716674392571292e+01, 1.37657754143519042600e+02,
                  4.34565877475229228821e+02, 6.45387271733267880336e+02,
                  4.29008140027567833386e+02, 1.08635005541779435134e+02,
                  6.57024977031928170135e+00, -6.04244152148580987438e-02}));
  Value farther = divide(
      polynomial(r, {-9.86494292470009928597e-03, -7.99283237680523006574e-01,
                     -1.77579549177547519889e+01, -1.60636384855821916062e+02,
                     -6.37566443368389627722e+02, -1.02509513161107724954e+03,
                     -4.83519191608651397019e+02}),
      polynomial(r, {1.0, 3.03380607434824582924e+01,
                     3.25792512996573918826e+02, 1.53672958608443695994e+03,
                     3.19985821950859553908e+03, 2.55305040643316442583e+03,
                     4.74528541206955367215e+02, -2.24409524465858183362e+01}));
  Value tail = ifBelow(size, 1 / 0.35, far, farther);
  Value exponent =
      subtract(subtract(tail, number(0.5625)), multiply(size, size));
  tail = subtract(number(1.0), divide(exp(exponent), size));
  // Beyond six it is one to the last bit, and the quotients may be NaN.
  tail = ifBelow(size, 6.0, tail, number(1.0));

  Value outer = ifBelow(size, 1.25, middle, tail);
  outer = arith::SelectOp::create(b, isNegative, negate(outer), outer);
  return ifBelow(size, 0.84375, near, outer);
}

// The constants of the approximation by a tanh: u = 2 sqrt(2/pi) (x + k x^3),
// 0.5 (1 + tanh(u / 2)) = 1 / (1 + exp(-u)).
static const double kTanhFactor = 2 * std::sqrt(2 / M_PI);
static constexpr double kTanhCube = 0.044715;

/// `1 + exp(-u)`.
static Value tanhDenominator(Floats &f, Value x) {
  Value bend =
      f.add(f.number(1.0), f.multiply(f.number(kTanhCube), f.multiply(x, x)));
  return f.onePlusExp(f.multiply(f.multiply(f.number(-kTanhFactor), x), bend));
}

/// The normal distribution's function.
static Value normalProbability(Floats &f, Value x) {
  Value erf = f.erf(f.multiply(x, f.number(std::sqrt(0.5))));
  return f.multiply(f.number(0.5), f.add(f.number(1.0), erf));
}

Value hone::activate(ImplicitLocOpBuilder &b, Activation kind, Value x) {
  Floats f(b, x.getType());
  switch (kind) {
  case Activation::Relu:
    // Keeps NaN as NaN.
    return f.ifBelow(x, 0.0, f.number(0.0), x);
  case Activation::Gelu:
    return f.multiply(x, normalProbability(f, x));
  case Activation::GeluTanh:
    return f.divide(x, tanhDenominator(f, x));
  case Activation::Silu:
    return f.divide(x, f.onePlusExp(f.negate(x)));
  }
  llvm_unreachable("all activations are handled");
}

ActivationSlope hone::differentiate(ImplicitLocOpBuilder &b, Activation kind,
                                    Value x) {
  Floats f(b, x.getType());
  Value one = f.number(1.0), zero = f.number(0.0);
  switch (kind) {
  case Activation::Relu: {
    // Zero at zero, as PyTorch has it.
    Value isPositive =
        arith::CmpFOp::create(b, arith::CmpFPredicate::OGT, x, zero);
    return {activate(b, kind, x),
            {arith::SelectOp::create(b, isPositive, one, zero)}};
  }
  case Activation::Gelu: {
    Value probability = normalProbability(f, x);
    Value density =
        f.multiply(f.number(1 / std::sqrt(2 * M_PI)),
                   f.exp(f.multiply(f.number(-0.5), f.multiply(x, x))));
    return {f.multiply(x, probability),
            {f.add(probability, f.multiply(x, density))}};
  }
  case Activation::GeluTanh: {
    // f = x s with s' = s (1 - s) u'.
    Value s = f.divide(one, tanhDenominator(f, x));
    Value inner = f.multiply(
        f.number(kTanhFactor),
        f.add(one, f.multiply(f.number(3 * kTanhCube), f.multiply(x, x))));
    // The first factor is zero long before the second one overflows.
    Value rest = f.multiply(x, f.multiply(s, f.subtract(one, s)));
    return {f.multiply(x, s), {f.add(s, f.multiply(rest, inner))}};
  }
  case Activation::Silu: {
    Value s = f.divide(one, f.onePlusExp(f.negate(x)));
    Value rest = f.add(one, f.multiply(x, f.subtract(one, s)));
    return {f.multiply(x, s), {s, rest}};
  }
  }
  llvm_unreachable("all activations are handled");
}

Value hone::timesSlope(ImplicitLocOpBuilder &b, Value value,
                       const ActivationSlope &slope) {
  for (Value factor : slope.slope)
    value = arith::MulFOp::create(b, value, factor);
  return value;
}
