//===- Schedule.cpp - Facts of a schedule that is not run -----------------===//

#include "module/Schedule.h"

#include <algorithm>
#include <cstring>

namespace hone::rt {

uint64_t countOf(const hone_schedule &schedule, const char *name) {
  for (const auto &[numbers, count] :
       {std::pair(schedule.settings, schedule.setting_count),
        std::pair(schedule.reports, schedule.report_count)})
    for (uint32_t i = 0; i < count; ++i)
      if (strcmp(numbers[i].name, name) == 0)
        return schedule.values[numbers[i].value].bytes /
               (numbers[i].dtype == HONE_F32 ? sizeof(float) : sizeof(double));
  return 0;
}

bool loadsData(const hone_schedule &schedule) {
  const hone_item *end = schedule.items + schedule.item_count;
  return std::any_of(schedule.items, end, [](const hone_item &item) {
    return item.kind == HONE_LOAD;
  });
}

bool folds(const hone_schedule &schedule) {
  const hone_item *end = schedule.items + schedule.item_count;
  return std::any_of(schedule.items, end, [](const hone_item &item) {
    return item.kind == HONE_FOLD;
  });
}

const char *peerOf(const hone_schedule &schedule) {
  const hone_item *end = schedule.items + schedule.item_count;
  const hone_item *first = std::find_if(schedule.items, end, isExchange);
  return first == end ? nullptr : first->peer;
}

uint64_t longestMessage(const hone_schedule &schedule,
                        const std::string &peer) {
  uint64_t longest = 0;
  const hone_item *end = schedule.items + schedule.item_count;
  for (const hone_item *item = schedule.items; item != end; ++item) {
    if (!isExchange(*item) || item->peer != peer)
      continue;
    longest = std::max(longest, isBatchExchange(*item)
                                    ? sizeof(int64_t) // its number of rows
                                    : schedule.values[item->values[0]].bytes);
    for (uint32_t i = 0; i < item->piece_count; ++i)
      longest = std::max(longest, item->pieces[i].bytes);
  }
  return longest;
}

std::vector<bool> valuesOfHost(const hone_schedule &s) {
  std::vector<bool> isUsed(s.value_count);
  for (const auto &[numbers, count] : {std::pair(s.settings, s.setting_count),
                                       std::pair(s.reports, s.report_count)})
    for (uint32_t i = 0; i < count; ++i)
      isUsed[numbers[i].value] = true;
  const hone_item *end = s.items + s.item_count;
  for (const hone_item *item = s.items; item != end; ++item) {
    if (item->condition != HONE_NO_VALUE)
      isUsed[item->condition] = true;
    // Of a repeat only the count; carried values are copied in their places.
    uint32_t count = item->kind == HONE_REPEAT ? 1
                     : isBatchExchange(*item)  ? 0
                                               : item->value_count;
    for (uint32_t i = 0; i < count; ++i)
      if (item->kind != HONE_RUN ||
          (item->sides && item->sides[i] & HONE_ON_HOST))
        isUsed[item->values[i]] = true;
  }
  return isUsed;
}

PostponedCalls postponedCalls(const hone_schedule &schedule) {
  PostponedCalls most;
  const hone_item *end = schedule.items + schedule.item_count;
  for (const hone_item *item = schedule.items; item != end; ++item) {
    if (item->kind == HONE_SCALAR)
      most.add(1, item->value_count);
    else if (item->kind == HONE_REPEAT)
      most.add(item->carried, 2); // from one value to another
  }
  return most;
}

static std::string problemOfValues(const hone_schedule &s, uint64_t arena) {
  for (uint32_t i = 0; i < s.value_count; ++i) {
    const hone_value &value = s.values[i];
    uint64_t last = uint64_t(value.slots) - 1;
    if (value.slots == 0 || value.slots > 1u << 20 || value.depth > 4 ||
        value.offset > arena || value.bytes > arena || value.stride > arena ||
        last * value.stride > arena - value.offset ||
        value.bytes > arena - value.offset - last * value.stride ||
        value.offset % 4 != 0)
      return "value " + std::to_string(i) + " lies outside of the arena";
  }
  return "";
}

static bool hasPlace(const hone_number &number, const hone_value &value) {
  if (number.dtype == HONE_I64)
    return value.bytes == sizeof(int64_t);
  uint64_t size = number.dtype == HONE_F32 ? sizeof(float) : sizeof(double);
  return value.bytes > 0 && value.bytes % size == 0;
}

std::string problemOf(const hone_schedule &s, uint64_t arenaBytes) {
  std::string problem = problemOfValues(s, arenaBytes);
  if (!problem.empty())
    return problem;
  auto isValue = [&](uint32_t index) { return index < s.value_count; };
  auto isValueOrNone = [&](uint32_t index) {
    return index == HONE_NO_VALUE || isValue(index);
  };
  const hone_item *end = s.items + s.item_count;
  for (const hone_item *at = s.items; at != end; ++at) {
    const hone_item &item = *at;
    bool calls = item.kind == HONE_RUN || item.kind == HONE_SCALAR;
    bool fits =
        item.kind <= HONE_FOLD && item.body < end - at &&
        std::all_of(item.values, item.values + item.value_count, isValue) &&
        isValueOrNone(item.condition) && isValueOrNone(item.batch) &&
        item.work <= arenaBytes && (!calls || item.run) &&
        (item.kind != HONE_LOAD || isValue(item.batch)) &&
        (item.kind != HONE_REPEAT ||
         (item.value_count == 1 + 3 * item.carried && item.stages > 0)) &&
        (!isExchange(item) || (item.peer && item.channel)) &&
        (item.kind < HONE_SEND || item.kind == HONE_FOLD ||
         item.value_count == 1) &&
        (item.piece_count == 0 || isBatchExchange(item)) &&
        (item.behind == 0 || isExchange(item));
    if (!fits)
      return "item " + std::to_string(at - s.items) +
             " is not one that can be run";
  }
  for (const auto &[numbers, count] : {std::pair(s.settings, s.setting_count),
                                       std::pair(s.reports, s.report_count)})
    for (uint32_t i = 0; i < count; ++i)
      if (!isValue(numbers[i].value) ||
          !hasPlace(numbers[i], s.values[numbers[i].value]) ||
          s.values[numbers[i].value].depth != 0)
        return std::string("number '") + numbers[i].name + "' has no place";
  if (s.batch_slots == 0)
    return "there is no place for a batch";
  return "";
}

} // namespace hone::rt
