//===- HoneWorkspace.cpp - Memory that ops need while they run ------------===//
//
// The order of the buffers is a contract with the kernels (passes/kernels),
// which find them by position. Scratch that one thread needs for one iteration
// is not here: it is private to the tile.parallel that uses it.
//
//===----------------------------------------------------------------------===//

#include "dialects/Hone/HoneOps.h"
#include "dialects/Hone/Numerics.h"

using namespace mlir;
using namespace hone;

static Type elementType(Value value) {
  return cast<RankedTensorType>(value.getType()).getElementType();
}

/// What is neither operand nor result is as precise as what it is computed
/// from.
static Type computedType(Value value) {
  return computeType(elementType(value));
}

static int64_t columns(Value matrix) {
  return cast<RankedTensorType>(matrix.getType()).getDimSize(1);
}

static int64_t rowsOf(Value matrix) {
  return cast<RankedTensorType>(matrix.getType()).getDimSize(0);
}

/// A double for each row: parts of a sum that is taken in order.
static MemRefType perRow(MLIRContext *context, int64_t rows) {
  return MemRefType::get({rows}, Float64Type::get(context));
}

/// Where a parameter is written down that is read many times, if each reading
/// would make its random numbers again; else nothing. `byElement`: also if it
/// is in groups, of which products alone read rows.
static SmallVector<MemRefType> formedOnce(Value parameter,
                                          bool byElement = false) {
  Operation *op = parameter ? parameter.getDefiningOp() : nullptr;
  auto plain = dyn_cast_or_null<ParameterOp>(op);
  bool isGrouped = plain && plain.getStored() && plain.getStored()->isGrouped();
  if (!isa_and_nonnull<PerturbedOp, DirectionOp>(op) &&
      !(byElement && isGrouped))
    return {};
  return {MemRefType::get({rowsOf(parameter), columns(parameter)},
                          computedType(parameter))};
}

/// `h = scale * x A^T`, unless it is a result; A, if it is formed once.
SmallVector<MemRefType> LoraLinearOp::getWorkspace(int64_t maxRows) {
  SmallVector<MemRefType> buffers;
  if (!getH())
    buffers.push_back(
        MemRefType::get({maxRows, columns(getB())}, computedType(getX())));
  buffers.append(formedOnce(getA()));
  return buffers;
}

/// `u = scale * dy B`.
SmallVector<MemRefType> LoraLinearAdjointOp::getWorkspace(int64_t maxRows) {
  return {MemRefType::get({maxRows, columns(getB())}, computedType(getDy()))};
}

/// `u = scale * dy B`, and `h = scale * x A^T` unless it was kept.
SmallVector<MemRefType> LoraParameterAdjointOp::getWorkspace(int64_t maxRows) {
  auto narrow =
      MemRefType::get({maxRows, columns(getB())}, computedType(getDy()));
  if (getH())
    return {narrow};
  return {narrow, narrow};
}

/// The statistics, unless they were kept.
SmallVector<MemRefType>
LayerNormParameterAdjointOp::getWorkspace(int64_t maxRows) {
  if (getStatistics())
    return {};
  return {MemRefType::get({maxRows, 2}, computedType(getX()))};
}

/// None: scores are private to a thread.
SmallVector<MemRefType> AttentionOp::getWorkspace(int64_t maxRows) {
  return {};
}

/// `D` and the two parts of the normalizer as `[heads, rows]`, and the row
/// after the last that sees each row's key.
SmallVector<MemRefType> AttentionAdjointOp::getWorkspace(int64_t maxRows) {
  auto perHead = MemRefType::get({static_cast<int64_t>(getHeads()), maxRows},
                                 computedType(getDy()));
  auto ends = MemRefType::get({maxRows}, IntegerType::get(getContext(), 32));
  return {perHead, perHead, perHead, ends};
}

/// Of the rows that have a target: logits of one tile of the vocabulary, x, the
/// row's number with their count behind the last, maximum and sum so far,
/// target's logit, result.
template <typename LossLike>
static SmallVector<MemRefType> lossWorkspace(LossLike op, int64_t maxRows) {
  Type element = elementType(op.getX());
  int64_t tile = std::min(rowsOf(op.getWeight()), numerics::kLossColumns);
  MemRefType scalar = perRow(op.getContext(), maxRows);
  return {MemRefType::get({maxRows, tile}, computeType(element)),
          MemRefType::get({maxRows, columns(op.getX())}, element),
          MemRefType::get({maxRows + 1}, IntegerType::get(op.getContext(), 32)),
          scalar,
          scalar,
          scalar,
          scalar};
}

/// With sums of dx in place of x, see LinearCrossEntropyOp::sumsApart. Where
/// labels are smoothed, the sum of each row's logits; and for dx the sum of the
/// head's rows, and the ones that those of a tile are multiplied by.
SmallVector<MemRefType> LinearCrossEntropyOp::getWorkspace(int64_t maxRows) {
  SmallVector<MemRefType> buffers = lossWorkspace(*this, maxRows);
  if (sumsApart())
    buffers[1] = cast<MemRefType>(computeType(buffers[1]));
  if (!getSmoothing())
    return buffers;
  buffers.push_back(perRow(getContext(), maxRows));
  int64_t tile = std::min(rowsOf(getWeight()), numerics::kLossColumns);
  if (getDx())
    for (int64_t width : {columns(getWeight()), tile})
      buffers.push_back(MemRefType::get({1, width}, computedType(getX())));
  return buffers;
}

/// As the loss; the result is what the terms of a row are multiplied by.
SmallVector<MemRefType>
LinearCrossEntropyParameterAdjointOp::getWorkspace(int64_t maxRows) {
  return lossWorkspace(*this, maxRows);
}

/// `r`, unless it was kept.
SmallVector<MemRefType>
RmsNormParameterAdjointOp::getWorkspace(int64_t maxRows) {
  if (getRstd())
    return {};
  return {MemRefType::get({maxRows, static_cast<int64_t>(getHeads())},
                          computedType(getX()))};
}

/// `scale * x ta^T` if `ta` is given, then `h = scale * x A^T` if it is read
/// and was not kept; `ta`, if it is formed once.
SmallVector<MemRefType> LoraParameterTangentOp::getWorkspace(int64_t maxRows) {
  auto narrow =
      MemRefType::get({maxRows, columns(getB())}, computedType(getX()));
  unsigned count = bool(getTa()) + (getTb() && !getH());
  SmallVector<MemRefType> buffers(count, narrow);
  buffers.append(formedOnce(getTa()));
  return buffers;
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

/// A, if it is formed once.
SmallVector<MemRefType> RowLengthsOp::getWorkspace(int64_t) {
  return formedOnce(getA(), /*byElement=*/true);
}

/// The factors.
SmallVector<MemRefType> RescaleOp::getWorkspace(int64_t) {
  auto type = cast<RankedTensorType>(getLengths().getType());
  return {MemRefType::get(type.getShape(), type.getElementType())};
}

/// The product of each row.
SmallVector<MemRefType> DotOp::getWorkspace(int64_t maxRows) {
  return {perRow(getContext(), maxRows)};
}
