//===- Loss.cpp - The head and its loss -----------------------------------===//

#include "dialects/Hone/DerivativeRules.h"
#include "dialects/Hone/Numerics.h"
#include "dialects/Hone/ShapeChecks.h"
#include "dialects/Hone/Sizes.h"

using namespace mlir;

namespace hone {

//===----------------------------------------------------------------------===//
// LinearCrossEntropyOp: the gradient that the forward pass wrote. There is no
// alternative without it: to form it is to run the forward pass.
//===----------------------------------------------------------------------===//

/// Buffers of the rows that have a target: logits of one tile of the
/// vocabulary, x, the row's number with their count after the last, maximum and
/// sum so far, target's logit, result.
template <typename LossLike>
static SmallVector<MemRefType> lossWorkspace(LossLike op, int64_t maxRows) {
  Type element = elementType(op.getX());
  int64_t tile = std::min(rowsOf(op.getWeight()), lossColumns(op));
  MemRefType scalar = perRow(op.getContext(), maxRows);
  return {MemRefType::get({maxRows, tile}, computeType(element)),
          MemRefType::get({maxRows, columns(op.getX())}, element),
          MemRefType::get({maxRows + 1}, IntegerType::get(op.getContext(), 32)),
          scalar,
          scalar,
          scalar,
          scalar};
}

// The head is read in pieces of a tile of the vocabulary.
int64_t LinearCrossEntropyOp::getPieceRows() { return lossColumns(*this); }
int64_t LinearCrossEntropyTangentOp::getPieceRows() {
  return lossColumns(*this);
}
int64_t LogitsOp::getPieceRows() { return lossColumns(*this); }

LogicalResult LinearCrossEntropyOp::verify() {
  ShapeChecks check(*this);
  return check.all({
      check.sameDim("weight", getWeight(), 1, "x", getX(), 1),   // (C1)
      check.sameDim("targets", getTargets(), 0, "x", getX(), 0), // (C2)
      check.sameType("dx", getDx(), "x", getX()),                // (C3)
      check.isKnown("weight", getWeight(), 0),                   // (C4)
      check.isFraction("smoothing", getSmoothing()),             // (C5)
  });
}

Type LinearCrossEntropyOp::getAuxiliaryType() { return getX().getType(); }

Alternatives
LinearCrossEntropyOp::getResidualAlternatives(const llvm::BitVector &active) {
  unsigned x = getXMutable().getOperandNumber();
  ResidualAlternative reads;
  if (active.test(x))
    reads.reads.push_back(Residual::auxiliary());
  if (active.test(getWeightMutable().getOperandNumber()))
    reads.reads.push_back(Residual::operand(x));
  return {reads};
}

Cotangents LinearCrossEntropyOp::buildAdjoint(OpBuilder &builder,
                                              const AdjointRequest &request) {
  unsigned x = getXMutable().getOperandNumber();
  unsigned weight = getWeightMutable().getOperandNumber();
  if (failed(onlyActive(*this, request, {x, weight})))
    return failure();
  SmallVector<Value> cotangents(getNumOperands());
  if (request.activeOperands.test(weight))
    cotangents[weight] = LinearCrossEntropyParameterAdjointOp::create(
        builder, getLoc(), getWeight().getType(), request.cotangents[0],
        readOperand(request, x), readOperand(request, weight),
        readOperand(request, getTargetsMutable()), getSmoothingAttr());
  if (request.activeOperands.test(x))
    cotangents[x] = ScaleOp::create(builder, getLoc(), getX().getType(),
                                    request.read(Residual::auxiliary()),
                                    request.cotangents[0]);
  return cotangents;
}

Tangent LinearCrossEntropyOp::buildTangent(OpBuilder &builder,
                                           ArrayRef<Value> tangents) {
  unsigned x = getXMutable().getOperandNumber();
  unsigned weight = getWeightMutable().getOperandNumber();
  if (failed(onlyActive(*this, tangents, {x, weight})))
    return failure();
  if (getDx() && !tangents[weight])
    return DotOp::create(builder, getLoc(), getDx(), tangents[x]).getProduct();
  return LinearCrossEntropyTangentOp::create(
             builder, getLoc(), scalarType(getContext()), getX(), getWeight(),
             getTargets(), tangents[x], tangents[weight], getSmoothingAttr(),
             /*streamed=*/UnitAttr())
      .getTloss();
}

/// For dx with smoothed labels also the sum of the head's rows, as a product.
int64_t LinearCrossEntropyOp::getFlops(int64_t rows) {
  if (!getDx())
    return productFlops(getWeight(), rows);
  return productFlops(getWeight(), 2 * rows + (getSmoothing() ? 1 : 0));
}

/// With sums of dx in place of x, see LinearCrossEntropyOp::sumsApart, or if a
/// tile has several parts: a row has those of one part after the other. Where
/// labels are smoothed, the sum of each row's logits; and for dx the sum of the
/// head's rows, and the ones that those of a tile are multiplied by.
SmallVector<MemRefType> LinearCrossEntropyOp::getWorkspace(int64_t maxRows) {
  SmallVector<MemRefType> buffers = lossWorkspace(*this, maxRows);
  int64_t tile = std::min(rowsOf(getWeight()), lossColumns(*this));
  int64_t parts = llvm::divideCeil(tile, lossPartColumns(*this));
  if (sumsApart() || (getDx() && parts > 1))
    buffers[1] = MemRefType::get({maxRows, parts * columns(getX())},
                                 computedType(getX()));
  if (!getSmoothing())
    return buffers;
  buffers.push_back(perRow(getContext(), maxRows));
  if (getDx())
    for (int64_t width : {columns(getWeight()), tile})
      buffers.push_back(MemRefType::get({1, width}, computedType(getX())));
  return buffers;
}

bool LinearCrossEntropyOp::isRegularizing() {
  return getSmoothing().has_value();
}

SmallVector<Value> LinearCrossEntropyOp::buildPlain(OpBuilder &builder) {
  auto plain = cast<LinearCrossEntropyOp>(builder.clone(**this));
  plain.removeSmoothingAttr();
  return SmallVector<Value>(plain->getResults());
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

LogicalResult LinearCrossEntropyParameterAdjointOp::verify() {
  ShapeChecks check(*this);
  return check.all({
      check.sameType("dw", getDw(), "weight", getWeight()),      // (C1)
      check.sameDim("weight", getWeight(), 1, "x", getX(), 1),   // (C1)
      check.computesIn("x", getX(), "dw", getDw()),              // (C1)
      check.sameDim("targets", getTargets(), 0, "x", getX(), 0), // (C2)
      check.isKnown("weight", getWeight(), 0),                   // (C3)
      check.isFraction("smoothing", getSmoothing()),             // (C4)
  });
}

/// The logits twice, and the gradient.
int64_t LinearCrossEntropyParameterAdjointOp::getFlops(int64_t rows) {
  return 3 * productFlops(getWeight(), rows);
}

/// As the loss; the result is a factor of a row's terms.
SmallVector<MemRefType>
LinearCrossEntropyParameterAdjointOp::getWorkspace(int64_t maxRows) {
  return lossWorkspace(*this, maxRows);
}

LogicalResult LinearCrossEntropyTangentOp::verify() {
  ShapeChecks check(*this);
  return check.all({
      check.sameType("tx", getTx(), "x", getX()),                // (C1)
      check.sameDim("weight", getWeight(), 1, "x", getX(), 1),   // (C1)
      check.sameType("tw", getTw(), "weight", getWeight()),      // (C1)
      check.sameDim("targets", getTargets(), 0, "x", getX(), 0), // (C2)
      check.isKnown("weight", getWeight(), 0),                   // (C3)
      check.anyTangent({getTx(), getTw()}),                      // (C4)
      check.isFraction("smoothing", getSmoothing()),             // (C5)
  });
}

int64_t LinearCrossEntropyTangentOp::getFlops(int64_t rows) {
  return (1 + bool(getTx()) + bool(getTw())) * productFlops(getWeight(), rows);
}

/// As the loss; then tangents of the logits, tx, the tangent of the target's
/// logit and the sum that its difference is taken from; with smoothed labels,
/// the sum of the tangents.
SmallVector<MemRefType>
LinearCrossEntropyTangentOp::getWorkspace(int64_t maxRows) {
  SmallVector<MemRefType> buffers = lossWorkspace(*this, maxRows);
  MemRefType scalar = perRow(getContext(), maxRows);
  buffers.append({buffers[0], buffers[1], scalar, scalar});
  if (getSmoothing())
    buffers.push_back(scalar);
  return buffers;
}

//===----------------------------------------------------------------------===//
// DotOp
//===----------------------------------------------------------------------===//

int64_t DotOp::getFlops(int64_t rows) { return 2 * elements(getA(), rows); }

/// The product of each row.
SmallVector<MemRefType> DotOp::getWorkspace(int64_t maxRows) {
  return {perRow(getContext(), maxRows)};
}

//===----------------------------------------------------------------------===//
// LogitsOp
//===----------------------------------------------------------------------===//

LogicalResult LogitsOp::verify() {
  ShapeChecks check(*this);
  return check.all({
      check.sameDim("weight", getWeight(), 1, "x", getX(), 1), // (C1)
      check.sameDim("weight", getWeight(), 0, "y", getY(), 0), // (C1)
      check.computesIn("x", getX(), "y", getY()),              // (C2)
      check.isKnown("weight", getWeight(), 0),                 // (C3)
  });
}

int64_t LogitsOp::getFlops(int64_t) {
  return 2 * elementsAtRows(getWeight().getType(), 0);
}

} // namespace hone
