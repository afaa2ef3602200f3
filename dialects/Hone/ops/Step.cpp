//===- Step.cpp - Ops that a training step adds ---------------------------===//

#include "dialects/Hone/HoneOps.h"
#include "dialects/Hone/Numerics.h"
#include "dialects/Hone/SequenceTiles.h"
#include "dialects/Hone/ShapeChecks.h"

using namespace mlir;

namespace hone {

LogicalResult GradientOp::verify() {
  // (C1)
  auto type = cast<RankedTensorType>(getValue().getType());
  if (!type.hasStaticShape())
    return emitOpError("expects a static shape but got ") << type;
  return success();
}

/// (C5)
static LogicalResult verifySequenceTiles(RowTilesOp op, int64_t longest) {
  int64_t rows = op.getTileRows(), least = leastSequenceTile(longest);
  if (longest <= 0 || rows < least || rows % kSequenceTileRows)
    return op.emitOpError("expects tiles of sequences of up to ")
           << longest << " rows to have a multiple of " << kSequenceTileRows
           << " rows, at least " << least << ", but got " << rows;
  auto starts = op->getNumOperands() > 0
                    ? dyn_cast<RankedTensorType>(op->getOperand(0).getType())
                    : RankedTensorType();
  if (!starts || starts.getRank() != 1 || !hasRows(starts) ||
      !starts.getElementType().isInteger(32))
    return op.emitOpError("expects its first operand to say where the "
                          "sequences of its rows start");
  return success();
}

LogicalResult RowTilesOp::verifyRegions() {
  int64_t rows = getTileRows();
  const bool isTileOfSequences = (*this)->hasAttr(kLongestSequenceAttrName);
  if (isTileOfSequences &&
      failed(verifySequenceTiles(*this, longestSequence(*this))))
    return failure();
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
    if (op.hasTrait<Ambient>())
      return op.emitOpError("expects to stand in the block itself, outside of "
                            "'hone.row_tiles'");
    if (isTileOfSequences && !isOfSequences(&op))
      return op.emitOpError("cannot run for one sequence after another");
    if (isTileOfSequences && llvm::any_of(op.getOperands(), [](Value operand) {
          return isAmbient(operand) && hasRows(operand.getType());
        }))
      return op.emitOpError("expects to read the rows of a tile, not those of "
                            "the batch");
    if (!isTileOfSequences && !isa<GradientOp>(op) && !op.hasTrait<RowWise>())
      return op.emitOpError("is not row-wise and cannot run for slices of "
                            "rows");
    // (C4)
    for (Value operand : op.getOperands())
      if (Operation *outside = operand.getDefiningOp();
          operand.getParentRegion() != &getBody() &&
          (!outside || !outside->hasTrait<Ambient>()))
        return op.emitOpError("expects each value from outside of "
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

LogicalResult ElementOp::verify() {
  return ShapeChecks(*this).isOfEntry("numbers", getNumbers(),
                                      getIndex()); // (C1)
}

LogicalResult PrefetchOp::verifySymbolUses(SymbolTableCollection &symbols) {
  return success(bool(findBlock(*this, getBlockAttr(), symbols))); // (C1)
}

LogicalResult ReleaseOp::verifySymbolUses(SymbolTableCollection &symbols) {
  return success(bool(findBlock(*this, getBlockAttr(), symbols))); // (C1)
}

LogicalResult RegionOp::verify() {
  // (C1)
  int64_t offset = getOffset(), bytes = getBytes();
  if (std::optional<ArrayRef<int64_t>> fewer = getFewer())
    for (int64_t other : *fewer)
      if (other < 0 || other % 64 != 0)
        offset = other;
  if (offset < 0 || offset % 64 != 0 || bytes < 0)
    return emitOpError("expects an offset that is a multiple of 64 and a size "
                       "that is not negative, but got ")
           << offset << " and " << bytes;
  return success();
}

int64_t RegionOp::offsetIn(unsigned placement) {
  ArrayRef<int64_t> fewer = getFewer().value_or(ArrayRef<int64_t>());
  return placement == 0 || placement > fewer.size()
             ? static_cast<int64_t>(getOffset())
             : fewer[placement - 1];
}

} // namespace hone
