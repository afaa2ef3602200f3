//===- HoneGenerationOps.cpp - Verifiers, costs and how ops go on ---------===//
//
// Constraint numbers are those of the op's description and of the tests.
//
//===----------------------------------------------------------------------===//

#include "dialects/Hone/HoneOps.h"
#include "dialects/Hone/ShapeChecks.h"

using namespace mlir;

namespace hone {

//===----------------------------------------------------------------------===//
// Verifiers
//===----------------------------------------------------------------------===//

LogicalResult CacheOp::verify() {
  // (C1)
  if (!getType().hasStaticShape())
    return emitOpError("expects a static shape but got ") << getType();
  return success();
}

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

LogicalResult LogitsOp::verify() {
  ShapeChecks check(*this);
  return check.all({
      check.sameDim("weight", getWeight(), 1, "x", getX(), 1), // (C1)
      check.sameDim("weight", getWeight(), 0, "y", getY(), 0), // (C1)
      check.computesIn("x", getX(), "y", getY()),              // (C2)
      check.isKnown("weight", getWeight(), 0),                 // (C3)
  });
}

//===----------------------------------------------------------------------===//
// Costs
//===----------------------------------------------------------------------===//

/// As if the cache were full: what a plan must allow for.
int64_t CachedAttentionOp::getFlops(int64_t rows) {
  int64_t seen = getKeys().getType().getDimSize(0);
  if (getWindow())
    seen = std::min<int64_t>(seen, *getWindow());
  return 4 * seen * elementsAtRows(getQ().getType(), rows);
}

int64_t LogitsOp::getFlops(int64_t) {
  return 2 * elementsAtRows(getWeight().getType(), 0);
}

//===----------------------------------------------------------------------===//
// How ops go on
//===----------------------------------------------------------------------===//

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

FailureOr<SmallVector<Value>>
LinearCrossEntropyOp::buildContinuation(OpBuilder &builder,
                                        const ContinuationRequest &request) {
  if (getDx())
    return emitOpError("expects no 'dx' where a sequence is continued");
  Value x = request.operands[0], weight = request.operands[1];
  Type element =
      computeType(cast<RankedTensorType>(x.getType()).getElementType());
  int64_t vocabulary = cast<RankedTensorType>(weight.getType()).getDimSize(0);
  auto op = LogitsOp::create(builder, getLoc(),
                             RankedTensorType::get(vocabulary, element), x,
                             weight, getStreamedAttr());
  return SmallVector<Value>{op.getY()};
}

} // namespace hone
