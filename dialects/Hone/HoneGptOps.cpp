//===- HoneGptOps.cpp - Verifiers of ops of decoders before Llama ---------===//
//
// Constraint numbers are those of the op's description and of the tests.
//
//===----------------------------------------------------------------------===//

#include "dialects/Hone/HoneOps.h"
#include "dialects/Hone/ShapeChecks.h"

using namespace mlir;

namespace hone {

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
  // (C3)
  if (getEps().convertToDouble() < 0)
    return emitOpError("expects 'eps' not to be negative");
  return check.all({
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

LogicalResult LayerNormAdjointOp::verify() {
  ShapeChecks check(*this);
  return check.all({
      check.sameType("dy", getDy(), "x", getX()),              // (C1)
      check.sameType("x", getX(), "dx", getDx()),              // (C1)
      check.sameDim("weight", getWeight(), 0, "x", getX(), 1), // (C1)
      verifyStatistics(*this),                                 // (C2)
  });
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

LogicalResult LayerNormTangentOp::verify() {
  ShapeChecks check(*this);
  // (C3)
  if (!getTx() && !getTw() && !getTb())
    return emitOpError("expects a tangent of at least one operand");
  return check.all({
      check.sameType("tx", getTx(), "x", getX()),              // (C1)
      check.sameType("x", getX(), "ty", getTy()),              // (C1)
      check.sameDim("weight", getWeight(), 0, "x", getX(), 1), // (C1)
      check.sameDim("tw", getTw(), 0, "x", getX(), 1),         // (C1)
      check.sameDim("tb", getTb(), 0, "x", getX(), 1),         // (C1)
      verifyStatistics(*this),                                 // (C2)
  });
}

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
  auto module = op->getParentOfType<ModuleOp>();
  if (!module)
    return success();
  auto most = module->getAttrOfType<IntegerAttr>(
      HoneDialect::getMaxPositionsAttrName());
  if (!most)
    most =
        module->getAttrOfType<IntegerAttr>(HoneDialect::getMaxRowsAttrName());
  if (!most || most.getInt() <= positions - offset)
    return success();
  return op->emitOpError("expects a table of at least ")
         << most.getInt() << " + " << offset
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

LogicalResult PositionEmbeddingParameterAdjointOp::verify() {
  ShapeChecks check(*this);
  return check.all({
      check.sameDim("starts", getStarts(), 0, "dy", getDy(), 0), // (C1)
      check.sameDim("dtable", getDtable(), 1, "dy", getDy(), 1), // (C1)
      check.computesIn("dy", getDy(), "dtable", getDtable()),    // (C1)
      verifyPositions(*this, getDtable(), getOffset()),          // (C2)
  });
}

/// (C1, C2)
static LogicalResult verifyColumns(Operation *op, StringRef name, Value all,
                                   StringRef nameOfSome, Value some,
                                   int64_t from) {
  ShapeChecks check(op);
  int64_t features = cast<RankedTensorType>(all.getType()).getDimSize(1);
  int64_t out = cast<RankedTensorType>(some.getType()).getDimSize(1);
  if (from < 0 || from > features - out)
    return op->emitOpError("expects columns of '")
           << name << "', which has " << features << ", but got " << out
           << " from " << from;
  return check.all({check.sameDim(name, all, 0, nameOfSome, some, 0),
                    check.sameElementType(name, all, nameOfSome, some)});
}

LogicalResult ColumnsOp::verify() {
  return verifyColumns(*this, "x", getX(), "y", getY(), getFrom());
}

LogicalResult ColumnsAdjointOp::verify() {
  return verifyColumns(*this, "dx", getDx(), "dy", getDy(), getFrom());
}

} // namespace hone
