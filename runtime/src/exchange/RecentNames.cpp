//===- RecentNames.cpp - The newest names of messages ---------------------===//

#include "exchange/RecentNames.h"

#include <algorithm>

namespace hone::rt {

RecentNames::RecentNames(uint32_t most)
    : newest(most), entries(new Entry[most]), most(most) {}

void RecentNames::clear() {
  std::fill(newest.begin(), newest.end(), 0);
  count = next = 0;
}

uint32_t RecentNames::listOf(const MessageName &name) const {
  uint64_t hash = name.schedule;
  for (const uint64_t part : {name.step, name.channel, name.index})
    hash = (hash ^ part) * 0x9e3779b97f4a7c15u;
  return uint32_t(hash >> 32) % most;
}

bool RecentNames::contains(const MessageName &name) const {
  for (uint32_t place = newest[listOf(name)]; place != 0;) {
    const Entry &entry = entries[place - 1];
    if (entry.index == name.index && entry.step == name.step &&
        entry.channel == name.channel && entry.schedule == name.schedule)
      return true;
    place = entry.older;
  }
  return false;
}

void RecentNames::forget(uint32_t place) {
  const Entry &entry = entries[place - 1];
  // The oldest of all is the last of its list.
  uint16_t *last =
      &newest[listOf({entry.schedule, entry.step, entry.channel, entry.index})];
  while (*last != place)
    last = &entries[*last - 1].older;
  *last = 0;
}

void RecentNames::insert(const MessageName &name) {
  const uint32_t place = next + 1;
  if (count == most)
    forget(place);
  else
    ++count;
  uint16_t &first = newest[listOf(name)];
  entries[next] = {name.step, name.channel, name.index, name.schedule, first};
  first = uint16_t(place);
  next = place % most;
}

} // namespace hone::rt
