//===- Values.cpp - The values of a schedule, on both sides ---------------===//

#include "step/Values.h"

#include <cstring>

namespace hone::rt {

Values::Values(const hone_schedule &schedule, Device &device, char *arena)
    : schedule(schedule), device(device), arena(arena) {
  if (device.isHostVisible())
    return;
  uint64_t slots = 0;
  for (uint32_t i = 0; i < schedule.value_count; ++i) {
    firstMirrors.push_back(slots);
    slots += schedule.values[i].slots;
  }
  mirrors.resize(slots);
}

uint64_t Values::slotOf(uint32_t index) const {
  const hone_value &value = schedule.values[index];
  return value.depth ? uint64_t(iterations[value.depth - 1]) % value.slots : 0;
}

char *Values::place(uint32_t index) const {
  const hone_value &value = schedule.values[index];
  return arena + value.offset + slotOf(index) * value.stride;
}

// What fails makes the step's last wait() fail too.
char *Values::onHost(uint32_t index, Use use) {
  if (mirrors.empty())
    return place(index);
  Mirror &mirror = mirrorOf(index);
  uint64_t bytes = schedule.values[index].bytes;
  // What no host has written is the device's.
  if (!mirror.bytes) {
    mirror.bytes = std::make_unique<char[]>(bytes);
    mirror.newer = Mirror::Device;
  }
  if (use == Use::Read && mirror.newer == Mirror::Device) {
    (void)device.copyOut(mirror.bytes.get(), place(index), bytes);
    mirror.newer = Mirror::None;
  }
  if (use == Use::Write)
    mirror.newer = Mirror::Host;
  return mirror.bytes.get();
}

char *Values::onDevice(uint32_t index, Use use) {
  char *address = place(index);
  if (mirrors.empty())
    return address;
  Mirror &mirror = mirrorOf(index);
  if (use == Use::Read && mirror.newer == Mirror::Host) {
    device.copyIn(address, mirror.bytes.get(), schedule.values[index].bytes);
    mirror.newer = Mirror::None;
  }
  if (use == Use::Write)
    mirror.newer = Mirror::Device;
  return address;
}

void Values::copy(uint32_t to, uint32_t from) {
  if (to == from)
    return;
  uint64_t bytes = schedule.values[to].bytes;
  // On the side that has it: numbers that only the host uses never travel.
  if (!mirrors.empty() && mirrorOf(from).newer == Mirror::Host)
    memcpy(onHost(to, Use::Write), onHost(from, Use::Read), bytes);
  else
    device.copy(onDevice(to, Use::Write), onDevice(from, Use::Read), bytes);
}

} // namespace hone::rt
