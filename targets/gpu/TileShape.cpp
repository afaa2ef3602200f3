//===- TileShape.cpp - Which thread has which sums of a product -----------===//
//
// See TileShape.h.
//
//===----------------------------------------------------------------------===//

#include "targets/gpu/TileShape.h"

#include "targets/gpu/StagedSide.h"

#include "llvm/Support/MathExtras.h"

using namespace hone;
using namespace hone::simt;

/// Threads along a side of a workgroup's square.
static constexpr int64_t kSide = 16;
/// Columns of a tile that is narrower than that.
static constexpr int64_t kNarrow = 8;
/// Sums of a lane, at most, where a subgroup has a tile of its own: of larger
/// tiles every thread of a workgroup has enough to do.
static constexpr int64_t kMostSums = 32;
/// Numbers of two bytes that 16 bytes hold.
static constexpr int64_t kFewestThinPlaces = 8;

static_assert(kSide * kSide == kThreads);

TileShape TileShape::of(int64_t rows, int64_t columns, bool byMatrices,
                        bool byGroups) {
  auto side = [&](int64_t places, int64_t least) {
    int64_t most = byMatrices ? kMostPlaces : kMostScalarPlaces;
    while (least < most && least < places)
      least *= 2;
    return least;
  };
  if (!byMatrices)
    return {side(rows, kSide), side(columns, kSide), kSide, kSide, false};
  // Lanes load two matrices of terms side by side. A quarter of a subgroup's
  // lanes is along the rows of a matrix, two sums of a lane along its columns.
  TileShape shape{kMostPlaces, kMostPlaces, 0, 0, true};
  assert(shape.subgroupsDown * shape.subgroupsAcross == kSubgroups);
  shape.rows = side(rows, shape.subgroupsDown * kMatrixRows);
  shape.columns = side(columns, shape.subgroupsAcross * 2 * kMatrixColumns);
  if (byGroups && std::min(shape.rows, shape.columns) == kMostPlaces) {
    if (columns > kMostPlaces)
      shape.columns = kMostGroupColumns;
    shape.subgroupsDown = kSubgroups;
    shape.subgroupsAcross = 1;
  }
  shape.down = shape.subgroupsDown * 8;
  shape.across = shape.subgroupsAcross * 4;
  return shape;
}

std::optional<TileShape> TileShape::narrow(int64_t rows, int64_t columns) {
  if (columns > kNarrow || rows <= kSide)
    return std::nullopt;
  constexpr int64_t kDown = kThreads / kNarrow;
  return TileShape{rows <= kDown ? kDown : kMostScalarPlaces, kNarrow, kDown,
                   kNarrow, false};
}

TileShape TileShape::dealtOut(int64_t rows, int64_t columns) {
  int64_t across = std::min(columns, kThreads), down = kThreads / across;
  return {std::max(rows, down), columns, down, across, false};
}

bool simt::hasWorkForNarrowTiles(int64_t rows, int64_t columns) {
  return columns <= kNarrow &&
         llvm::divideCeil(rows, kThreads / kNarrow) >= kMultiprocessors;
}

static int64_t largeTiles(int64_t rows, int64_t columns) {
  return llvm::divideCeil(rows, kMostPlaces) *
         llvm::divideCeil(columns, kMostPlaces);
}

bool simt::hasWorkForLargeTiles(int64_t rows, int64_t columns) {
  return largeTiles(rows, columns) >= kMultiprocessors;
}

bool simt::hasWorkForGroups(int64_t rows, int64_t columns) {
  return 2 * largeTiles(rows, columns) >= kMultiprocessors;
}

