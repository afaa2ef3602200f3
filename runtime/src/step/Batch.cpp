//===- Batch.cpp - Samples as the generated code reads them ---------------===//
//
// Token ids and lengths were checked when the data was opened, and Module
// checks that a full batch of the longest sequences fits; so nothing is
// checked in the loop.
//
//===----------------------------------------------------------------------===//

#include "step/Batch.h"

#include <algorithm>

namespace hone::rt {

/// Writes numbers(i) for each i below `count`, and moves `slot` after them.
template <typename Numbers>
static void fill(int32_t *&slot, int64_t count, Numbers numbers) {
  if (!slot)
    return;
  for (int64_t i = 0; i < count; ++i)
    *slot++ = numbers(i);
}

Batch::Batch(const Module &module, Device &device)
    : module(module), device(device) {
  if (device.isHostVisible())
    return;
  const uint64_t rowBytes = uint64_t(module.abi().max_rows) * sizeof(int32_t);
  const Module::Slots &slots = module.slots;
  uint64_t end = 0;
  first = ~uint64_t(0);
  auto cover = [&](std::optional<uint64_t> offset, uint64_t bytes) {
    if (!offset)
      return;
    first = std::min(first, *offset);
    end = std::max(end, *offset + bytes);
  };
  cover(slots.inputIds, rowBytes);
  cover(slots.targets, rowBytes);
  cover(slots.sequenceStarts, rowBytes);
  cover(slots.randomKey, RandomStream::keyWords * sizeof(int32_t));
  assembled.resize(end - std::min(first, end));
}

int32_t *Batch::at(std::optional<uint64_t> offset) {
  if (!offset)
    return nullptr;
  char *place = device.isHostVisible() ? base + *offset
                                       : assembled.data() + (*offset - first);
  return reinterpret_cast<int32_t *>(place);
}

void Batch::begin(char *place, const RandomStream::Key &key) {
  base = place;
  filled = 0;
  inputIds = at(module.slots.inputIds);
  targets = at(module.slots.targets);
  sequenceStarts = at(module.slots.sequenceStarts);
  int32_t *randomKey = at(module.slots.randomKey);
  fill(randomKey, key.size(), [&](int64_t i) { return int32_t(key[i]); });
}

int64_t Batch::finish() {
  if (!assembled.empty())
    device.copyIn(base + first, assembled.data(), assembled.size());
  return filled;
}

void Batch::append(const Sample &sample) {
  fill(inputIds, sample.length, [&](int64_t i) { return sample.ids[i]; });
  fill(targets, sample.length, [&](int64_t i) { return sample.targets[i]; });
  fill(sequenceStarts, sample.length, [&](int64_t) { return int32_t(filled); });
  filled += sample.length;
}

void Batch::appendContinuation(const int32_t *ids, int64_t count,
                               int64_t past) {
  fill(inputIds, count, [&](int64_t i) { return ids[i]; });
  fill(sequenceStarts, count, [&](int64_t) { return int32_t(filled - past); });
  filled += count;
}

uint64_t Batch::countTargets(const Sample &sample) {
  uint64_t count = 0;
  for (int64_t i = 0; i < sample.length; ++i)
    count += sample.targets[i] >= 0;
  return count;
}

} // namespace hone::rt
