//===- OffsetTable.cpp - Offsets that depend on the placement -------------===//

#include "passes/place/OffsetTable.h"

#include "dialects/Hone/SequenceTiles.h"
#include "runtime/include/hone/runtime.h"

using namespace mlir;

namespace hone {

OffsetTable OffsetTable::of(ModuleOp module) {
  // The most that a table's numbers reach; a module with more is placed for all
  // its rows alone.
  constexpr int64_t mostBytes = int64_t(HONE_PLACE_BYTES) << 32;
  auto arena =
      module->getAttrOfType<IntegerAttr>(HoneDialect::getArenaBytesAttrName());
  const bool isReached = arena && arena.getInt() < mostBytes / 2;
  const SmallVector<PlacedRows> rows = placedRows(module);
  OffsetTable table(ArrayRef(rows).take_front(isReached ? rows.size() : 1));
  if (table.count == 1)
    return table;
  module.walk([&](Operation *op) {
    if (auto region = dyn_cast<RegionOp>(op))
      table.add(table.of(region));
    if (auto tiles = dyn_cast<RowTilesOp>(op))
      table.add(table.heights(tiles));
    if (auto pool = dyn_cast<PoolOp>(op))
      table.add(table.strides(pool.getPool().getType()));
    for (StringRef list :
         {HoneDialect::getSlotsAttrName(), HoneDialect::getWorkspaceAttrName()})
      if (auto slots = op->getAttrOfType<ArrayAttr>(list))
        for (Attribute slot : slots)
          if (auto placed = dyn_cast<SlotAttr>(slot))
            table.add(table.of(placed));
    if (auto slot =
            op->getAttrOfType<SlotAttr>(HoneDialect::getScratchAttrName()))
      table.add(table.of(slot));
  });
  return table;
}

PlacedOffset OffsetTable::of(SlotAttr slot) const {
  PlacedOffset offset;
  for (unsigned i = 0; i < count; ++i)
    offset.push_back(slot.offsetIn(i));
  return offset;
}

PlacedOffset OffsetTable::of(RegionOp region) const {
  PlacedOffset offset;
  for (unsigned i = 0; i < count; ++i)
    offset.push_back(region.offsetIn(i));
  return offset;
}

PlacedOffset OffsetTable::heights(RowTilesOp tiles) const {
  PlacedOffset heights;
  const auto most = static_cast<int64_t>(tiles.getTileRows());
  for (PlacedRows each : rows)
    heights.push_back(HONE_PLACE_BYTES * (longestSequence(tiles) > 0
                                              ? most
                                              : tileRowsIn(most, each)));
  return heights;
}

PlacedOffset OffsetTable::strides(Type pool) const {
  PlacedOffset strides;
  for (PlacedRows each : rows)
    strides.push_back(poolStride(pool, each));
  return strides;
}

void OffsetTable::add(PlacedOffset offset) {
  if (!llvm::all_equal(offset))
    numbers.insert({std::move(offset),
                    static_cast<uint32_t>(HONE_NO_PLACE + 1 + numbers.size())});
}

uint32_t OffsetTable::find(const PlacedOffset &offset) const {
  auto found = numbers.find(offset);
  return found == numbers.end() ? HONE_NO_PLACE : found->second;
}

std::vector<uint32_t> OffsetTable::offsetsIn(unsigned placement) const {
  std::vector<uint32_t> offsets;
  if (!numbers.empty())
    offsets.push_back(0); // of HONE_NO_PLACE
  for (const auto &[offset, number] : numbers)
    offsets.push_back(
        static_cast<uint32_t>(offset[placement] / HONE_PLACE_BYTES));
  return offsets;
}

} // namespace hone