bool simt::isWorthWideTiles(int64_t rows, int64_t columns, int64_t terms,
                            TileEnd end) {
  int64_t wide =
      llvm::divideCeil(rows, kMostPlaces) * (columns / kMostGroupColumns);
  if (columns % kMostGroupColumns || wide < kMultiprocessors)
    return false;
  // Cycles of a multiprocessor, as an H100 took them for 8,192 rows, 896 to
  // 11,008 terms, and 2,048 to 11,008 columns: for 64 terms of a tile, and for
  // the code before and after them. Two smaller tiles hide most of that from
  // each other; a wide one reads three quarters of the bytes of two.
  struct Rest {
    int64_t small, wide;
  };
  constexpr Rest kRests[] = {{600, 6800}, {6800, 25000}, {4900, 18400}};
  constexpr int64_t kTerms = 64, kSmallStage = 870,
                    kWideStage = kSmallStage * 3 / 2;
  Rest rest = kRests[llvm::to_underlying(end)];
  int64_t stages = llvm::divideCeil(terms, kTerms);
  auto turns = [](int64_t tiles) {
    return llvm::divideCeil(tiles, kMultiprocessors);
  };
  int64_t small = largeTiles(rows, columns);
  return turns(wide) * (stages * kWideStage + rest.wide) <
         turns(small) * (stages * kSmallStage + rest.small);
}

int64_t simt::bandTiles(int64_t rows) {
  constexpr int64_t kBand = 16;
  return rows > kBand * kMostPlaces ? kBand : 1;
}

int64_t simt::matrixTileRows(int64_t rows, int64_t columns) {
  bool hasWork = llvm::divideCeil(rows, kMostScalarPlaces) *
                     llvm::divideCeil(columns, kMostScalarPlaces) >=
                 kMultiprocessors;
  return hasWork ? kMostScalarPlaces : kMostScalarPlaces / 2;
}

int64_t simt::thinTilePlaces(int64_t places) {
  int64_t each = kMostScalarPlaces;
  while (each > kFewestThinPlaces &&
         llvm::divideCeil(places, each) < kMultiprocessors)
    each /= 2;
  return each;
}

int64_t simt::adapterColumns(int64_t rank, int64_t places, int64_t most) {
  int64_t whole = llvm::PowerOf2Ceil(rank);
  return std::min(std::max(whole, thinTilePlaces(places)), most);
}

std::optional<BlockSplit> BlockSplit::of(int64_t rows, int64_t columns,
                                         int64_t terms,
                                         std::optional<int64_t> depth,
                                         const DeviceFeatures &device) {
  TileShape shape = {int64_t(llvm::PowerOf2Ceil(std::max<int64_t>(rows, 1))),
                     int64_t(llvm::PowerOf2Ceil(std::max<int64_t>(columns, 1))),
                     1, 1, false};
  while (shape.rows * shape.columns < kLanes)
    shape.columns *= 2;
  if (shape.rows * shape.columns > kMostSums * kLanes ||
      std::max(shape.rows, shape.columns) > kMostScalarPlaces)
    return std::nullopt;
  // As many sums along a lane's rows as along its columns: so it loads least.
  shape.down = shape.rows;
  shape.across = shape.columns;
  while (shape.down * shape.across > kLanes) {
    bool hasFewerRows = shape.rowsEach() <= shape.columnsEach();
    if (shape.down > 1 && (hasFewerRows || shape.across == 1))
      shape.down /= 2;
    else
      shape.across /= 2;
  }
  int64_t blocks = depth ? llvm::divideCeil(*depth, terms) : kSubgroups;
  BlockSplit split = {shape, std::min(blocks, kSubgroups), 1};
  // So that two workgroups have room.
  int64_t stage = stageBytes(shape.rows) + stageBytes(shape.columns);
  auto fits = [&](int64_t parts, int64_t stages) {
    return parts * stages * stage <= device.sharedBytesOfEach(2);
  };
  while (split.parts > 1 && !fits(split.parts, 1))
    split.parts /= 2;
  if (split.parts < 2)
    return std::nullopt;
  while (device.copiesInFlight && split.stages < kStagesInFlight &&
         fits(split.parts, 2 * split.stages))
    split.stages *= 2;
  return split;
}
