//===- ApproximateMath.cpp - Polynomials for f32 exp and log --------------===//
//
// exp is 2^n * p(r) with x = n ln 2 + r, |r| <= ln 2 / 2: at most 2 ulp, exact
// at 0, inf and zero beyond the range, NaN for NaN. The polynomial is Cephes'
// expf. log is MLIR's own, also after Cephes.
//
//===----------------------------------------------------------------------===//

#include "targets/math/MathPasses.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Transforms/WalkPatternRewriteDriver.h"

namespace hone {
#define GEN_PASS_DEF_APPROXIMATEMATH
#include "targets/math/MathPasses.h.inc"
} // namespace hone

using namespace mlir;
using namespace hone;

namespace {

/// Arithmetic on f32 scalars or vectors, whichever `type` is.
class FloatBuilder {
public:
  FloatBuilder(ImplicitLocOpBuilder &b, Type type)
      : b(b), type(type), intType(likeType(b.getI32Type())) {}

  Value number(float value) { return splat(b.getF32FloatAttr(value), type); }
  Value integer(int32_t value) {
    return splat(b.getI32IntegerAttr(value), intType);
  }
  Value fma(Value x, Value y, Value z) {
    return math::FmaOp::create(b, x, y, z);
  }
  Value multiply(Value x, Value y) { return arith::MulFOp::create(b, x, y); }
  Value choose(arith::CmpFPredicate predicate, Value x, Value y, Value ifTrue,
               Value ifFalse) {
    Value condition = arith::CmpFOp::create(b, predicate, x, y);
    return arith::SelectOp::create(b, condition, ifTrue, ifFalse);
  }
  Value toInteger(Value x) { return arith::FPToSIOp::create(b, intType, x); }

  /// x * 2^n, rounded once, by AVX-512's instruction. `type` has its 16 lanes.
  Value scaleByInstruction(Value x, Value n) {
    Value all = arith::ConstantOp::create(b, b.getI16IntegerAttr(-1));
    Value currentRounding =
        arith::ConstantOp::create(b, b.getI32IntegerAttr(4));
    return LLVM::CallIntrinsicOp::create(
               b, b.getLoc(), type,
               b.getStringAttr("llvm.x86.avx512.mask.scalef.ps.512"),
               ValueRange{x, n, x, all, currentRounding})
        .getResult(0);
  }

  /// 2^n for integers n in [-126, 127], by writing the exponent field.
  Value powerOfTwo(Value n) {
    Value biased = arith::AddIOp::create(b, n, integer(127));
    Value bits = arith::ShLIOp::create(b, biased, integer(23));
    return arith::BitcastOp::create(b, type, bits);
  }

private:
  Type likeType(Type element) {
    if (auto vector = dyn_cast<VectorType>(type))
      return vector.clone(element);
    return element;
  }
  Value splat(TypedAttr value, Type shape) {
    if (auto vector = dyn_cast<VectorType>(shape))
      value = DenseElementsAttr::get(vector, Attribute(value));
    return arith::ConstantOp::create(b, value);
  }

  ImplicitLocOpBuilder &b;
  Type type, intType;
};

struct ApproximateExp : public OpRewritePattern<math::ExpOp> {
  ApproximateExp(MLIRContext *context, bool scalesVectors)
      : OpRewritePattern(context), scalesVectors(scalesVectors) {}

  LogicalResult matchAndRewrite(math::ExpOp op,
                                PatternRewriter &rewriter) const override {
    if (!getElementTypeOrSelf(op.getType()).isF32())
      return rewriter.notifyMatchFailure(op, "only f32 is approximated");
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    FloatBuilder f(b, op.getType());

    // Beyond these bounds the result is inf or 0; comparisons let NaN through.
    Value high = f.number(89.0f), low = f.number(-104.0f);
    Value x = op.getOperand();
    x = f.choose(arith::CmpFPredicate::OGT, x, high, high, x);
    x = f.choose(arith::CmpFPredicate::OLT, x, low, low, x);

    Value n = math::RoundEvenOp::create(
        b, f.multiply(x, f.number(1.44269504088896341f)));
    auto vector = dyn_cast<VectorType>(op.getType());
    bool scales = scalesVectors && vector && vector.getNumElements() == 16;
    if (!scales) // NaN is no integer.
      n = f.choose(arith::CmpFPredicate::ORD, x, x, n, f.number(0.0f));
    // ln 2 in two parts: the first has so few bits that n times it is exact.
    Value r = f.fma(n, f.number(-0.693359375f), x);
    r = f.fma(n, f.number(2.12194440e-4f), r);

    Value p = f.number(1.9875691500e-4f);
    for (float coefficient :
         {1.3981999507e-3f, 8.3334519073e-3f, 4.1665795894e-2f,
          1.6666665459e-1f, 5.0000001201e-1f, 1.0f, 1.0f})
      p = f.fma(p, r, f.number(coefficient));

    if (scales) {
      rewriter.replaceOp(op, f.scaleByInstruction(p, n));
      return success();
    }
    // Two factors, since 2^n alone may overflow or be subnormal.
    Value whole = f.toInteger(n);
    Value half = arith::ShRSIOp::create(b, whole, f.integer(1));
    Value rest = arith::SubIOp::create(b, whole, half);
    p = f.multiply(p, f.powerOfTwo(half));
    rewriter.replaceOp(op, f.multiply(p, f.powerOfTwo(rest)));
    return success();
  }

private:
  bool scalesVectors;
};

struct ApproximateMath
    : public hone::impl::ApproximateMathBase<ApproximateMath> {
  using ApproximateMathBase::ApproximateMathBase;

  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<ApproximateExp>(&getContext(), scalesVectors);
    populateMathPolynomialApproximationPatterns(patterns, [](StringRef name) {
      return name == math::LogOp::getOperationName();
    });
    // A plain walk: the greedy driver would fold vector code on the way.
    walkAndApplyPatterns(getOperation(), std::move(patterns));
  }
};

} // namespace
