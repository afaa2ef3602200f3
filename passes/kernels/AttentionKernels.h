//===- AttentionKernels.h - Code that kinds of attention share ------------===//

#pragma once

#include "passes/kernels/AttentionStrips.h"

namespace hone {

/// Turns dots into exp(score - max) in the strip, zero outside of the keys that
/// the query sees up to column `keys`; stores 1/sum and returns max.
mlir::Value softmaxRow(KernelBuilder &k, Strips &strips, mlir::Value strip,
                       const QueryRow &query, mlir::Value keys,
                       mlir::Value scale, mlir::Value reciprocals);

/// exp(scale * dot - maximum), with one rounding before the exponential: scores
/// can be in the hundreds, where a second one would be 1e-5 of the result.
mlir::Value weightOf(KernelBuilder &k, mlir::Value dot, mlir::Value scale,
                     mlir::Value maximum);

/// Stores the row after the last that sees the key of `row`.
void storeKeyEnd(KernelBuilder &k, const AttentionSizes &sizes, mlir::Value row,
                 mlir::Value ends);
/// ends[i] = the row after the last row that sees key i.
void emitKeyEnds(KernelBuilder &k, const AttentionSizes &sizes,
                 mlir::Value ends);

/// The adjoint's operands for each block of scores.
struct AttentionAdjointOperands {
  AttentionSizes sizes;
  mlir::Value dy, q, key, v;
  mlir::Value terms, maxima, reciprocals, ends; ///< workspace

  static AttentionAdjointOperands of(AttentionAdjointOp op, KernelBuilder &k);
};

/// D and the normalizer's two parts, each as [heads, rows], so that a strip
/// over queries reads them in order.
void emitRowTerms(KernelBuilder &k, const AttentionAdjointOperands &in,
                  mlir::Value y, mlir::Value normalizer);

/// Copies the new keys and values to their positions.
void appendToCaches(CachedAttentionOp op, KernelBuilder &k);

/// The epilogue `acc * reciprocals[i]`.
inline auto normalizedBy(KernelBuilder &k, mlir::Value reciprocals) {
  return [&k, reciprocals](mlir::Value acc, mlir::Value i, mlir::Value) {
    return k.mul(acc, k.load(reciprocals, i));
  };
}

} // namespace hone
