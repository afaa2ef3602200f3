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
  int64_t vocabulary =
      cast<RankedTensorType>(getWeight().getType()).getDimSize(0);
  return {MemRefType::get({chunk, vocabulary}, elementType(getX())),
          MemRefType::get({chunk}, Float64Type::get(getContext()))};
}
