//===- Schedule.h - Facts of a schedule that is not run -------------------===//

#pragma once

#include "hone/runtime.h"

#include <cstdint>
#include <string>
#include <vector>

namespace hone::rt {

inline bool isExchange(const hone_item &item) {
  return item.kind == HONE_SEND || item.kind == HONE_RECEIVE;
}

/// Whether `item` exchanges a batch, and no value.
inline bool isBatchExchange(const hone_item &item) {
  return isExchange(item) && item.values[0] == item.batch;
}

/// How many numbers the setting or report of this name is; 0 if there is none.
uint64_t countOf(const hone_schedule &schedule, const char *name);

/// Whether `schedule` reads data itself; a part may have it from another one.
bool loadsData(const hone_schedule &schedule);

/// Whether `schedule` adds the gradients of ranks.
bool folds(const hone_schedule &schedule);

/// The first program that `schedule` exchanges with; null if none.
const char *peerOf(const hone_schedule &schedule);

/// Bytes of the longest message that `schedule` exchanges with the program
/// `peer`, for as many rows as there may be; 0: it exchanges none.
uint64_t longestMessage(const hone_schedule &schedule, const std::string &peer);

/// By value: whether something but a kernel reads or writes it.
std::vector<bool> valuesOfHost(const hone_schedule &schedule);

/// Calls of scalar functions, and copies, that may be postponed at a time.
struct PostponedCalls {
  uint64_t calls = 0, operands = 0;

  void add(uint64_t count, uint64_t operandsOfEach) {
    calls += count;
    operands += count * operandsOfEach;
  }
};

/// Room for one of each scalar function, and of each number that a repeat
/// carries.
PostponedCalls postponedCalls(const hone_schedule &schedule);

/// Checks that `schedule` can be run: indices, kinds, and places in an arena of
/// `arenaBytes`. Returns a problem, or "".
std::string problemOf(const hone_schedule &schedule, uint64_t arenaBytes);

} // namespace hone::rt
