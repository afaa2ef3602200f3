//===- OffsetTable.h - Offsets that depend on the placement ---------------===//
//
// The code of all placements is one, so an offset that is not the same in all
// of them is a number that it looks up. Combinations are counted once: layers
// that are alike, and blocks that all layers share, have few.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "dialects/Hone/HoneOps.h"
#include "passes/place/PlacedRows.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/MapVector.h"

#include <map>
#include <vector>

namespace hone {

/// An offset in each placement of a module.
using PlacedOffset = llvm::SmallVector<int64_t, 4>;

class OffsetTable {
public:
  /// The offsets of all slots and regions of `module`, which is placed. They
  /// depend on the module alone, so every caller gets the same numbers.
  static OffsetTable of(mlir::ModuleOp module);

  PlacedOffset of(SlotAttr slot) const;
  PlacedOffset of(RegionOp region) const;
  /// Rows of a tile, each counted as HONE_PLACE_BYTES.
  PlacedOffset heights(RowTilesOp tiles) const;
  /// The bytes from one slot of a pool to the next.
  PlacedOffset strides(mlir::Type pool) const;

  /// The number of `offset`, its place in the runtime's words; HONE_NO_PLACE if
  /// all placements have it at the same.
  uint32_t find(const PlacedOffset &offset) const;

  /// The offsets of a placement, by number, as hone_placement has them.
  std::vector<uint32_t> offsetsIn(unsigned placement) const;

  /// The number of placements of the module's program.
  unsigned placements() const { return count; }

private:
  explicit OffsetTable(llvm::ArrayRef<PlacedRows> rows)
      : rows(rows), count(static_cast<unsigned>(rows.size())) {}
  void add(PlacedOffset offset);

  llvm::SmallVector<PlacedRows> rows;
  unsigned count;
  llvm::MapVector<PlacedOffset, uint32_t, std::map<PlacedOffset, unsigned>>
      numbers;
};

} // namespace hone
