//===- HoneStepOps.cpp - Verifiers of the step's ops ----------------------===//

#include "dialects/Hone/HoneOps.h"
#include "dialects/Hone/Numerics.h"
#include "dialects/Hone/ShapeChecks.h"

using namespace mlir;

#define GET_OP_CLASSES
#include "dialects/Hone/HoneOps.cpp.inc"

namespace hone {

LogicalResult ScaleOp::verify() {
  return ShapeChecks(*this).sameType("x", getX(), "y", getY()); // (C1)
}

LogicalResult ConvertOp::verify() {
  // (C1)
  if (getX().getType().getShape() != getY().getType().getShape())
    return emitOpError("expects 'x' and 'y' to have one shape but got ")
           << getX().getType() << " and " << getY().getType();
  return success();
}

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

LogicalResult LinearAdjointOp::verify() {
  ShapeChecks check(*this);
  return check.all({
      check.sameDim("dy", getDy(), 0, "dx", getDx(), 0),         // (C1)
      check.sameDim("weight", getWeight(), 0, "dy", getDy(), 1), // (C1)
      check.sameDim("weight", getWeight(), 1, "dx", getDx(), 1), // (C1)
      check.sameElementType("dy", getDy(), "dx", getDx()),       // (C2)
  });
}

LogicalResult LoraLinearAdjointOp::verify() {
  ShapeChecks check(*this);
  return check.all({
      check.sameDim("dy", getDy(), 0, "dx", getDx(), 0),         // (C1)
      check.sameDim("weight", getWeight(), 0, "dy", getDy(), 1), // (C1)
      check.sameDim("weight", getWeight(), 1, "dx", getDx(), 1), // (C1)
      check.sameDim("a", getA(), 1, "dx", getDx(), 1),           // (C2)
      check.sameDim("b", getB(), 0, "dy", getDy(), 1),           // (C2)
      check.sameDim("a", getA(), 0, "b", getB(), 1),             // (C2)
      check.sameElementType("dy", getDy(), "dx", getDx()),       // (C3)
      check.computesIn("dx", getDx(), "a", getA()),              // (C3)
      check.computesIn("dx", getDx(), "b", getB()),              // (C3)
      check.isDropout(getDropout(), getOf(), getKey()),          // (C4)
  });
}

LogicalResult LoraParameterAdjointOp::verify() {
  ShapeChecks check(*this);
  return check.all({
      check.sameDim("dy", getDy(), 0, "x", getX(), 0),   // (C1)
      check.sameType("a", getA(), "da", getDa()),        // (C2)
      check.sameType("b", getB(), "db", getDb()),        // (C2)
      check.sameDim("a", getA(), 1, "x", getX(), 1),     // (C2)
      check.sameDim("b", getB(), 0, "dy", getDy(), 1),   // (C2)
      check.sameDim("a", getA(), 0, "b", getB(), 1),     // (C2)
      check.sameDim("h", getH(), 0, "x", getX(), 0),     // (C3)
      check.sameDim("h", getH(), 1, "a", getA(), 0),     // (C3)
      check.sameElementType("dy", getDy(), "x", getX()), // (C4)
      check.computesIn("x", getX(), "a", getA()),        // (C4)
      check.computesIn("x", getX(), "b", getB()),        // (C4)
      check.computesIn("x", getX(), "h", getH()),        // (C4)
      check.isDropout(getDropout(), getOf(), getKey()),  // (C5)
  });
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

LogicalResult GradientOp::verify() {
  // (C1)
  auto type = cast<RankedTensorType>(getValue().getType());
  if (!type.hasStaticShape())
    return emitOpError("expects a static shape but got ") << type;
  return success();
}

LogicalResult RowTilesOp::verifyRegions() {
  int64_t rows = getTileRows();
  // (C1)
  if (rows <= 0 || rows % numerics::kGradientRows)
    return emitOpError("expects its rows to be a multiple of ")
           << numerics::kGradientRows << ", the rows of one partial sum of a "
           << "gradient, but got " << rows;
  // (C2)
  if (!llvm::all_of(getResultTypes(), hasRows))
    return emitOpError("expects results that have rows");
  mlir::Block &body = getBody().front();
  if (body.getArgumentTypes() != getOperandTypes())
    return emitOpError("expects a body with arguments of the types ")
           << getOperandTypes() << " but got " << body.getArgumentTypes();
  if (body.empty() || !isa<ReturnOp>(body.back()))
    return emitOpError("expects a body ended by 'hone.return'");
  for (Operation &op : body.without_terminator()) {
    // (C3)
    if (!isa<GradientOp>(op) && !op.hasTrait<RowWise>() &&
        !op.hasTrait<Ambient>())
      return op.emitOpError("is not row-wise and cannot run for slices of "
                            "rows");
    // (C4)
    for (Value operand : op.getOperands())
      if (Operation *outside = operand.getDefiningOp();
          operand.getParentRegion() != &getBody() &&
          (!outside || !outside->hasTrait<Ambient>()))
        return op.emitOpError("expects what it reads from outside of "
                              "'hone.row_tiles' to be a parameter or an input");
  }
  return success();
}

int64_t RowTilesOp::getFlops(int64_t rows) {
  int64_t flops = 0;
  for (auto op : getBody().getOps<CostOpInterface>())
    flops += op.getFlops(rows);
  return flops;
}

LogicalResult PoolOp::verify() {
  // (C1)
  if (getPool().getType().getDimSize(0) < 1)
    return emitOpError("expects at least one slot but got ")
           << getPool().getType();
  return success();
}

LogicalResult KeepOp::verify() {
  // (C4)
  if (!getPool().getDefiningOp<PoolOp>())
    return emitOpError("expects 'pool' to be the result of a 'hone.pool'");
  ShapeChecks check(*this);
  return check.all({
      check.isOfEntry("slots", getSlots(), getSlotIndex()), // (C2)
      check.isOfEntry("mask", getMask(), getMaskIndex()),   // (C3)
  });
}

LogicalResult KeptOp::verify() {
  return ShapeChecks(*this).isOfEntry("slots", getSlots(),
                                      getSlotIndex()); // (C2)
}

LogicalResult LayerGradientOp::verify() {
  // (C1)
  if (!getGradient().getType().hasStaticShape())
    return emitOpError("expects a static length but got ")
           << getGradient().getType();
  return success();
}

LayerGradientOp FoldGradientOp::getLayerGradient() {
  return getWindow().getDefiningOp<LayerGradientOp>();
}

LogicalResult FoldGradientOp::verify() {
  // (C1)
  LayerGradientOp window = getLayerGradient();
  if (!window || !window.getCondition())
    return emitOpError("expects 'window' to be the result of a conditional "
                       "'hone.layer_gradient'");
  return success();
}

static LogicalResult verifyUpdate(UpdateOpInterface op) {
  // (C1)
  Value gradient = op.getLayerGradient();
  if (gradient && !gradient.getDefiningOp<LayerGradientOp>())
    return op->emitOpError("expects 'gradient' to be the result of a "
                           "'hone.layer_gradient'");
  // (C2)
  if (gradient && op.getDirectionCoefficients())
    return op->emitOpError("expects a gradient or directions but got both");
  if (gradient && op.getLayersAttr())
    return op->emitOpError("expects one layer or several but got both");
  return ShapeChecks(op).isOfEntry("mask", op.getMask(),
                                   op.getMaskIndex()); // (C3)
}

LogicalResult SgdOp::verify() { return verifyUpdate(*this); }
LogicalResult AdamwOp::verify() { return verifyUpdate(*this); }

LogicalResult ElementOp::verify() {
  return ShapeChecks(*this).isOfEntry("numbers", getNumbers(),
                                      getIndex()); // (C1)
}

unsigned SgdOp::getNumStateVectors() { return getMomentum() ? 1 : 0; }
unsigned AdamwOp::getNumStateVectors() { return 2; }

LogicalResult RegionOp::verify() {
  // (C1)
  int64_t offset = getOffset(), bytes = getBytes();
  if (offset < 0 || offset % 64 != 0 || bytes < 0)
    return emitOpError("expects an offset that is a multiple of 64 and a size "
                       "that is not negative, but got ")
           << offset << " and " << bytes;
  return success();
}

} // namespace hone
