//===- RowSums.h - An adapter's gradients on matrix units -----------------===//
//
// dA = u^T x and dB = dy^T h are sums over all rows of a batch. One side is
// wide and of bfloat16, the other has a few columns of float32. A float32
// number is the sum of three bfloat16 numbers, exactly, so matrix units
// multiply it as it is. Only the order of the sum is theirs.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "targets/gpu/TeamBuilder.h"

#include "dialects/Tile/TileDialect.h"

namespace hone::simt {

/// A workgroup's part of such a sum: each subgroup has all sums, of blocks of
/// kRows rows in turn. No bit depends on `places`.
struct RowSums {
  static constexpr int64_t kRows = 16;

  int64_t rank;      ///< columns of the narrow side
  int64_t places;    ///< columns of the wide side in a tile, at most
  bool isLeftNarrow; ///< dA, else dB
  int64_t blocks;    ///< of rows, of a stage
  int64_t stages;    ///< of a subgroup, in shared memory

  /// None: `op` is no such sum, or the device has no units for it.
  static std::optional<RowSums> of(tile::ProductOp op,
                                   const DeviceFeatures &device);
  static std::optional<RowSums> of(int64_t rank, int64_t places,
                                   bool isLeftNarrow,
                                   const DeviceFeatures &device);
  /// Columns of a tile of `width`, with which half of the multiprocessors of
  /// the largest device have one, or the fewest that are whole sectors.
  static int64_t placesFor(int64_t width);
  /// Whether there is code for so many columns of the narrow side.
  static bool isRank(int64_t rank) {
    return rank == 4 || rank == 8 || rank == 16;
  }

  /// Of the result.
  int64_t rows() const { return isLeftNarrow ? rank : places; }
  int64_t columns() const { return isLeftNarrow ? places : rank; }
  /// Of a block of rows.
  int64_t wideBytes() const { return 2 * kRows * places; }
  int64_t narrowBytes() const { return 4 * kRows * rank; }
  /// Shared bytes of a subgroup's stages.
  int64_t stagesBytes() const {
    return stages * blocks * (wideBytes() + narrowBytes());
  }
  /// Of a subgroup in all: its sums go where its stages were.
  int64_t bytes() const {
    return std::max(stagesBytes(), 4 * rows() * stride());
  }
  /// From row to row of its sums: eight lanes store a column of dA.
  int64_t stride() const { return isLeftNarrow ? places + 8 : rank; }
};

/// Stores the sums of each subgroup in `parts`, which is memref<kSubgroups x
/// ...> of `memory`.
void storeRowSums(tile::ProductOp op, const RowSums &sums, TeamBuilder &b,
                  mlir::Value memory, mlir::Value parts);

} // namespace hone::simt
