//===- AttentionStrips.h - Rows of scores and the loops over them ---------===//
//
// A thread owns a few query rows of one head (in the adjoint also a few key
// rows of one key head) and holds their scores as one strip. Sequences are
// contiguous, so the keys that a query sees, and the queries that see a key,
// are a range of rows, with a window too: masks are bounds of loops, and
// nothing outside the strip's range is visited. Strip column c stands for row
// `origin + c`.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "dialects/Hone/Numerics.h"
#include "passes/kernels/KernelBuilder.h"

namespace hone {

/// The sizes that attention, its adjoint and its tangent share.
struct AttentionSizes {
  mlir::Type element; ///< that scores are computed in
  bool roundsResults; ///< results are narrower than that
  int64_t heads, kvHeads, headDim;
  /// Keys that a row sees at most, itself among them; none: as many as a batch
  /// has rows.
  std::optional<int64_t> window;
  mlir::Value starts; ///< buffer
  mlir::Value scale;  ///< of type `element`
  int64_t mostKeys;   ///< that the rows of a strip see, or are seen by

  template <typename AttentionLike>
  static AttentionSizes of(AttentionLike op, KernelBuilder &k) {
    auto type = llvm::cast<mlir::RankedTensorType>(op.getQ().getType());
    int64_t heads = op.getHeads(), kvHeads = op.getKvHeads();
    mlir::Type element = computeType(type.getElementType());
    std::optional<int64_t> window = op.getWindow();
    if (window && *window >= k.maxRows())
      window.reset();
    return {element,
            element != type.getElementType(),
            heads,
            kvHeads,
            type.getDimSize(1) / heads,
            window,
            k.buffer(op.getStarts()),
            k.real(element, op.getScale().convertToDouble()),
            window
                ? std::min(*window + numerics::kAttentionRows - 1, k.maxRows())
                : k.maxRows()};
  }
  int64_t group() const { return heads / kvHeads; }
  /// The first key that `row` sees. Like `starts` it never decreases.
  mlir::Value firstKey(KernelBuilder &k, mlir::Value row) const;
};

/// Rows of one head that one iteration owns.
struct HeadBlock {
  mlir::Value head, first, count;
};

/// Runs the body for each of `heads` heads and each block of `size` rows, in
/// parallel.
void forEachHeadBlock(
    KernelBuilder &k, int64_t heads, int64_t size,
    llvm::ArrayRef<mlir::MemRefType> scratch,
    llvm::function_ref<void(const HeadBlock &, mlir::ValueRange)> body);

/// Queries of one head, and the keys that they see: `keys` rows from `origin`.
struct QueryStrip {
  mlir::Value first, count;
  mlir::Value head, column, kvColumn; ///< where the head's features begin
  mlir::Value origin, keys;
};
void forEachQueryStrip(
    KernelBuilder &k, const AttentionSizes &sizes,
    llvm::ArrayRef<mlir::MemRefType> scratch,
    llvm::function_ref<void(const QueryStrip &, mlir::ValueRange)> body);

/// Row `i` of a strip: query `row` sees `seen` keys from strip column `from`.
struct QueryRow {
  mlir::Value i, row, from, seen;
};
/// Runs the body for each of the strip's queries, see `tile.each`.
void forEachQuery(KernelBuilder &k, const AttentionSizes &sizes,
                  const QueryStrip &strip,
                  llvm::function_ref<void(const QueryRow &)> body);

/// A result for the rows that one iteration owns.
struct HeadResult {
  /// Where its sums are taken: the result itself or, where that is narrower
  /// than they are, private memory.
  KernelBuilder::Piece sums;
  KernelBuilder::Piece result;
};

/// The types of strips, and the operations on them.
class Strips {
public:
  using Value = mlir::Value;

  /// Strips of `rows` rows.
  Strips(KernelBuilder &k, const AttentionSizes &sizes,
         int64_t rows = numerics::kAttentionRows)
      : k(k), element(sizes.element), roundsResults(sizes.roundsResults),
        rows(rows), headDim(sizes.headDim), mostKeys(sizes.mostKeys),
        width(k.blockColumns(element)),
        headWidth(k.blockColumns(element, headDim)) {}

  /// `[rows, keys]`, with room for one block of columns more.
  mlir::MemRefType stripType() const;
  /// A value for each row of a strip.
  mlir::MemRefType rowTermType() const;
  /// Adds to `scratch` the memory of `count` results.
  void addResults(llvm::SmallVectorImpl<mlir::MemRefType> &scratch,
                  unsigned count) const;

  /// `result` has the memory `scratch` if it needs any.
  HeadResult resultAt(const KernelBuilder::Piece &result, Value scratch);
  /// Brings complete sums of `rows` rows to the result.
  void finish(const HeadResult &result, Value rows);

  /// strip[i][c] (+)= left[i] . right[c] for i < rows, c < columns.
  void dots(Value strip, const KernelBuilder::Piece &left,
            const KernelBuilder::Piece &right, Value rows, Value columns,
            bool accumulate = false);

  /// strip[i][c] = 0 for c in [0, from) and [to, columns).
  void zeroOutside(Value strip, Value i, Value from, Value to, Value columns);

  /// out[i] = epilogue((out[i]) + sum over c < columns of strip[i][c] *
  /// right[c]).
  void weightedSum(const KernelBuilder::Piece &out, Value strip,
                   const KernelBuilder::Piece &right, Value rows, Value columns,
                   bool accumulate, KernelBuilder::Epilogue epilogue = nullptr);

private:
  KernelBuilder &k;
  mlir::Type element;
  bool roundsResults;
  int64_t rows, headDim, mostKeys, width, headWidth;
};

} // namespace hone
