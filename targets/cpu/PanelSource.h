//===- PanelSource.h - The matrix that a fill reads -----------------------===//
//
// Floats of any width, or packed integers with a scale and a bias for each
// group of a row. Numbers are read in the panel's element type, rounded once.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "targets/cpu/PointerBuilder.h"

namespace hone {

/// The element type of a matrix, and its groups if it is packed.
struct SourceFormat {
  mlir::Type numbers; ///< f32, f64, bf16, or i8 for packed integers
  int64_t bits = 0;   ///< of a packed integer: 4 or 8
  int64_t group = 0;  ///< packed integers that share a scale and a bias

  bool isPacked() const { return bits != 0; }
  int64_t numberBits() const {
    return isPacked() ? bits : numbers.getIntOrFloatBitWidth();
  }
  /// "bf16", "int4_g64": part of the name of a function.
  std::string name() const;
  /// Types of the arguments that describe a piece:
  ///   floats:  source: ptr to the piece, ld: i64
  ///   packed:  source, scales, biases: ptr to the piece's first row,
  ///            ld: i64, column: i64 of the piece
  /// `ld` and `column` count numbers.
  llvm::SmallVector<mlir::Type> argumentTypes(mlir::MLIRContext *context) const;
};

/// Emits reads of one piece. Rows and columns count from the piece.
class PanelSource {
public:
  /// `arguments` are of format.argumentTypes().
  PanelSource(mlir::OpBuilder &b, mlir::Location loc,
              const SourceFormat &format, mlir::Type element,
              mlir::ValueRange arguments)
      : b(b), loc(loc), p(b, loc), format(format), element(element),
        arguments(arguments) {}

  /// Where a row is; hoisted out of loops over its columns.
  struct Row {
    mlir::Value numbers, scales, biases;
  };
  Row row(mlir::Value index);
  /// `lanes` numbers from `column` on, of one group.
  mlir::Value vector(const Row &row, mlir::Value column, unsigned lanes);
  mlir::Value scalar(const Row &row, mlir::Value column);
  /// Numbers in a cache line.
  int64_t perLine() const { return 512 / format.numberBits(); }
  /// Asks for the line of a number into the nearest cache; it may be outside of
  /// the matrix. Only of floats.
  void request(const Row &row, mlir::Value column);

  /// Numbers that share a word of 32 bits, where they are moved as such: a
  /// square of words is transposed as fast as one of f32. 1 where they are not.
  unsigned perWord() const;
  /// `lanes` words of a row from `column` on.
  mlir::Value words(const Row &row, mlir::Value column, unsigned lanes);
  /// The scale and the bias that `rows` have at `column`, a lane for each row.
  struct Groups {
    mlir::Value scales, biases;
  };
  Groups groups(llvm::ArrayRef<Row> rows, mlir::Value column);
  /// Number `index` of each word, of a row that has a lane in `groups`.
  mlir::Value number(mlir::Value words, unsigned index, const Groups &groups);
  /// Of `terms` numbers from a multiple of `terms` on, how many share a group.
  int64_t groupTerms(int64_t terms) const {
    return format.isPacked() ? std::min(terms, format.group) : terms;
  }
  /// Whether that is so in this piece. Null: it always is.
  mlir::Value isAligned(int64_t terms);

  /// The packed integer of the same place, as a float.
  mlir::Value integer(mlir::Value words, unsigned index);

private:
  /// scale * q + bias; `column` is the matrix's.
  mlir::Value dequantise(mlir::Value integers, const Row &row,
                         mlir::Value column);

  mlir::OpBuilder &b;
  mlir::Location loc;
  PointerBuilder p;
  SourceFormat format;
  mlir::Type element;
  mlir::ValueRange arguments;
};

} // namespace hone
