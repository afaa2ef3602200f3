//===- Values.cpp - The values of a schedule, on both sides ---------------===//

#include "step/Values.h"

#include "module/ProcessMemory.h"
#include "module/Schedule.h"

#include <algorithm>
#include <cstring>

namespace hone::rt {

/// The bytes that the plan gives a scalar, so that neighbours there are
/// neighbours here.
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
  reserveCalls();
}

/// Nothing is allocated while items run. Repeats may come to more: a call that
/// has no room is not postponed.
void Values::reserveCalls() {
  static_assert(sizeof(Mirror) + sizeof(CopyOut) == MirrorBytes);
  static_assert(sizeof(Call) == PostponedCallBytes);
  const PostponedCalls most = postponedCalls(schedule);
  postponed.reserve(most.calls);
  operands.reserve(most.operands);
  fetched.reserve(mirrors.size());
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

char *Values::onHost(uint32_t index, Use use) {
  Mirror *mirror = mirrorOf(index);
  if (!mirror)
    return place(index);
  if (use == Use::Write) {
    settleReadsOf(*mirror);
    mirror->newer = Mirror::Host;
    return mirror->bytes;
  }
  fetch(*mirror);
  if (mirror->newer == Mirror::Fetched || mirror->newer == Mirror::Postponed)
    settle();
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
  if (use == Use::Write) {
    settleReadsOf(*mirror);
    mirror->newer = Mirror::Device;
    return mirror->place;
  }
  if (mirror->newer == Mirror::Postponed)
    settle();
  if (mirror->newer == Mirror::Host)
    copyIn(*mirror);
  return mirror->place;
}

void Values::copy(uint32_t to, uint32_t from) {
  if (to == from)
    return;
  uint64_t bytes = schedule.values[to].bytes;
  Mirror *source = mirrorOf(from), *target = mirrorOf(to);
  if (source && source->newer == Mirror::Postponed) {
    const uint32_t indices[] = {from, to};
    if (target && hasRoom(2))
      return append({nullptr, nullptr, bytes, 2}, indices, /*firstResult=*/1);
    settle();
  }
  // On the side that has it: numbers that only the host uses never travel.
  if (source && source->newer == Mirror::Host && target)
    memcpy(onHost(to, Use::Write), onHost(from, Use::Read), bytes);
  else
    device.copy(onDevice(to, Use::Write), onDevice(from, Use::Read), bytes);
}

//===----------------------------------------------------------------------===//
// Postponed calls
//===----------------------------------------------------------------------===//

bool Values::hasRoom(uint32_t count) const {
  return postponed.size() < postponed.capacity() &&
         operands.capacity() - operands.size() >= count;
}

bool Values::postpone(hone_entry_fn run, const hone_frame &frame,
                      const uint32_t *indices, uint32_t count,
                      uint32_t firstResult) {
  if (mirrors.empty() || !hasRoom(count))
    return false;
  bool waits = false;
  for (uint32_t i = 0; i < firstResult; ++i) {
    const Mirror &mirror = *mirrorOf(indices[i]);
    // The place of a value that is no scalar may have another by the next wait.
    if (mirror.newer == Mirror::Device && !mirror.isScalar)
      return false;
    waits |= mirror.newer != Mirror::None && mirror.newer != Mirror::Host;
  }
  if (waits)
    append({run, &frame, 0, count}, indices, firstResult);
  return waits;
}

void Values::append(const Call &call, const uint32_t *indices,
                    uint32_t firstResult) {
  postponed.push_back(call);
  for (uint32_t i = 0; i < call.count; ++i) {
    Mirror &mirror = *mirrorOf(indices[i]);
    operands.push_back(mirror.bytes);
    if (i < firstResult) {
      fetch(mirror);
      mirror.isRead = true;
    } else {
      mirror.newer = Mirror::Postponed;
    }
  }
}

void Values::fetch(Mirror &mirror) {
  if (mirror.newer != Mirror::Device)
    return;
  fetched.push_back({mirror.bytes, mirror.place, mirror.size});
  mirror.newer = Mirror::Fetched;
}

void Values::settleReadsOf(const Mirror &mirror) {
  if (mirror.isRead || mirror.newer == Mirror::Postponed)
    settle();
}

// A failure makes the step's last wait() fail too.
void Values::settle() {
  if (fetched.empty()) // then nothing is postponed either
    return;
  (void)device.copyAllOut(fetched);
  fetched.clear();
  char *const *values = operands.data();
  for (const Call &call : postponed) {
    if (call.run)
      call.run(call.frame, values);
    else
      memcpy(values[1], values[0], call.bytes);
    values += call.count;
  }
  postponed.clear();
  operands.clear();
  for (Mirror &mirror : mirrors) {
    mirror.isRead = false;
    if (mirror.newer == Mirror::Fetched)
      mirror.newer = Mirror::None;
    else if (mirror.newer == Mirror::Postponed)
      mirror.newer = Mirror::Host;
  }
}

} // namespace hone::rt
