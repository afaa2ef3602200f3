//===- TileShape.h - Which thread has which sums of a product -------------===//
//
// Shapes of tiles and their consequences, without any IR.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "targets/gpu/Kernel.h"

#include <cstdint>
#include <optional>

namespace hone::simt {

/// Neighbours of a thread, at most, in the grid of those that share a tile.
inline constexpr int64_t kNeighbours = 4;
/// Rows or columns of any tile, at most.
inline constexpr int64_t kMostPlaces = 128;
/// Columns of a tile of which four subgroups have half of the rows, at most: as
/// many as one instruction of theirs has, and 128 sums of a lane.
inline constexpr int64_t kMostGroupColumns = 256;
/// Of a tile without matrix units: a thread has 16 sums.
inline constexpr int64_t kMostScalarPlaces = 64;

/// Of the largest device, an H100 or H200.
inline constexpr int64_t kMultiprocessors = 132;

// Matrices of a matrix unit: 16 x 8 sums of 16 terms.
inline constexpr int64_t kMatrixRows = 16, kMatrixColumns = 8,
                         kMatrixTerms = 16;
/// Of heads with more features keys are wide, see DeviceFeatures.
inline constexpr int64_t kNarrowHead = 64;
/// Subgroups that multiply together, and the rows that they have.
inline constexpr int64_t kGroup = 4, kGroupRows = kGroup * kMatrixRows;

/// The tile that products on one `c` compute at once, and the part of each
/// thread.
struct TileShape {
  int64_t rows, columns;
  int64_t down, across; ///< threads along the rows and columns
  bool byMatrices;      ///< sums are where matrix units have them
  /// Subgroups along the rows and columns, with matrix units.
  int64_t subgroupsDown = 2, subgroupsAcross = 4;

  /// A workgroup's, for a product of up to `rows` x `columns`.
  /// `byGroups`: four subgroups multiply together where a tile is large enough.
  static TileShape of(int64_t rows, int64_t columns, bool byMatrices,
                      bool byGroups);
  /// A workgroup's, if `rows` x `columns` is a column of few sums, as an
  /// adapter's h and u: of a square's threads half would have no column.
  static std::optional<TileShape> narrow(int64_t rows, int64_t columns);
  /// A workgroup's whose threads each have whole columns, and neighbours have
  /// neighbours: for sums that are there already.
  static TileShape dealtOut(int64_t rows, int64_t columns);

  /// Whether sums are where four subgroups together have them, which is where
  /// each has whole rows.
  bool isByGroups() const { return byMatrices && subgroupsAcross == 1; }
  /// Whether a lane has so many sums that a multiprocessor has registers for
  /// one workgroup only.
  bool isWide() const { return isByGroups() && columns > kMostPlaces; }
  int64_t rowsEach() const { return rows / down; }
  int64_t columnsEach() const { return columns / across; }
  /// Of a subgroup, with matrix units.
  int64_t subgroupRows() const { return rows / subgroupsDown; }
  int64_t subgroupColumns() const { return columns / subgroupsAcross; }
  /// See StagedSide.
  static int64_t group(int64_t each, bool byMatrices) {
    return !byMatrices && each >= kNeighbours ? kNeighbours : 2;
  }
};

/// Whether a result of `rows` x `columns`, cut into tiles of kMostPlaces, is
/// work for all multiprocessors of the largest device. Such a tile takes half
/// of the bytes for each multiply-add that one of 64 by 64 takes; but with
/// fewer of them some multiprocessors would have none.
bool hasWorkForLargeTiles(int64_t rows, int64_t columns);

/// Whether such tiles are worth it where four subgroups multiply together: with
/// half of the multiprocessors at work they take less time than smaller tiles
/// with all of them. (An H100: 256 x 4,864 sums of 896 terms take 16.8 us, and
/// 19.8 in tiles of 64 by 64 of single subgroups.)
bool hasWorkForGroups(int64_t rows, int64_t columns);

/// The end of a tile's sums: they are stored, multiplied by activations of
/// another matrix, or stored as float32.
enum class TileEnd { Store, Gate, Scores };

/// Whether tiles of kMostPlaces by kMostGroupColumns take less time than those,
/// with sums of `terms`.
bool isWorthWideTiles(int64_t rows, int64_t columns, int64_t terms,
                      TileEnd end = TileEnd::Store);

/// Wide tiles of kMostPlaces rows whose columns are computed in turn, see
/// tile::Blocks: workgroups that run at a time read the fewest bytes if they
/// have about as many rows as columns. One, if there are no more of them.
/// (Smaller tiles take longer so: an H100 3 to 9 % for 8,192 x 896 sums.)
int64_t bandTiles(int64_t rows);

/// Rows of a tile of such a result that is not: half of them where even tiles
/// of kMostScalarPlaces leave multiprocessors without one. A tile then walks
/// with half of the instructions, and reads three quarters of the bytes.
int64_t matrixTileRows(int64_t rows, int64_t columns);

/// Whether so many rows of `columns` sums, at most eight, are work for all
/// multiprocessors of the largest device with a sum for each thread.
bool hasWorkForNarrowTiles(int64_t rows, int64_t columns);

/// Rows or columns of a tile of a thin result, whose other side is short, with
/// which all multiprocessors of the largest device have a tile, or the fewest
/// that are read 16 bytes at a time.
int64_t thinTilePlaces(int64_t places);

/// Columns of a tile of dA, which is `rank` x `places`, and of u, which has
/// `rank` columns and should not be cut: a tile of u reads all of dy. Tiles of
/// dA begin where 16 bytes do, and no tile has more than `most` columns.
int64_t adapterColumns(int64_t rank, int64_t places, int64_t most);

/// Blocks of terms over the subgroups of a workgroup: each of them has a whole
/// tile of sums of its own, and terms in shared memory of its own.
struct BlockSplit {
  TileShape shape; ///< a subgroup's
  int64_t parts;   ///< subgroups that have a block at a time
  int64_t stages;  ///< of a subgroup, in shared memory

  /// For a product of up to `rows` x `columns` with blocks of `terms` of
  /// `depth` terms, if that is known. None if the tile is large enough for all
  /// threads, if there is one block only, or if there is no room for two.
  static std::optional<BlockSplit> of(int64_t rows, int64_t columns,
                                      int64_t terms,
                                      std::optional<int64_t> depth,
                                      const DeviceFeatures &device);
};

} // namespace hone::simt
