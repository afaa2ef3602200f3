//===- Sizes.h - Counts for the rules of costs and workspaces -------------===//

#pragma once

#include "dialects/Hone/HoneOps.h"

#include <optional>

namespace hone {

/// Elements of `value` in a batch of `rows` rows.
int64_t elements(mlir::Value value, int64_t rows);
int64_t columns(mlir::Value matrix);
int64_t rowsOf(mlir::Value matrix);
mlir::Type elementType(mlir::Value value);
/// A value that is neither operand nor result is as precise as those it is
/// computed from.
mlir::Type computedType(mlir::Value value);

/// hone.max_rows of the module that `op` is or is in; none: it does not say, or
/// `op` is in no module yet.
std::optional<int64_t> mostRows(mlir::Operation *op);
/// hone.max_positions of that module, which is of one sequence; none: its
/// sequences may have all rows of a batch.
std::optional<int64_t> mostPositions(mlir::Operation *op);
/// Rows that a sequence may have there in a batch of `rows` rows.
int64_t sequenceRows(mlir::Operation *op, int64_t rows);

/// 2 * rows * m * n for a product with a weight of the type [m, n].
int64_t productFlops(mlir::Value weight, int64_t rows);
/// Operations of a random word for each element: Philox4x32-10 makes four words
/// of twenty products, each with four other operations.
int64_t drawFlops(mlir::Value value, int64_t rows);

/// Module attribute: vocabulary entries of one partial sum of the loss and of
/// its dx, which is part of the numerics. Absent: numerics::kLossColumns.
inline constexpr llvm::StringLiteral kLossColumnsAttrName = "hone.loss_columns";
/// Its value for the module of `op`.
int64_t lossPartColumns(mlir::Operation *op);
/// Vocabulary entries whose logits exist at one time there: a tile, of one such
/// part or, where a target asks for long parts and the module has few rows, of
/// up to kLossParts. Parts of a tile are summed at the same time.
int64_t lossColumns(mlir::Operation *op);
inline constexpr int64_t kLossParts = 4;
/// Logits of a tile of several parts, at most.
inline constexpr int64_t kLossTileElements = int64_t(4) << 20;
void setLossColumns(mlir::ModuleOp module, int64_t columns);

/// Module attribute: in how many iterations, if heads allow, a target takes the
/// adjoint of attention, which is part of the numerics: each has sums over its
/// queries of its own. Absent: its kernels of attention need no memory for it.
inline constexpr llvm::StringLiteral kAttentionIterationsAttrName =
    "hone.attention_iterations";
/// Its value for the module of `op`; 0: it is absent.
int64_t attentionIterations(mlir::Operation *op);
void setAttentionIterations(mlir::ModuleOp module, int64_t iterations);

/// Keys of a block of scores there: this, or the rows of the module of `op` if
/// no batch has so many. The values of keys lie block by block, so that fewer
/// rows need fewer blocks.
inline constexpr int64_t kAttentionKeys = 128;
int64_t attentionKeys(mlir::Operation *op);

/// Module attribute: how many tiles of kPartRows by kPartColumns a target
/// multiplies at a time. Absent: products are not cut into parts.
inline constexpr llvm::StringLiteral kProductTilesAttrName =
    "hone.product_tiles";
void setProductTiles(mlir::ModuleOp module, int64_t tiles);
inline constexpr int64_t kPartRows = 128, kPartColumns = 128;
/// Terms of a part are a multiple of this, and at least kFewestPartTerms, of
/// sums of at least kFewestTermsInParts: shorter ones take little longer than
/// the launch that joins parts.
inline constexpr int64_t kPartTerms = 64, kFewestPartTerms = 512,
                         kFewestTermsInParts = 4096;
/// Parts of the terms of the rounded product of `op`, an adapter's or its
/// adjoint, of its first operand with `weight`. More than one where the batch
/// has so few rows that the tiles of the result would leave most of that
/// target idle, and a sum is long: parts are multiplied at a time, and added up
/// in their order.
int64_t productParts(mlir::Operation *op, mlir::Value weight);
/// Sums of those parts side by side, in batches of `rows` rows; nothing: there
/// is one part.
llvm::SmallVector<mlir::MemRefType>
productPartsType(mlir::Operation *op, mlir::Value weight, int64_t rows);

/// How the query heads of a key head are divided among iterations.
struct HeadParts {
  int64_t heads; ///< of a part; the last one may have fewer
  int64_t count;
};
/// The fewest parts of each of `kvHeads` with which there are `iterations`, or
/// one for each query head.
HeadParts headParts(int64_t heads, int64_t kvHeads, int64_t iterations);

/// A double for each row: parts of a sum that is taken in order.
mlir::MemRefType perRow(mlir::MLIRContext *context, int64_t rows);
/// A buffer for a parameter that is read many times, if each read would make
/// its random numbers again; else nothing. `byElement`: also if it is in
/// groups, whose rows only products read.
llvm::SmallVector<mlir::MemRefType> formedOnce(mlir::Value parameter,
                                               bool byElement = false);

} // namespace hone
