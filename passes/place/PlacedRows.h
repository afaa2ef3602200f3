//===- PlacedRows.h - The rows that a placement is made for ---------------===//
//
// A module has a placement for hone.max_rows and, where hone.fewer_rows says
// so, further ones for fewer. The code is one and knows strides for the most
// rows only, so only values whose outermost dimension is rows need less memory.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Operation.h"

#include <vector>

namespace hone {

/// Batches of up to `rows` rows, by code for up to `most`.
struct PlacedRows {
  int64_t rows;
  int64_t most;
};

/// A half, a quarter, ... of `rows`, rounded up: `halvings` numbers, or fewer,
/// each at least 2 (the rows of the shortest sequence) and below the one
/// before.
std::vector<int64_t> halvedRows(int64_t rows, int64_t halvings);

/// The rows of each placement of `module`, the one for hone.max_rows first; all
/// have its `most`. One row without that attribute, without which nothing can
/// be placed.
llvm::SmallVector<PlacedRows> placedRows(mlir::Operation *module);

/// Rows of a tile in a placement, by code for tiles of `tileRows`: in
/// proportion to those of a batch, and a multiple of the rows of one partial
/// sum, so that no bit depends on it.
int64_t tileRowsIn(int64_t tileRows, PlacedRows rows);

/// Bytes of a tensor in a placement.
int64_t bytesIn(mlir::Type type, PlacedRows rows);
/// The same of a workspace's buffer, whose types for all rows and for those of
/// the placement are `whole` and `fewer`.
int64_t bytesIn(mlir::MemRefType whole, mlir::MemRefType fewer);

/// Bytes from one slot of a pool, tensor<slots x rows x ...>, to the next.
int64_t poolStride(mlir::Type pool, PlacedRows rows);

/// A number that depends on the placement, in two attributes: that of placement
/// 0, and the others. An op without the second has one number for all.
int64_t placedNumber(mlir::Operation *op, llvm::StringRef whole,
                     llvm::StringRef fewer, unsigned placement);
/// Writes both; the second where there are further placements.
void setPlacedNumber(mlir::Operation *op, llvm::StringRef whole,
                     llvm::StringRef fewer, llvm::ArrayRef<int64_t> numbers);

} // namespace hone
