//===- Placement.cpp - A module with the offsets of one placement ---------===//

#include "module/Placement.h"

#include <algorithm>

namespace hone::rt {

uint32_t choosePlacement(const hone_module &module, int64_t rows) {
  uint32_t chosen = module.placement_count;
  // Each has fewer rows than the one before.
  for (uint32_t i = 0; i < module.placement_count; ++i)
    if (module.placements[i].rows >= rows)
      chosen = i;
  return chosen;
}

static uint64_t offsetOf(const hone_placement &placement, uint64_t offset,
                         uint32_t place) {
  return place == HONE_NO_PLACE
             ? offset
             : uint64_t(placement.offsets[place]) * HONE_PLACE_BYTES;
}

static void place(hone_value &value, const hone_placement &placement) {
  value.offset = offsetOf(placement, value.offset, value.place);
  if (value.row_bytes == 0)
    return;
  value.bytes = value.row_bytes * uint64_t(placement.rows);
  value.stride = (value.bytes + HONE_PLACE_BYTES - 1) / HONE_PLACE_BYTES *
                 HONE_PLACE_BYTES;
}

/// `pieces` keeps those of an exchange of a batch.
static void place(hone_item &item, const hone_placement &placement,
                  std::vector<std::vector<hone_piece>> &pieces) {
  item.work = offsetOf(placement, item.work, item.place);
  if (item.piece_count == 0)
    return;
  std::vector<hone_piece> &inputs =
      pieces.emplace_back(item.pieces, item.pieces + item.piece_count);
  for (hone_piece &piece : inputs)
    if (piece.row_bytes > 0)
      piece.bytes = piece.row_bytes * uint64_t(placement.rows);
  item.pieces = inputs.data();
}

PlacedModule::PlacedModule(const hone_module &compiled, uint32_t number)
    : placed(compiled),
      schedules(compiled.schedules,
                compiled.schedules + compiled.schedule_count) {
  const hone_placement &placement = compiled.placements[number];
  for (hone_schedule &schedule : schedules) {
    std::vector<hone_value> &own = values.emplace_back(
        schedule.values, schedule.values + schedule.value_count);
    for (hone_value &value : own)
      place(value, placement);
    std::vector<hone_item> &all = items.emplace_back(
        schedule.items, schedule.items + schedule.item_count);
    for (hone_item &item : all)
      place(item, placement, pieces);
    schedule.values = own.data();
    schedule.items = all.data();
  }
  placed.schedules = schedules.data();
  placed.max_rows = placement.rows;
  placed.offsets = placement.offsets;
  placed.arena_bytes = placement.arena_bytes;
  placed.accumulation_end = placement.accumulation_end;
  placed.gradient_offset = placement.gradient_offset;
  placed.gradient_end = placement.gradient_end;
  placed.placements = nullptr;
  placed.placement_count = 0;
}

/// The bytes of the vectors in `all`, with the overhead of an allocation.
template <typename Item>
static uint64_t bytesOf(const std::vector<std::vector<Item>> &all) {
  constexpr uint64_t chunk = 32;
  uint64_t bytes = chunk;
  for (const std::vector<Item> &each : all)
    bytes += sizeof(each) + chunk + each.capacity() * sizeof(Item);
  return bytes;
}

uint64_t PlacedModule::bytes() const {
  return sizeof(*this) + schedules.capacity() * sizeof(hone_schedule) +
         bytesOf(values) + bytesOf(items) + bytesOf(pieces);
}

std::string problemOfPlacements(const hone_module &module) {
  auto isPlace = [&](uint32_t place) {
    return place == HONE_NO_PLACE || place < module.place_count;
  };
  if (module.placement_count > 16 || (module.place_count && !module.offsets))
    return "expects their tables";
  int64_t rows = module.max_rows;
  for (uint32_t i = 0; i < module.placement_count; ++i) {
    const hone_placement &placement = module.placements[i];
    if (placement.rows < 1 || placement.rows >= rows ||
        (module.place_count && !placement.offsets))
      return "expects fewer rows in each, and offsets";
    rows = placement.rows;
  }
  const hone_schedule *end = module.schedules + module.schedule_count;
  const bool fit =
      std::all_of(module.schedules, end, [&](const hone_schedule &s) {
        return std::all_of(
                   s.values, s.values + s.value_count,
                   [&](const hone_value &v) { return isPlace(v.place); }) &&
               std::all_of(
                   s.items, s.items + s.item_count,
                   [&](const hone_item &item) { return isPlace(item.place); });
      });
  if (!fit)
    return "expects places that they have";
  return "";
}

} // namespace hone::rt
