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

static hone_value place(hone_value value, const hone_placement &placement) {
  value.offset = offsetOf(placement, value.offset, value.place);
  if (value.row_bytes == 0)
    return value;
  value.bytes = value.row_bytes * uint64_t(placement.rows);
  value.stride = (value.bytes + HONE_PLACE_BYTES - 1) / HONE_PLACE_BYTES *
                 HONE_PLACE_BYTES;
  return value;
}

PlacedModule::PlacedModule(const hone_module &compiled, uint32_t number)
    : placed(compiled) {
  const hone_placement &placement = compiled.placements[number];
  for (uint32_t i = 0; i < compiled.schedule_count; ++i) {
    const hone_schedule &schedule = compiled.schedules[i];
    std::vector<hone_value> &own = values.emplace_back();
    for (uint32_t v = 0; v < schedule.value_count; ++v)
      own.push_back(place(schedule.values[v], placement));
    std::vector<hone_item> &all = items.emplace_back(
        schedule.items, schedule.items + schedule.item_count);
    for (hone_item &item : all)
      item.work = offsetOf(placement, item.work, item.place);
    schedules.push_back(schedule);
    schedules.back().values = own.data();
    schedules.back().items = all.data();
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

uint64_t PlacedModule::bytes() const {
  constexpr uint64_t chunk = 32; // of an allocation beside its own bytes
  uint64_t bytes = sizeof(*this) + chunk;
  bytes += schedules.size() * sizeof(hone_schedule);
  for (const auto &own : values)
    bytes += sizeof(own) + chunk + own.capacity() * sizeof(hone_value);
  for (const auto &all : items)
    bytes += sizeof(all) + chunk + all.capacity() * sizeof(hone_item);
  return bytes;
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
  for (uint32_t i = 0; i < module.schedule_count; ++i) {
    const hone_schedule &schedule = module.schedules[i];
    for (uint32_t v = 0; v < schedule.value_count; ++v)
      if (!isPlace(schedule.values[v].place))
        return "expects places that they have";
    if (!std::all_of(
            schedule.items, schedule.items + schedule.item_count,
            [&](const hone_item &item) { return isPlace(item.place); }))
      return "expects places that they have";
  }
  return "";
}

} // namespace hone::rt
