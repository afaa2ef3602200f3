//===- Values.cpp - The values of a schedule, on both sides ---------------===//

#include "step/Values.h"

#include "module/Schedule.h"

#include <algorithm>
#include <cstring>

namespace hone::rt {

/// What the plan gives a scalar, so that those side by side are so here too.
static uint64_t paddedSize(uint64_t bytes) { return (bytes + 7) / 8 * 8; }

Values::Values(const hone_schedule &schedule, Device &device, char *arena)
    : schedule(schedule), device(device), arena(arena) {
  if (device.isHostVisible())
    return;
  const std::vector<bool> isUsed = valuesOfHost(schedule);
  for (uint32_t i = 0; i < schedule.value_count; ++i) {
    const hone_value &value = schedule.values[i];
    firstSlots.push_back(mirrorIndex.size());
    mirrorIndex.resize(mirrorIndex.size() + value.slots, noMirror);
    bool isScalar = value.row_bytes == 0 && value.bytes <= scalarBytes;
    for (uint64_t slot = 0; isUsed[i] && slot < value.slots; ++slot)
      mirrors.push_back({Mirror::Device, firstSlots.back() + slot,
                         arena + value.offset + slot * value.stride, nullptr,
                         value.bytes, isScalar});
  }
  std::stable_sort(
      mirrors.begin(), mirrors.end(),
      [](const Mirror &a, const Mirror &b) { return a.place < b.place; });
  uint64_t size = 0;
  for (const Mirror &mirror : mirrors)
    size += paddedSize(mirror.size);
  bytes.resize(size);
  char *next = bytes.data();
  for (Mirror &mirror : mirrors) {
    mirror.bytes = next;
    next += paddedSize(mirror.size);
    mirrorIndex[mirror.slot] = uint64_t(&mirror - mirrors.data());
  }
}

uint64_t Values::slotOf(uint32_t index) const {
  const hone_value &value = schedule.values[index];
  return value.depth ? uint64_t(iterations[value.depth - 1]) % value.slots : 0;
}

char *Values::place(uint32_t index) const {
  const hone_value &value = schedule.values[index];
  return arena + value.offset + slotOf(index) * value.stride;
}

Values::Mirror *Values::mirrorOf(uint32_t index) {
  if (mirrors.empty())
    return nullptr;
  uint64_t found = mirrorIndex[firstSlots[index] + slotOf(index)];
  return found == noMirror ? nullptr : &mirrors[found];
}

// What fails makes the step's last wait() fail too.
char *Values::onHost(uint32_t index, Use use) {
  Mirror *mirror = mirrorOf(index);
  if (!mirror)
    return place(index);
  if (use == Use::Read && mirror->newer == Mirror::Device) {
    (void)device.copyOut(mirror->bytes, mirror->place, mirror->size);
    mirror->newer = Mirror::None;
  }
  if (use == Use::Write)
    mirror->newer = Mirror::Host;
  return mirror->bytes;
}

bool Values::travelTogether(const Mirror &mirror, const Mirror &next) {
  return mirror.isScalar && next.isScalar && mirror.newer == Mirror::Host &&
         next.newer == Mirror::Host &&
         next.place == mirror.place + paddedSize(mirror.size);
}

void Values::copyIn(Mirror &mirror) {
  Mirror *first = &mirror, *last = &mirror;
  while (first != mirrors.data() && travelTogether(first[-1], *first))
    --first;
  while (last != &mirrors.back() && travelTogether(*last, last[1]))
    ++last;
  device.copyIn(first->place, first->bytes,
                uint64_t(last->place - first->place) + last->size);
  for (Mirror *copied = first; copied <= last; ++copied)
    copied->newer = Mirror::None;
}

char *Values::onDevice(uint32_t index, Use use) {
  Mirror *mirror = mirrorOf(index);
  if (!mirror)
    return place(index);
  if (use == Use::Read && mirror->newer == Mirror::Host)
    copyIn(*mirror);
  if (use == Use::Write)
    mirror->newer = Mirror::Device;
  return mirror->place;
}

void Values::copy(uint32_t to, uint32_t from) {
  if (to == from)
    return;
  uint64_t bytes = schedule.values[to].bytes;
  Mirror *source = mirrorOf(from);
  // On the side that has it: numbers that only the host uses never travel.
  if (source && source->newer == Mirror::Host && mirrorOf(to))
    memcpy(onHost(to, Use::Write), onHost(from, Use::Read), bytes);
  else
    device.copy(onDevice(to, Use::Write), onDevice(from, Use::Read), bytes);
}

} // namespace hone::rt
