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

/// `h = x A^T`, unless it is a result.
SmallVector<MemRefType> LoraLinearOp::getWorkspace(int64_t maxRows) {
  if (getH())
    return {};
  return {MemRefType::get({maxRows, columns(getB())}, elementType(getX()))};
}

/// `u = scale * dy B`.
SmallVector<MemRefType> LoraLinearAdjointOp::getWorkspace(int64_t maxRows) {
  return {MemRefType::get({maxRows, columns(getB())}, elementType(getDy()))};
}

/// `u = scale * dy B`, and `h = x A^T` unless it was kept.
SmallVector<MemRefType> LoraParameterAdjointOp::getWorkspace(int64_t maxRows) {
  auto narrow =
      MemRefType::get({maxRows, columns(getB())}, elementType(getDy()));
  if (getH())
    return {narrow};
  return {narrow, narrow};
}

/// None: scores are private to a thread.
SmallVector<MemRefType> AttentionOp::getWorkspace(int64_t maxRows) {
  return {};
}

/// `D` and the two parts of the normalizer as `[heads, rows]`, and the row
/// where each row's sequence ends.
SmallVector<MemRefType> AttentionAdjointOp::getWorkspace(int64_t maxRows) {
  auto perHead = MemRefType::get({static_cast<int64_t>(getHeads()), maxRows},
                                 elementType(getDy()));
  auto ends = MemRefType::get({maxRows}, IntegerType::get(getContext(), 32));
  return {perHead, perHead, perHead, ends};
}

/// The logits of one chunk of rows, and the loss of each of its rows.
SmallVector<MemRefType> LinearCrossEntropyOp::getWorkspace(int64_t maxRows) {
  int64_t chunk = std::min(maxRows, numerics::kLossRows);
  return {MemRefType::get({chunk, rowsOf(getWeight())}, elementType(getX())),
          perRow(getContext(), chunk)};
}

/// `x ta^T` if `ta` is given, then `h = x A^T` if it is read and was not kept.
SmallVector<MemRefType> LoraParameterTangentOp::getWorkspace(int64_t maxRows) {
  auto narrow =
      MemRefType::get({maxRows, columns(getB())}, elementType(getX()));
  unsigned count = bool(getTa()) + (getTb() && !getH());
  return SmallVector<MemRefType>(count, narrow);
}

/// The logits of one chunk of rows, their tangents, and the tangent of each
/// row's loss.
SmallVector<MemRefType>
LinearCrossEntropyTangentOp::getWorkspace(int64_t maxRows) {
  int64_t chunk = std::min(maxRows, numerics::kLossRows);
  auto logits =
      MemRefType::get({chunk, rowsOf(getWeight())}, elementType(getX()));
  return {logits, logits, perRow(getContext(), chunk)};
}

/// The product of each row.
SmallVector<MemRefType> DotOp::getWorkspace(int64_t maxRows) {
  return {perRow(getContext(), maxRows)};
}
