//===- Numerics.h - Block sizes that decide how sums are taken ------------===//
//
// Sums over features, vocabulary, rows and keys are taken block by block in
// order, so these sizes decide the last bits of a result. They are constants of
// the numerics: no plan or thread count may change them, and buffers are sized
// by them. A target may have another kLossColumns, and kernels of its own, such
// as attention's, which have sums of their own.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "llvm/Support/MathExtras.h"

#include <cstdint>

namespace hone::numerics {

/// Most terms of one dot product that are summed before they are added to the
/// result: features or vocabulary entries.
constexpr int64_t kMaxDotBlock = 1024;

/// Rows of one partial sum of a parameter's gradient. Tiles of rows
/// (hone.row_tiles) are multiples of it: the smaller, the lower a tile can be.
constexpr int64_t kGradientRows = 32;

/// Features of one partial sum of A's product with the dropped input.
constexpr int64_t kDropoutColumns = 256;

/// Elements of one partial sum of the squares of a parameter's gradient.
constexpr int64_t kSquaresBlock = 16384;

/// Sums that an optimizer's sum over a row or a tensor begins as, and that are
/// joined by halves; a power of two.
constexpr int64_t kPartialSums = 256;

/// Elements of a tensor that have one scale where an optimizer remembers bytes.
constexpr int64_t kStateBlock = 256;

/// Columns of a matrix whose squares an optimizer adds up together.
constexpr int64_t kColumnsBlock = 256;

/// How often SinkGD makes rows, then columns, as long as each other: L of the
/// paper's experiments.
constexpr int64_t kSinkhornRounds = 5;

/// Keys (or queries, in the adjoint) of one partial sum of attention.
constexpr int64_t kAttentionBlock = 256;

/// Query rows, or key rows in the adjoint, that attention handles together.
constexpr int64_t kAttentionRows = 32;

/// Vocabulary entries whose logits exist at one time: one partial sum of
/// exponentials, in the element type, and of d(loss)/d(x). Read by
/// lossColumns() alone: a module's attribute hone.loss_columns has its
/// target's.
constexpr int64_t kLossColumns = 1024;

/// The target of a row that has no loss.
constexpr int32_t kIgnoredTarget = -100;

/// The block in which a sum of `length` terms is taken: the fewest blocks of at
/// most kMaxDotBlock, all about equally long. Each begins with a whole word of
/// 128 bits, however the terms are stored.
inline int64_t dotBlock(int64_t length) {
  int64_t blocks = llvm::divideCeil(length, kMaxDotBlock);
  return blocks <= 1 ? length
                     : llvm::alignTo(llvm::divideCeil(length, blocks), 32);
}

} // namespace hone::numerics
