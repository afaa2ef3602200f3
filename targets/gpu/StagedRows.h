//===- StagedRows.h - Rows of a head in shared memory for matrix units ----===//
//
// 64 neighbouring features of a row fill the 128 bytes of one line, which eight
// neighbouring threads copy; more features are further panels of such lines.
// The line's pieces of 16 bytes are permuted by the row's number, so that
// neither a copy nor `simt.load_matrices` wants a bank twice.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "targets/gpu/SubgroupProducts.h"

namespace hone::simt {

/// A matrix in the device's memory, and the column where a head begins.
struct HeadMatrix {
  mlir::Value matrix, column;
};

/// Where the lanes of a subgroup find a matrix unit's operands in any such
/// rows.
class StagedRows {
public:
  /// Features of a line.
  static constexpr int64_t kLine = 64;
  /// Rows that the threads bring at once: all are a multiple of it.
  static constexpr int64_t kLeastRows = kThreads * kLaneTerms / kLine;

  /// `memory` is shared, has one dimension, and is of bfloat16.
  StagedRows(TeamBuilder &b, mlir::Value memory);

  /// Numbers of `rows` rows. A stage begins at a multiple of kLine.
  static int64_t numbers(int64_t rows, int64_t features) {
    return rows * features;
  }
  /// All threads bring rows `first` and on into the `rows` ones from number
  /// `at` on; a row outside [from, last] becomes the nearest inside. Numbers of
  /// rows have 32 bits.
  void bring(mlir::Value at, int64_t rows, int64_t features,
             const HeadMatrix &source, mlir::Value first, mlir::Value from,
             mlir::Value last);

  // Of a panel that begins at number `at`, from feature `feature` of it on:

  /// The left side of a product: 16 rows, 16 terms.
  Words left(mlir::Value at, mlir::Value feature) {
    return load(at, sixteen, feature, /*transpose=*/false);
  }
  /// The right side: 8 rows are columns, 32 terms.
  Words right(mlir::Value at, mlir::Value feature) {
    return load(at, eight, feature, /*transpose=*/false);
  }
  /// The right side: 16 rows are terms, two times 8 features are columns, two
  /// words each.
  Words across(mlir::Value at, mlir::Value feature) {
    return load(at, sixteen, feature, /*transpose=*/true);
  }

  const mlir::Value memory;

private:
  using Value = mlir::Value;
  static constexpr int64_t kPieces = kLine / kLaneTerms;

  /// Words of matrices, of which the lane's row is `lane` from `at` on where
  /// `feature` is 0.
  Words load(Value at, Value lane, Value feature, bool transpose);
  Value swizzled(Value row, Value piece);

  TeamBuilder &b;
  Value thread, threadRow, threadFeature;
  /// Of a lane from the first of 16 rows on, and of 8: of other pieces of the
  /// same rows it differs in bits that nothing else has.
  Value sixteen, eight;
};

} // namespace hone::simt
