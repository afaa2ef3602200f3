//===- AttentionKernels.h - What kinds of attention share -----------------===//

#pragma once

#include "passes/kernels/AttentionStrips.h"

namespace hone {

/// Turns dots into exp(score - max) in the strip, zero outside of what the
/// query sees up to column `keys`; stores 1/sum and returns max.
mlir::Value softmaxRow(KernelBuilder &k, Strips &strips, mlir::Value strip,
                       const QueryRow &query, mlir::Value keys,
                       mlir::Value scale, mlir::Value reciprocals);

/// Stores the row after the last that sees the key of `row`.
void storeKeyEnd(KernelBuilder &k, const AttentionSizes &sizes, mlir::Value row,
                 mlir::Value ends);

/// Copies the new keys and values to their positions.
void appendToCaches(CachedAttentionOp op, KernelBuilder &k);

/// The epilogue `acc * reciprocals[i]`.
inline auto normalizedBy(KernelBuilder &k, mlir::Value reciprocals) {
  return [&k, reciprocals](mlir::Value acc, mlir::Value i, mlir::Value) {
    return k.mul(acc, k.load(reciprocals, i));
  };
}

} // namespace hone
