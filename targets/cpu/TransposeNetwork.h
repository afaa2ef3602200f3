//===- TransposeNetwork.h - Transposing squares in registers --------------===//
//
// An explicit network of two-operand shuffles. Do not replace it by
// vector.transpose, and do not canonicalise after it: both end in many times
// the instructions.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "mlir/IR/Builders.h"

namespace hone {

/// Transposes a square of `lanes` vectors. Rows are first transposed inside
/// each 128-bit lane by unpacking, then the lanes among each other; x86 does
/// either step in one instruction per result.
class TransposeNetwork {
public:
  TransposeNetwork(mlir::OpBuilder &b, mlir::Location loc, unsigned lanes,
                   unsigned elementBits)
      : b(b), loc(loc), lanes(lanes),
        perChunk(std::min(lanes, 128 / elementBits)) {}

  llvm::SmallVector<mlir::Value> transpose(llvm::ArrayRef<mlir::Value> rows);

  /// Deals units of `unit` elements out in turn: of n operands, result r has
  /// those in the places r, r + n, ... of all of them. n is a power of two.
  llvm::SmallVector<mlir::Value> deal(llvm::ArrayRef<mlir::Value> operands,
                                      unsigned unit);

private:
  /// Transposes perChunk rows within each chunk; units of `unit` elements are
  /// already in place.
  llvm::SmallVector<mlir::Value> unpackRows(llvm::ArrayRef<mlir::Value> rows,
                                            unsigned unit);
  /// a0 b0 a1 b1 of each chunk, or a2 b2 a3 b3, in units.
  mlir::Value unpack(mlir::Value x, mlir::Value y, unsigned unit, bool high);
  mlir::Value everySecond(mlir::Value x, mlir::Value y, unsigned first,
                          unsigned unit);

  mlir::OpBuilder &b;
  mlir::Location loc;
  unsigned lanes, perChunk;
};

} // namespace hone
