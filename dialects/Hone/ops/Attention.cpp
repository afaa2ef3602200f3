//===- Attention.cpp - Rows that read other rows --------------------------===//

#include "dialects/Hone/DerivativeRules.h"
#include "dialects/Hone/ShapeChecks.h"
#include "dialects/Hone/Sizes.h"

#include <cmath>

using namespace mlir;

namespace hone {

//===----------------------------------------------------------------------===//
// RopeOp: a rotation; its adjoint rotates back, its tangent along.
//===----------------------------------------------------------------------===//

LogicalResult RopeOp::verify() {
  // (C1)
  int64_t heads = getHeads();
  int64_t width = getX().getType().getDimSize(1);
  if (heads < 1 || heads > width || width % heads != 0 ||
      width / heads % 2 != 0)
    return emitOpError("expects 'x' to have an even number of features for "
                       "each of ")
           << heads << " heads, but it has " << width << " features";
  ShapeChecks check(*this);
  if (failed(check.all({
          check.sameType("x", getX(), "y", getY()),                // (C1)
          check.sameDim("starts", getStarts(), 0, "x", getX(), 0), // (C2)
          check.isPositive("theta", getTheta()),                   // (C3)
          check.isPositive("stretch", getStretch()),               // (C3)
      })))
    return failure();
  // (C4)
  for (auto [j, frequency] : llvm::enumerate(getFrequencies()))
    if (!std::isfinite(frequency))
      return emitOpError("expects finite frequencies, but that of pair ")
             << j << " is not";
  return success();
}

SmallVector<double> RopeOp::getFrequencies() {
  int64_t dim = getHeadDim();
  double theta = getTheta().convertToDouble();
  double stretch = getStretch() ? getStretch()->convertToDouble() : 1;
  SmallVector<double> frequencies;
  for (int64_t j = 0; j < dim / 2; ++j)
    frequencies.push_back(std::pow(theta, -2.0 * j / dim) / stretch);
  Llama3RopeScalingAttr scaling = getScalingAttr();
  if (!scaling)
    return frequencies;

  double factor = scaling.getFactor().getValueAsDouble();
  double low = scaling.getLowFreqFactor().getValueAsDouble();
  double high = scaling.getHighFreqFactor().getValueAsDouble();
  double context = scaling.getOriginalMaxPositionEmbeddings();
  for (double &frequency : frequencies) {
    double turns = context * frequency / (2.0 * M_PI);
    if (turns < low)
      frequency /= factor;
    else if (turns <= high) {
      double smooth = (turns - low) / (high - low);
      frequency *= (1.0 - smooth) / factor + smooth;
    }
  }
  return frequencies;
}

Alternatives RopeOp::getResidualAlternatives(const llvm::BitVector &) {
  return readsNothing();
}

Cotangents RopeOp::buildAdjoint(OpBuilder &builder,
                                const AdjointRequest &request) {
  OpOperand &x = getXMutable();
  SmallVector<Value> cotangents(getNumOperands());
  auto adjoint =
      RopeOp::create(builder, getLoc(), getX().getType(), request.cotangents[0],
                     readOperand(request, getStartsMutable()), getHeadsAttr(),
                     getThetaAttr(), getStretchAttr(), getScalingAttr(),
                     getInverse() ? nullptr : builder.getUnitAttr());
  cotangents[x.getOperandNumber()] = adjoint;
  return cotangents;
}

Tangent RopeOp::buildTangent(OpBuilder &builder, ArrayRef<Value> tangents) {
  unsigned x = getXMutable().getOperandNumber();
  return RopeOp::create(builder, getLoc(), getX().getType(), tangents[x],
                        getStarts(), getHeadsAttr(), getThetaAttr(),
                        getStretchAttr(), getScalingAttr(), getInverseAttr())
      .getY();
}

int64_t RopeOp::getFlops(int64_t rows) { return 3 * elements(getX(), rows); }

//===----------------------------------------------------------------------===//
// AttentionOp: queries, keys, values, output and normalizer.
//===----------------------------------------------------------------------===//

/// One product of two matrices within causal attention, all heads, of as few
/// sequences as can have `rows` rows.
template <typename AttentionLike>
static int64_t attentionProductFlops(AttentionLike op, int64_t rows) {
  auto twiceThePairs = [&](int64_t sequence) {
    int64_t window =
        std::min<int64_t>(op.getWindow().value_or(sequence), sequence);
    // The last `window` keys, but for a triangle of the first rows.
    return window * (2 * sequence - window);
  };
  int64_t longest = std::max<int64_t>(sequenceRows(op, rows), 1);
  return (rows / longest * twiceThePairs(longest) +
          twiceThePairs(rows % longest)) *
         elements(op.getQ(), 1);
}

LogicalResult AttentionOp::verify() {
  ShapeChecks check(*this);
  if (failed(check.headGroups(getQ(), getK(), getHeads(), getKvHeads())))
    return failure();
  return check.all({
      check.sameType("q", getQ(), "y", getY()),                        // (C1)
      check.sameType("k", getK(), "v", getV()),                        // (C1)
      check.sameDim("k", getK(), 0, "q", getQ(), 0),                   // (C1)
      check.sameDim("starts", getStarts(), 0, "q", getQ(), 0),         // (C3)
      check.sameDim("normalizer", getNormalizer(), 0, "q", getQ(), 0), // (C4)
      check.dimIs("normalizer", getNormalizer(), 1, 2 * getHeads()),   // (C4)
      check.sameElementType("k", getK(), "q", getQ()),                 // (C5)
      check.computesIn("q", getQ(), "normalizer", getNormalizer()),    // (C5)
      check.isPositive("window", getWindow()),                         // (C6)
  });
}

Type AttentionOp::getAuxiliaryType() {
  RankedTensorType type = getQ().getType();
  return RankedTensorType::get(
      {type.getDimSize(0), 2 * static_cast<int64_t>(getHeads())},
      computeType(type.getElementType()));
}

Alternatives AttentionOp::getResidualAlternatives(const llvm::BitVector &) {
  return {ResidualAlternative{{Residual::operand(0), Residual::operand(1),
                               Residual::operand(2), Residual::result(0),
                               Residual::auxiliary()}}};
}

Cotangents AttentionOp::buildAdjoint(OpBuilder &builder,
                                     const AdjointRequest &request) {
  auto adjoint = AttentionAdjointOp::create(
      builder, getLoc(),
      TypeRange{getQ().getType(), getK().getType(), getV().getType()},
      request.cotangents[0], readOperand(request, getQMutable()),
      readOperand(request, getKMutable()), readOperand(request, getVMutable()),
      request.read(Residual::result(0)), request.read(Residual::auxiliary()),
      readOperand(request, getStartsMutable()), getHeadsAttr(),
      getKvHeadsAttr(), getWindowAttr(), getScaleAttr());
  return SmallVector<Value>{adjoint.getDq(), adjoint.getDk(), adjoint.getDv(),
                            Value()};
}

Tangent AttentionOp::buildTangent(OpBuilder &builder,
                                  ArrayRef<Value> tangents) {
  return AttentionTangentOp::create(builder, getLoc(), getY().getType(), getQ(),
                                    getK(), getV(), getStarts(), tangents[0],
                                    tangents[1], tangents[2], getNormalizer(),
                                    getHeadsAttr(), getKvHeadsAttr(),
                                    getWindowAttr(), getScaleAttr())
      .getTy();
}

int64_t AttentionOp::getFlops(int64_t rows) {
  return 2 * attentionProductFlops(*this, rows);
}

/// `[kv_heads * d, keys]` of each block of keys: the transpose of `[rows,
/// kv_heads * d]`.
static MemRefType transposedType(Operation *op, Value matrix, int64_t maxRows) {
  int64_t keys = attentionKeys(op);
  int64_t blocks = llvm::divideCeil(maxRows, keys);
  return MemRefType::get({blocks * columns(matrix), keys}, elementType(matrix));
}

/// Scores are private to a thread. Where hone.attention_iterations is given,
/// the transposed values, and the row after the last that sees each row's key.
SmallVector<MemRefType> AttentionOp::getWorkspace(int64_t maxRows) {
  if (!attentionIterations(*this))
    return {};
  auto ends = MemRefType::get({maxRows}, IntegerType::get(getContext(), 32));
  return {transposedType(*this, getV(), maxRows), ends};
}

FailureOr<SmallVector<Value>>
AttentionOp::buildContinuation(OpBuilder &builder,
                               const ContinuationRequest &request) {
  if (getNormalizer())
    return emitOpError("expects no normalizer where a sequence is continued");
  Value q = request.operands[0], k = request.operands[1];
  auto type = cast<RankedTensorType>(k.getType());
  Value keys = request.cacheOf("keys", type);
  Value values = request.cacheOf("values", type);
  auto op = CachedAttentionOp::create(
      builder, getLoc(), q.getType(), q, k, request.operands[2],
      request.operands[3], keys, values, getHeadsAttr(), getKvHeadsAttr(),
      getWindowAttr(), getScaleAttr());
  return SmallVector<Value>{op.getY()};
}

LogicalResult AttentionAdjointOp::verify() {
  ShapeChecks check(*this);
  // (C2)
  if (failed(check.headGroups(getQ(), getK(), getHeads(), getKvHeads())))
    return failure();
  return check.all({
      check.sameType("dy", getDy(), "q", getQ()),                      // (C1)
      check.sameType("y", getY(), "q", getQ()),                        // (C1)
      check.sameType("dq", getDq(), "q", getQ()),                      // (C1)
      check.sameType("k", getK(), "v", getV()),                        // (C1)
      check.sameType("dk", getDk(), "k", getK()),                      // (C1)
      check.sameType("dv", getDv(), "v", getV()),                      // (C1)
      check.sameDim("k", getK(), 0, "q", getQ(), 0),                   // (C1)
      check.sameDim("normalizer", getNormalizer(), 0, "q", getQ(), 0), // (C3)
      check.dimIs("normalizer", getNormalizer(), 1, 2 * getHeads()),   // (C3)
      check.sameDim("starts", getStarts(), 0, "q", getQ(), 0),         // (C3)
      check.sameElementType("k", getK(), "q", getQ()),                 // (C4)
      check.computesIn("q", getQ(), "normalizer", getNormalizer()),    // (C4)
      check.isPositive("window", getWindow()),                         // (C5)
  });
}

int64_t AttentionAdjointOp::getFlops(int64_t rows) {
  return 5 * attentionProductFlops(*this, rows);
}

/// `D` and the two parts of the normalizer as `[heads, rows]`, and the row
/// after the last that sees each row's key. Where hone.attention_iterations is
/// given, the transposed keys, and sums of dk and of dv for each iteration
/// unless the results have room for them.
SmallVector<MemRefType> AttentionAdjointOp::getWorkspace(int64_t maxRows) {
  auto perHead = MemRefType::get({static_cast<int64_t>(getHeads()), maxRows},
                                 computedType(getDy()));
  auto ends = MemRefType::get({maxRows}, IntegerType::get(getContext(), 32));
  SmallVector<MemRefType> types = {perHead, perHead, perHead, ends};
  int64_t iterations = attentionIterations(*this);
  if (!iterations)
    return types;
  types.push_back(transposedType(*this, getK(), maxRows));
  auto kvHeads = static_cast<int64_t>(getKvHeads());
  int64_t parts = headParts(getHeads(), kvHeads, iterations).count;
  int64_t keys = attentionKeys(*this);
  int64_t blocks = llvm::divideCeil(maxRows, keys);
  if (parts > 1 || computedType(getK()) != elementType(getK()))
    types.append(2, MemRefType::get({blocks * kvHeads * parts,
                                     keys * columns(getK()) / kvHeads},
                                    computedType(getK())));
  return types;
}

LogicalResult AttentionTangentOp::verify() {
  ShapeChecks check(*this);
  // (C2)
  if (failed(check.headGroups(getQ(), getK(), getHeads(), getKvHeads())))
    return failure();
  return check.all({
      check.sameType("tq", getTq(), "q", getQ()),                      // (C1)
      check.sameType("ty", getTy(), "q", getQ()),                      // (C1)
      check.sameType("k", getK(), "v", getV()),                        // (C1)
      check.sameType("tk", getTk(), "k", getK()),                      // (C1)
      check.sameType("tv", getTv(), "v", getV()),                      // (C1)
      check.sameDim("k", getK(), 0, "q", getQ(), 0),                   // (C1)
      check.sameDim("starts", getStarts(), 0, "q", getQ(), 0),         // (C3)
      check.sameDim("normalizer", getNormalizer(), 0, "q", getQ(), 0), // (C3)
      check.dimIs("normalizer", getNormalizer(), 1, 2 * getHeads()),   // (C3)
      check.anyTangent({getTq(), getTk(), getTv()}),                   // (C4)
      check.sameElementType("k", getK(), "q", getQ()),                 // (C5)
      check.computesIn("q", getQ(), "normalizer", getNormalizer()),    // (C5)
      check.isPositive("window", getWindow()),                         // (C6)
  });
}

int64_t AttentionTangentOp::getFlops(int64_t rows) {
  int64_t scores = 1 + bool(getTq()) + bool(getTk());
  int64_t sums = (getTq() || getTk()) + bool(getTv());
  return (scores + sums) * attentionProductFlops(*this, rows);
}

//===----------------------------------------------------------------------===//
// CacheOp
//===----------------------------------------------------------------------===//

LogicalResult CacheOp::verify() {
  // (C1)
  if (!getType().hasStaticShape())
    return emitOpError("expects a static shape but got ") << getType();
  return success();
}

//===----------------------------------------------------------------------===//
// CachedAttentionOp
//===----------------------------------------------------------------------===//

LogicalResult CachedAttentionOp::verify() {
  ShapeChecks check(*this);
  // (C2)
  if (failed(check.headGroups(getQ(), getK(), getHeads(), getKvHeads())))
    return failure();
  // (C4)
  if (!getKeys().getDefiningOp<CacheOp>() ||
      !getValues().getDefiningOp<CacheOp>() || getKeys() == getValues())
    return emitOpError("expects 'keys' and 'values' to be two results of "
                       "'hone.cache'");
  return check.all({
      check.sameType("q", getQ(), "y", getY()),                 // (C1)
      check.sameType("k", getK(), "v", getV()),                 // (C1)
      check.sameDim("k", getK(), 0, "q", getQ(), 0),            // (C1)
      check.sameDim("starts", getStarts(), 0, "q", getQ(), 0),  // (C3)
      check.sameType("keys", getKeys(), "values", getValues()), // (C4)
      check.sameDim("keys", getKeys(), 1, "k", getK(), 1),      // (C4)
      check.sameElementType("k", getK(), "q", getQ()),          // (C5)
      check.sameElementType("keys", getKeys(), "k", getK()),    // (C5)
      check.isPositive("window", getWindow()),                  // (C6)
  });
}

/// As if the cache were full, which a plan must allow for.
int64_t CachedAttentionOp::getFlops(int64_t rows) {
  int64_t seen = getKeys().getType().getDimSize(0);
  if (getWindow())
    seen = std::min<int64_t>(seen, *getWindow());
  return 4 * seen * elementsAtRows(getQ().getType(), rows);
}

} // namespace hone
