//===- Blocks.h - How a target wants loops to be cut ----------------------===//
//
// The passes above the waist know only this of a machine's caches. No result
// depends on it.
//
//===----------------------------------------------------------------------===//

#pragma once

#include <cstdint>

namespace hone::tile {

/// The most that one iteration of `tile.parallel` does. A CPU's iteration is
/// worth waking a thread for, a GPU has hundreds at a time.
struct Blocks {
  // Sizes of a block of a product's result.
  int64_t columns = 64; ///< of f32; of f64 half as many
  int64_t rows = 0;     ///< 0: all
  /// Tiles of rows whose columns are computed in turn. Tiles that run at a time
  /// then share rows and columns.
  int64_t bandTiles = 1;
  /// Rows of private sums, which are beside a panel.
  int64_t sumRows = 256;
  /// Rows of a product with few columns, and columns of one with few rows.
  int64_t narrowRows = 32, narrowColumns = 128;
  /// Rows of the gradient of a weight.
  int64_t weightRows = 256;

  /// Rows of a kernel that works row by row.
  int64_t rowGroup = 16;
  /// Rows whose places are counted from the first of them on.
  int64_t countedRows = 64;
  /// Columns of a gradient that is a sum over rows.
  int64_t summedColumns = 64;
  /// Elements of a row of a weight that is formed once for all that read it.
  int64_t formedColumns = 512;
  /// Elements of an update.
  int64_t updateElements = 16384;
  /// Elements of one tensor, where an iteration may hold a sum of directions
  /// for each.
  int64_t parameterElements = 2048;

  /// Buffers of at most so many columns share no memory with any other of their
  /// block: loops that do not depend on each other can run at a time only if
  /// their results have places of their own.
  int64_t apartColumns = 0;
};

} // namespace hone::tile
