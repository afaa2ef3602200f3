//===- SharedBatches.cpp - Ranks run each other's batches -----------------===//
//
// The part of Interpreter for repeats whose batches ranks share. Round by round
// each runs its own batch first and notes the results of runs: a few numbers.
// Then all of these are exchanged, and the body runs again for each batch of
// the round, in order, where a run only reads the noted results. So every rank
// computes the numbers of one program with all batches, by the same items, and
// no method knows of ranks. The arguments of a run may therefore not follow
// from results of another batch (hone-schedule-step); its gradient is folded.
//
//===----------------------------------------------------------------------===//

#include "step/Interpreter.h"

#include <algorithm>
#include <cstring>

namespace hone::rt {

bool Interpreter::isShared(uint32_t index) const {
  if (!ranks || share != Whose::All)
    return false;
  const uint32_t end = index + 1 + schedule.items[index].body;
  for (uint32_t i = index + 1; i < end; i += 1 + schedule.items[i].body)
    if (schedule.items[i].kind == HONE_LOAD)
      return true;
  return false;
}

bool Interpreter::runBody(uint32_t index, uint32_t depth, int64_t iteration) {
  values.iterations[depth] = iteration;
  return runItems(index + 1, index + 1 + schedule.items[index].body, depth + 1);
}

bool Interpreter::repeatShared(uint32_t index, uint32_t depth) {
  const hone_item &item = schedule.items[index];
  const int64_t count = number<int64_t>(item.values[0]);
  const uint32_t *begin = item.values + 1, *carried = begin + item.carried,
                 *yielded = carried + item.carried;
  for (uint32_t i = 0; i < item.carried; ++i)
    values.copy(carried[i], begin[i]);
  folds = {schedule.purpose, step, 0};
  for (int64_t first = 0; first < count; first += ranks->count()) {
    givers = uint32_t(std::min<int64_t>(ranks->count(), count - first));
    isLastRound = first + int64_t(ranks->count()) >= count;
    const bool hasOwn = ranks->rank() < givers;
    share = hasOwn ? Whose::Own : Whose::None;
    noted.clear();
    source->pass(std::min(ranks->rank(), givers));
    bool goes = runBody(index, depth, first + (hasOwn ? ranks->rank() : 0));
    source->pass(hasOwn ? givers - ranks->rank() - 1 : 0);
    told.resize(noted.size() * ranks->count());
    std::copy(noted.begin(), noted.end(),
              told.begin() + long(noted.size() * ranks->rank()));
    goes = goes && goesOn(ranks->gather({schedule.purpose, step, rounds++},
                                        told.data(), noted.size(), givers));
    share = Whose::Told;
    for (uint32_t giver = 0; goes && giver < givers; ++giver) {
      toldAt = told.data() + noted.size() * giver;
      goes = runBody(index, depth, first + giver);
      for (uint32_t i = 0; goes && i < item.carried; ++i)
        values.copy(carried[i], yielded[i]);
    }
    share = Whose::All;
    if (!goes)
      return false;
    ++folds.round;
  }
  values.iterations[depth] = 0;
  return true;
}

void Interpreter::shareLoad(const hone_item &item) {
  int64_t rows = 0;
  if (share == Whose::Told) {
    memcpy(&rows, toldAt, sizeof(rows));
    const bool isOwn = toldAt == told.data() + noted.size() * ranks->rank();
    if (!isOwn)
      source->hasPassed(rows);
    toldAt += sizeof(rows);
    return;
  }
  if (share == Whose::Own)
    rows = rowsOf(item.batch) = source->load(batchAt(item.batch));
  const char *bytes = reinterpret_cast<const char *>(&rows);
  noted.insert(noted.end(), bytes, bytes + sizeof(rows));
}

void Interpreter::shareRun(const hone_item &item) {
  if (share == Whose::Own)
    call(item);
  for (uint32_t i = results[&item - schedule.items]; i < item.value_count;
       ++i) {
    const uint64_t size = schedule.values[item.values[i]].bytes;
    if (share == Whose::Told) {
      memcpy(values.onHost(item.values[i], Values::Use::Write), toldAt, size);
      toldAt += size;
      continue;
    }
    const char *bytes = values.onHost(item.values[i], Values::Use::Read);
    noted.insert(noted.end(), bytes, bytes + size);
  }
}

bool Interpreter::fold() {
  return share == Whose::All || share == Whose::Told ||
         goesOn(ranks->fold(folds, givers, isLastRound));
}

} // namespace hone::rt
