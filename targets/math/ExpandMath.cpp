//===- ExpandMath.cpp - exp and log in double -----------------------------===//
//
// After runtime/src/base/PortableMath.cpp, for all of their range. exp is
// 2^n p(r) with x = n ln 2 + r, |r| <= ln 2 / 2, where 14 terms leave less than
// 2^-56. log is e ln 2 + 2 atanh(s) with x = m 2^e, m in [sqrt(1/2), sqrt(2)),
// where 12 terms leave less than 2^-62.
//
//===----------------------------------------------------------------------===//

#include "runtime/src/base/PortableMath.h"
#include "targets/math/MathPasses.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/TypeUtilities.h"

#include <cmath>

namespace hone {
#define GEN_PASS_DEF_EXPANDMATH
#include "targets/math/MathPasses.h.inc"
} // namespace hone

using namespace mlir;
using namespace hone;

/// ln 2 in two parts; the first has 20 trailing zero bits.
static constexpr double kLn2High = 6.93147180369123816490e-01;
static constexpr double kLn2Low = 1.90821492927058770002e-10;

namespace {

/// Arithmetic on f64 and on its bits: on scalars or vectors, whichever the
/// result of the operation is that it takes the place of.
class DoubleBuilder : public ImplicitLocOpBuilder {
public:
  explicit DoubleBuilder(Operation *op)
      : ImplicitLocOpBuilder(op->getLoc(), op),
        type(op->getResult(0).getType()) {}

  Type numbers() const { return type; }
  Type words() {
    auto vector = dyn_cast<VectorType>(type);
    return vector ? Type(vector.clone(getI64Type())) : Type(getI64Type());
  }
  Value number(double value) {
    return splat(getF64FloatAttr(value), numbers());
  }
  Value word(int64_t value) { return splat(getI64IntegerAttr(value), words()); }
  Value fma(Value x, Value y, Value z) {
    return math::FmaOp::create(*this, x, y, z);
  }
  Value mul(Value x, Value y) { return arith::MulFOp::create(*this, x, y); }
  Value add(Value x, Value y) { return arith::AddFOp::create(*this, x, y); }
  Value sub(Value x, Value y) { return arith::SubFOp::create(*this, x, y); }
  Value choose(arith::CmpFPredicate predicate, Value x, Value y, Value ifTrue,
               Value ifFalse) {
    Value condition = arith::CmpFOp::create(*this, predicate, x, y);
    return arith::SelectOp::create(*this, condition, ifTrue, ifFalse);
  }
  template <int N> Value horner(const double (&series)[N], Value x) {
    Value sum = number(series[N - 1]);
    for (int i = N - 2; i >= 0; --i)
      sum = fma(sum, x, number(series[i]));
    return sum;
  }
  /// 2^n for integers n in [-1022, 1023].
  Value powerOfTwo(Value n) {
    Value biased = arith::AddIOp::create(*this, n, word(1023));
    Value bits = arith::ShLIOp::create(*this, biased, word(52));
    return arith::BitcastOp::create(*this, numbers(), bits);
  }

private:
  Value splat(TypedAttr value, Type shape) {
    if (auto vector = dyn_cast<VectorType>(shape))
      value = DenseElementsAttr::get(vector, Attribute(value));
    return arith::ConstantOp::create(*this, value);
  }

  Type type;
};

} // namespace

static Value expand(math::ExpOp op) {
  DoubleBuilder b(op);
  // Beyond these bounds the result is inf or 0; comparisons let NaN through.
  Value high = b.number(710.0), low = b.number(-746.0);
  Value x = op.getOperand();
  x = b.choose(arith::CmpFPredicate::OGT, x, high, high, x);
  x = b.choose(arith::CmpFPredicate::OLT, x, low, low, x);
  Value n = math::RoundEvenOp::create(
      b, b.mul(x, b.number(1.44269504088896338700e+00)));
  n = b.choose(arith::CmpFPredicate::ORD, x, x, n, b.number(0.0));
  Value r = b.fma(n, b.number(-kLn2High), x);
  r = b.fma(n, b.number(-kLn2Low), r);
  Value p = b.horner(rt::expSeries, r);
  // Two factors, since 2^n alone may overflow or be subnormal.
  Value whole = arith::FPToSIOp::create(b, b.words(), n);
  Value half = arith::ShRSIOp::create(b, whole, b.word(1));
  Value rest = arith::SubIOp::create(b, whole, half);
  return b.mul(b.mul(p, b.powerOfTwo(half)), b.powerOfTwo(rest));
}

static Value expand(math::LogOp op) {
  DoubleBuilder b(op);
  Value given = op.getOperand(), one = b.number(1.0);
  // Subnormal numbers are made normal.
  Value isSmall = arith::CmpFOp::create(b, arith::CmpFPredicate::OLT, given,
                                        b.number(0x1p-1022));
  Value x = arith::SelectOp::create(b, isSmall, b.mul(given, b.number(0x1p54)),
                                    given);
  Value bias =
      arith::SelectOp::create(b, isSmall, b.word(1023 + 54), b.word(1023));
  Value bits = arith::BitcastOp::create(b, b.words(), x);
  Value field = arith::ShRUIOp::create(b, bits, b.word(52));
  Value exponent = arith::SubIOp::create(b, field, bias);
  Value fraction = arith::OrIOp::create(
      b, arith::AndIOp::create(b, bits, b.word((1ll << 52) - 1)),
      b.word(0x3ff0000000000000));
  Value m = arith::BitcastOp::create(b, b.numbers(), fraction);
  Value isLarge = arith::CmpFOp::create(b, arith::CmpFPredicate::OGT, m,
                                        b.number(0x1.6a09e667f3bcdp0));
  m = arith::SelectOp::create(b, isLarge, b.mul(m, b.number(0.5)), m);
  exponent = arith::SelectOp::create(
      b, isLarge, arith::AddIOp::create(b, exponent, b.word(1)), exponent);
  Value e = arith::SIToFPOp::create(b, b.numbers(), exponent);

  Value f = b.sub(m, one); // exact
  Value s = arith::DivFOp::create(b, f, b.add(b.number(2.0), f));
  Value z = b.mul(s, s);
  // 2 s = f - s f, which keeps the leading term exact.
  Value rest = b.mul(s, b.sub(f, b.mul(z, b.horner(rt::logSeries, z))));
  Value lowPart = b.sub(b.mul(e, b.number(kLn2Low)), rest);
  Value result = b.add(b.mul(e, b.number(kLn2High)), b.add(f, lowPart));

  // Numbers that are not positive and finite.
  Value infinity = b.number(HUGE_VAL), zero = b.number(0.0);
  result = b.choose(arith::CmpFPredicate::UEQ, given, infinity, given, result);
  result = b.choose(arith::CmpFPredicate::OEQ, given, zero, b.number(-HUGE_VAL),
                    result);
  return b.choose(arith::CmpFPredicate::OLT, given, zero, b.number(NAN),
                  result);
}

namespace {

struct ExpandMath : public hone::impl::ExpandMathBase<ExpandMath> {
  void runOnOperation() override {
    getOperation()->walk([](Operation *op) {
      if (op->getNumResults() != 1 ||
          !getElementTypeOrSelf(op->getResult(0).getType()).isF64())
        return;
      Value result;
      if (auto exp = dyn_cast<math::ExpOp>(op))
        result = expand(exp);
      else if (auto log = dyn_cast<math::LogOp>(op))
        result = expand(log);
      if (!result)
        return;
      op->getResult(0).replaceAllUsesWith(result);
      op->erase();
    });
  }
};

} // namespace
