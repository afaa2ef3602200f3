//===- Norm.cpp - RMS and layer normalisation -----------------------------===//

#include "dialects/Hone/DerivativeRules.h"
#include "dialects/Hone/ShapeChecks.h"
#include "dialects/Hone/Sizes.h"

using namespace mlir;

namespace hone {

//===----------------------------------------------------------------------===//
// RmsNormOp: x and 1/rms, or x alone.
//===----------------------------------------------------------------------===//

LogicalResult RmsNormOp::verify() {
  ShapeChecks check(*this);
  return check.all({
      check.isNotNegative("eps", getEps()),                       // (C3)
      check.sameType("x", getX(), "y", getY()),                   // (C1)
      check.normHeads(getX(), "weight", getWeight(), getHeads()), // (C1, C4)
      check.sameDim("rstd", getRstd(), 0, "x", getX(), 0),        // (C2)
      check.dimIs("rstd", getRstd(), 1, getHeads()),              // (C2)
      check.computesIn("x", getX(), "rstd", getRstd()),           // (C2)
  });
}

Type RmsNormOp::getAuxiliaryType() {
  RankedTensorType type = getX().getType();
  return RankedTensorType::get(
      {type.getDimSize(0), static_cast<int64_t>(getHeads())},
      computeType(type.getElementType()));
}

Alternatives RmsNormOp::getResidualAlternatives(const llvm::BitVector &) {
  unsigned x = getXMutable().getOperandNumber();
  return {ResidualAlternative{{Residual::operand(x), Residual::auxiliary()}},
          ResidualAlternative{{Residual::operand(x)}}};
}

Cotangents RmsNormOp::buildAdjoint(OpBuilder &builder,
                                   const AdjointRequest &request) {
  unsigned x = getXMutable().getOperandNumber();
  unsigned weight = getWeightMutable().getOperandNumber();
  if (failed(onlyActive(*this, request, {x, weight})))
    return failure();
  Value rstd =
      readAuxiliary(request, getResidualAlternatives(request.activeOperands));
  Value dy = request.cotangents[0];
  SmallVector<Value> cotangents(getNumOperands());
  if (request.activeOperands.test(weight))
    cotangents[weight] = RmsNormParameterAdjointOp::create(
        builder, getLoc(), getWeight().getType(), dy, readOperand(request, x),
        rstd, getHeadsAttr(), getEpsAttr());
  if (request.activeOperands.test(x))
    cotangents[x] = RmsNormAdjointOp::create(
        builder, getLoc(), getX().getType(), dy, readOperand(request, x),
        readOperand(request, weight), rstd, getHeadsAttr(), getOffsetAttr(),
        getEpsAttr());
  return cotangents;
}

Tangent RmsNormOp::buildTangent(OpBuilder &builder, ArrayRef<Value> tangents) {
  unsigned x = getXMutable().getOperandNumber();
  unsigned weight = getWeightMutable().getOperandNumber();
  if (failed(onlyActive(*this, tangents, {x, weight})))
    return failure();
  Value alongInput, alongWeight;
  if (tangents[x])
    alongInput = RmsNormTangentOp::create(
        builder, getLoc(), getY().getType(), tangents[x], getX(), getWeight(),
        getRstd(), getHeadsAttr(), getOffsetAttr(), getEpsAttr());
  if (tangents[weight])
    alongWeight =
        RmsNormOp::create(builder, getLoc(), getY().getType(), /*rstd=*/Type(),
                          getX(), tangents[weight], getHeadsAttr(),
                          /*offset=*/builder.getF64FloatAttr(0.0), getEpsAttr())
            .getY();
  return sumOf(builder, getLoc(), alongInput, alongWeight);
}

/// A row is read again after its kept statistic has been written.
bool RmsNormOp::mayOverwrite(unsigned, unsigned result) { return result == 0; }

int64_t RmsNormOp::getFlops(int64_t rows) { return 4 * elements(getX(), rows); }

LogicalResult RmsNormAdjointOp::verify() {
  ShapeChecks check(*this);
  return check.all({
      check.sameType("dy", getDy(), "x", getX()),                 // (C1)
      check.sameType("x", getX(), "dx", getDx()),                 // (C1)
      check.normHeads(getX(), "weight", getWeight(), getHeads()), // (C1, C3)
      check.sameDim("rstd", getRstd(), 0, "x", getX(), 0),        // (C2)
      check.dimIs("rstd", getRstd(), 1, getHeads()),              // (C2)
      check.computesIn("x", getX(), "rstd", getRstd()),           // (C2)
  });
}

int64_t RmsNormAdjointOp::getFlops(int64_t rows) {
  return 8 * elements(getX(), rows);
}

LogicalResult RmsNormParameterAdjointOp::verify() {
  ShapeChecks check(*this);
  return check.all({
      check.sameType("dy", getDy(), "x", getX()),          // (C1)
      check.normHeads(getX(), "dw", getDw(), getHeads()),  // (C1)
      check.sameDim("rstd", getRstd(), 0, "x", getX(), 0), // (C2)
      check.dimIs("rstd", getRstd(), 1, getHeads()),       // (C2)
      check.computesIn("x", getX(), "rstd", getRstd()),    // (C2)
      check.computesIn("x", getX(), "dw", getDw()),        // (C2)
  });
}

int64_t RmsNormParameterAdjointOp::getFlops(int64_t rows) {
  return (getRstd() ? 3 : 5) * elements(getX(), rows);
}

/// `r`, unless it was kept.
SmallVector<MemRefType>
RmsNormParameterAdjointOp::getWorkspace(int64_t maxRows) {
  if (getRstd())
    return {};
  return {MemRefType::get({maxRows, static_cast<int64_t>(getHeads())},
                          computedType(getX()))};
}

LogicalResult RmsNormTangentOp::verify() {
  ShapeChecks check(*this);
  return check.all({
      check.sameType("tx", getTx(), "x", getX()),                 // (C1)
      check.sameType("x", getX(), "ty", getTy()),                 // (C1)
      check.normHeads(getX(), "weight", getWeight(), getHeads()), // (C1, C3)
      check.sameDim("rstd", getRstd(), 0, "x", getX(), 0),        // (C2)
      check.dimIs("rstd", getRstd(), 1, getHeads()),              // (C2)
      check.computesIn("x", getX(), "rstd", getRstd()),           // (C2)
  });
}

int64_t RmsNormTangentOp::getFlops(int64_t rows) {
  return 8 * elements(getX(), rows);
}

//===----------------------------------------------------------------------===//
// LayerNormOp: x and its statistics, or x alone.
//===----------------------------------------------------------------------===//

/// The parts of (C1) and (C2) that the ops of layer_norm share.
template <typename Op> static LogicalResult verifyStatistics(Op op) {
  ShapeChecks check(op);
  return check.all({
      check.sameDim("statistics", op.getStatistics(), 0, "x", op.getX(), 0),
      check.dimIs("statistics", op.getStatistics(), 1, 2),
      check.computesIn("x", op.getX(), "statistics", op.getStatistics()),
  });
}

LogicalResult LayerNormOp::verify() {
  ShapeChecks check(*this);
  return check.all({
      check.isNotNegative("eps", getEps()),                    // (C3)
      check.sameType("x", getX(), "y", getY()),                // (C1)
      check.sameDim("weight", getWeight(), 0, "x", getX(), 1), // (C1)
      check.sameDim("bias", getBias(), 0, "x", getX(), 1),     // (C1)
      verifyStatistics(*this),                                 // (C2)
  });
}

Type LayerNormOp::getAuxiliaryType() {
  RankedTensorType type = getX().getType();
  return RankedTensorType::get({type.getDimSize(0), 2},
                               computeType(type.getElementType()));
}

Alternatives LayerNormOp::getResidualAlternatives(const llvm::BitVector &) {
  unsigned x = getXMutable().getOperandNumber();
  return {ResidualAlternative{{Residual::operand(x), Residual::auxiliary()}},
          ResidualAlternative{{Residual::operand(x)}}};
}

Cotangents LayerNormOp::buildAdjoint(OpBuilder &builder,
                                     const AdjointRequest &request) {
  unsigned x = getXMutable().getOperandNumber();
  unsigned weight = getWeightMutable().getOperandNumber();
  unsigned bias = getBiasMutable().getOperandNumber();
  Value dy = request.cotangents[0], valueOfX = readOperand(request, x);
  Value statistics =
      readAuxiliary(request, getResidualAlternatives(request.activeOperands));
  SmallVector<Value> cotangents(getNumOperands());
  if (request.activeOperands.test(weight) ||
      request.activeOperands.test(bias)) {
    auto adjoint = LayerNormParameterAdjointOp::create(
        builder, getLoc(),
        TypeRange{getWeight().getType(), getBias().getType()}, dy, valueOfX,
        statistics, getEpsAttr());
    if (request.activeOperands.test(weight))
      cotangents[weight] = adjoint.getDw();
    if (request.activeOperands.test(bias))
      cotangents[bias] = adjoint.getDb();
  }
  if (request.activeOperands.test(x))
    cotangents[x] = LayerNormAdjointOp::create(
        builder, getLoc(), getX().getType(), dy, valueOfX,
        readOperand(request, weight), statistics, getEpsAttr());
  return cotangents;
}

Tangent LayerNormOp::buildTangent(OpBuilder &builder,
                                  ArrayRef<Value> tangents) {
  return LayerNormTangentOp::create(builder, getLoc(), getY().getType(), getX(),
                                    getWeight(), tangents[0], tangents[1],
                                    tangents[2], getStatistics(), getEpsAttr())
      .getTy();
}

/// As RmsNormOp.
bool LayerNormOp::mayOverwrite(unsigned, unsigned result) {
  return result == 0;
}

int64_t LayerNormOp::getFlops(int64_t rows) {
  return 8 * elements(getX(), rows);
}

LogicalResult LayerNormAdjointOp::verify() {
  ShapeChecks check(*this);
  return check.all({
      check.sameType("dy", getDy(), "x", getX()),              // (C1)
      check.sameType("x", getX(), "dx", getDx()),              // (C1)
      check.sameDim("weight", getWeight(), 0, "x", getX(), 1), // (C1)
      verifyStatistics(*this),                                 // (C2)
  });
}

int64_t LayerNormAdjointOp::getFlops(int64_t rows) {
  return 10 * elements(getX(), rows);
}

LogicalResult LayerNormParameterAdjointOp::verify() {
  ShapeChecks check(*this);
  return check.all({
      check.sameType("dy", getDy(), "x", getX()),      // (C1)
      check.sameDim("dw", getDw(), 0, "x", getX(), 1), // (C1)
      check.sameDim("db", getDb(), 0, "x", getX(), 1), // (C1)
      verifyStatistics(*this),                         // (C2, C3)
      check.computesIn("x", getX(), "dw", getDw()),    // (C3)
      check.computesIn("x", getX(), "db", getDb()),    // (C3)
  });
}

int64_t LayerNormParameterAdjointOp::getFlops(int64_t rows) {
  return 5 * elements(getX(), rows);
}

/// The statistics, unless they were kept.
SmallVector<MemRefType>
LayerNormParameterAdjointOp::getWorkspace(int64_t maxRows) {
  if (getStatistics())
    return {};
  return {MemRefType::get({maxRows, 2}, computedType(getX()))};
}

LogicalResult LayerNormTangentOp::verify() {
  ShapeChecks check(*this);
  return check.all({
      check.sameType("tx", getTx(), "x", getX()),              // (C1)
      check.sameType("x", getX(), "ty", getTy()),              // (C1)
      check.sameDim("weight", getWeight(), 0, "x", getX(), 1), // (C1)
      check.sameDim("tw", getTw(), 0, "x", getX(), 1),         // (C1)
      check.sameDim("tb", getTb(), 0, "x", getX(), 1),         // (C1)
      verifyStatistics(*this),                                 // (C2)
      check.anyTangent({getTx(), getTw(), getTb()}),           // (C3)
  });
}

int64_t LayerNormTangentOp::getFlops(int64_t rows) {
  int64_t each = (getTx() ? 10 : 2) + (getTw() ? 2 : 0) + (getTb() ? 1 : 0);
  return each * elements(getX(), rows);
}

} // namespace hone
