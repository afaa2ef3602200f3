//===- Embedding.cpp - Rows of tables -------------------------------------===//

#include "dialects/Hone/DerivativeRules.h"
#include "dialects/Hone/ShapeChecks.h"
#include "dialects/Hone/Sizes.h"

using namespace mlir;

namespace hone {

//===----------------------------------------------------------------------===//
// EmbeddingOp: ids, which are ambient, have no cotangent.
//===----------------------------------------------------------------------===//

LogicalResult EmbeddingOp::verify() {
  ShapeChecks check(*this);
  return check.all({
      check.sameDim("ids", getIds(), 0, "y", getY(), 0),     // (C1)
      check.sameDim("table", getTable(), 1, "y", getY(), 1), // (C1)
      check.isKnown("table", getTable(), 0),                 // (C2)
  });
}

Alternatives EmbeddingOp::getResidualAlternatives(const llvm::BitVector &) {
  return readsNothing();
}

Cotangents EmbeddingOp::buildAdjoint(OpBuilder &builder,
                                     const AdjointRequest &request) {
  OpOperand &table = getTableMutable();
  if (failed(onlyActive(*this, request, {table.getOperandNumber()})))
    return failure();
  SmallVector<Value> cotangents(getNumOperands());
  cotangents[table.getOperandNumber()] = EmbeddingParameterAdjointOp::create(
      builder, getLoc(), getTable().getType(), request.cotangents[0],
      readOperand(request, getIdsMutable()), getScaleAttr());
  return cotangents;
}

Tangent EmbeddingOp::buildTangent(OpBuilder &builder,
                                  ArrayRef<Value> tangents) {
  unsigned table = getTableMutable().getOperandNumber();
  if (failed(onlyActive(*this, tangents, {table})))
    return failure();
  return EmbeddingOp::create(builder, getLoc(), getY().getType(), getIds(),
                             tangents[table], getScaleAttr(),
                             /*streamed=*/UnitAttr())
      .getY();
}

int64_t EmbeddingOp::getFlops(int64_t rows) {
  return getScale() ? elements(getY(), rows) : 0;
}

LogicalResult EmbeddingParameterAdjointOp::verify() {
  ShapeChecks check(*this);
  return check.all({
      check.sameDim("ids", getIds(), 0, "dy", getDy(), 0), // (C1)
      check.sameDim("dt", getDt(), 1, "dy", getDy(), 1),   // (C1)
      check.isKnown("dt", getDt(), 0),                     // (C2)
      check.computesIn("dy", getDy(), "dt", getDt()),      // (C3)
  });
}

int64_t EmbeddingParameterAdjointOp::getFlops(int64_t rows) {
  return elements(getDy(), rows);
}

//===----------------------------------------------------------------------===//
// EmbeddingNoiseOp: the noise does not depend on the operand.
//===----------------------------------------------------------------------===//

LogicalResult EmbeddingNoiseOp::verify() {
  ShapeChecks check(*this);
  return check.all({
      check.sameDim("starts", getStarts(), 0, "x", getX(), 0), // (C2)
      check.isPositive("alpha", getAlpha()),                   // (C3)
  });
}

Alternatives
EmbeddingNoiseOp::getResidualAlternatives(const llvm::BitVector &) {
  return readsNothing();
}

Cotangents EmbeddingNoiseOp::buildAdjoint(OpBuilder &,
                                          const AdjointRequest &request) {
  SmallVector<Value> cotangents(getNumOperands());
  cotangents[getXMutable().getOperandNumber()] = request.cotangents[0];
  return cotangents;
}

Tangent EmbeddingNoiseOp::buildTangent(OpBuilder &, ArrayRef<Value> tangents) {
  return tangents[getXMutable().getOperandNumber()];
}

int64_t EmbeddingNoiseOp::getFlops(int64_t rows) {
  return drawFlops(getY(), rows);
}

std::optional<RandomSource> EmbeddingNoiseOp::getRandomSource() {
  return RandomSource{rt::RandomPurpose::Noise, getOf()};
}

bool EmbeddingNoiseOp::isRegularizing() { return true; }

SmallVector<Value> EmbeddingNoiseOp::buildPlain(OpBuilder &builder) {
  // A block returns none of its arguments.
  if (isa<BlockArgument>(getX()))
    return {
        ConvertOp::create(builder, getLoc(), getY().getType(), getX()).getY()};
  return {getX()};
}

//===----------------------------------------------------------------------===//
// PositionEmbeddingOp: linear in its table.
//===----------------------------------------------------------------------===//

/// (C2): the positions of `table` are enough. An op that is not in a whole
/// module yet is not checked.
static LogicalResult verifyPositions(Operation *op, Value table,
                                     int64_t offset) {
  if (offset < 0)
    return op->emitOpError("expects 'offset' not to be negative but got ")
           << offset;
  int64_t positions = cast<RankedTensorType>(table.getType()).getDimSize(0);
  if (ShapedType::isDynamic(positions))
    return op->emitOpError("expects a table with a known number of positions "
                           "but got ")
           << table.getType();
  std::optional<int64_t> most = mostPositions(op);
  if (!most)
    most = mostRows(op);
  if (!most || *most <= positions - offset)
    return success();
  return op->emitOpError("expects a table of at least ")
         << *most << " + " << offset
         << " rows, for the longest sequence, but got " << positions;
}

LogicalResult PositionEmbeddingOp::verify() {
  ShapeChecks check(*this);
  return check.all({
      check.sameDim("starts", getStarts(), 0, "y", getY(), 0), // (C1)
      check.sameDim("table", getTable(), 1, "y", getY(), 1),   // (C1)
      verifyPositions(*this, getTable(), getOffset()),         // (C2)
  });
}

Alternatives
PositionEmbeddingOp::getResidualAlternatives(const llvm::BitVector &) {
  return readsNothing();
}

Cotangents PositionEmbeddingOp::buildAdjoint(OpBuilder &builder,
                                             const AdjointRequest &request) {
  unsigned table = getTableMutable().getOperandNumber();
  SmallVector<Value> cotangents(getNumOperands());
  cotangents[table] = PositionEmbeddingParameterAdjointOp::create(
      builder, getLoc(), getTable().getType(), request.cotangents[0],
      readOperand(request, getStartsMutable()), getOffsetAttr());
  return cotangents;
}

Tangent PositionEmbeddingOp::buildTangent(OpBuilder &builder,
                                          ArrayRef<Value> tangents) {
  unsigned table = getTableMutable().getOperandNumber();
  return PositionEmbeddingOp::create(builder, getLoc(), getY().getType(),
                                     getStarts(), tangents[table],
                                     getOffsetAttr())
      .getY();
}

int64_t PositionEmbeddingOp::getFlops(int64_t) { return 0; }

LogicalResult PositionEmbeddingParameterAdjointOp::verify() {
  ShapeChecks check(*this);
  return check.all({
      check.sameDim("starts", getStarts(), 0, "dy", getDy(), 0), // (C1)
      check.sameDim("dtable", getDtable(), 1, "dy", getDy(), 1), // (C1)
      check.computesIn("dy", getDy(), "dtable", getDtable()),    // (C1)
      verifyPositions(*this, getDtable(), getOffset()),          // (C2)
  });
}

int64_t PositionEmbeddingParameterAdjointOp::getFlops(int64_t rows) {
  return elements(getDy(), rows);
}

} // namespace hone
