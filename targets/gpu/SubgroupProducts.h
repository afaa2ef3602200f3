//===- SubgroupProducts.h - Products out of a subgroup's registers --------===//
//
// A lane gives the matrix unit 16 bytes of a row: a sum may have its terms in
// any order, as long as both sides have the same one. Lane `4 g + t` has the
// eight of 32 terms from `8 t` on: of rows `g` and `g + 8` on the left, and of
// column `g` of eight on the right.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "targets/gpu/TeamBuilder.h"
#include "targets/gpu/TileShape.h"

#include "dialects/Tile/TileDialect.h"

namespace hone::simt {

/// Eight neighbouring numbers of bfloat16, the first in the lowest bits.
using Words = llvm::SmallVector<mlir::Value, 4>;

/// Terms of a row that a lane has, and that a subgroup multiplies at a time.
inline constexpr int64_t kLaneTerms = 8, kSubgroupTerms = 4 * kLaneTerms;
/// Sums of a lane for a matrix of 16 x 8.
inline constexpr int64_t kLaneSums = 4;

/// sums += left . right over kSubgroupTerms terms: `low` and `high` are of the
/// lane's two rows, `right` of a column for each matrix of sums.
void addTerms(TeamBuilder &b, llvm::MutableArrayRef<mlir::Value> sums,
              const Words &low, const Words &high, llvm::ArrayRef<Words> right);

/// A workgroup's part of a thin product on matrix units: each subgroup has all
/// sums, of terms of its own.
struct ThinTile {
  int64_t rows, columns; ///< whole matrices of the unit
  int64_t terms;         ///< of a sum
  int64_t atOnce;        ///< times kSubgroupTerms that are loaded together

  /// None: `op` is not thin, or not of bfloat16 on both sides, or the device
  /// has no such units.
  static std::optional<ThinTile> of(tile::ProductOp op,
                                    const DeviceFeatures &device);
  /// For up to `rows` x `columns` sums of `terms` terms.
  static std::optional<ThinTile> of(int64_t rows, int64_t columns,
                                    int64_t terms);

  int64_t sums() const { return rows * columns; }
};

/// Stores the sums of each subgroup in `parts`, memref<kSubgroups x sums>.
void storeThinParts(tile::ProductOp op, const ThinTile &tile, TeamBuilder &b,
                    mlir::Value parts);

} // namespace hone::simt
