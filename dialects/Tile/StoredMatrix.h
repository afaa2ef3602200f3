//===- StoredMatrix.h - Elements of a matrix, however it is stored --------===//
//
// The formula of `tile.read_row` in scalar code, which ops that read stored
// matrices share.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "dialects/Tile/ScalarBuilder.h"
#include "dialects/Tile/TileDialect.h"

namespace hone {

/// w[row][column] of the op in the type `element`, dequantised if it is packed.
mlir::Value loadStored(ScalarBuilder &b, tile::ReadRowOp op, mlir::Type element,
                       mlir::Value row, mlir::Value column);
mlir::Value loadStored(ScalarBuilder &b, tile::ProductOp op, mlir::Type element,
                       mlir::Value row, mlir::Value column);

/// `count` neighbours in a row of a packed `w`, from a column on that begins a
/// byte and is a multiple of `count`.
llvm::SmallVector<mlir::Value> loadPacked(ScalarBuilder &b, tile::ProductOp op,
                                          mlir::Type element, mlir::Value row,
                                          mlir::Value column, int64_t count);

} // namespace hone
