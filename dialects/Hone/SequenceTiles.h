//===- SequenceTiles.h - Tiles of rows that end where sequences do --------===//
//
// With the attribute hone.longest_sequence hone.row_tiles has tiles of whole
// sequences, the last ones first, so its body may have attention. Kernels count
// blocks of keys and queries from the batch's first row on. So the rows of a
// tile begin where such a block does, and the first of them may be of sequences
// that began before. Results keep the memory of these rows as it was, since a
// result may be written over an operand: no bit depends on tiles.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "dialects/Hone/HoneOps.h"
#include "dialects/Hone/Sizes.h"

#include "mlir/IR/BuiltinOps.h"

namespace hone {

/// Attribute of hone.row_tiles: rows of the longest sequence that a batch has.
/// Its tiles are of whole sequences, and its first operand says where they
/// start.
inline constexpr llvm::StringLiteral kLongestSequenceAttrName =
    "hone.longest_sequence";

/// Its value for `op`; 0: it is absent.
int64_t longestSequence(mlir::Operation *op);
void setLongestSequence(RowTilesOp tiles, int64_t rows);

/// Rows of the longest sequence that tiles of `module` have room for, its
/// hone.max_positions; 0: it has no such tiles, as without
/// hone.attention_iterations.
int64_t tiledSequences(mlir::ModuleOp module);

/// The rows of a tile begin at a multiple of this.
inline constexpr int64_t kSequenceTileRows = kAttentionKeys;
/// The lowest tile that has room for any sequence.
int64_t leastSequenceTile(int64_t longest);

/// Memory at the beginning of a tile's for rows before its first sequence: of
/// all results of `tiles`, or of one. Of tiles of other rows 0.
int64_t bytesBeforeSequences(RowTilesOp tiles);
int64_t bytesBeforeSequences(mlir::Type result);

/// Whether a row of each result of `op` depends on rows of its sequence alone,
/// and on where they stand there.
bool isOfSequences(mlir::Operation *op);

} // namespace hone
