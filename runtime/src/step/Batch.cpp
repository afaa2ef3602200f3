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

/// Writes what numbers(i) gives for each i below `count`, and goes on behind
/// it.
template <typename Numbers>
static void fill(std::optional<MemoryView> &slot, int64_t count,
                 Numbers numbers) {
  if (!slot)
    return;
  int64_t i = 0;
  uint64_t bytes = uint64_t(count) * sizeof(int32_t);
  slot->write(bytes, [&](char *part, uint64_t size) {
    auto *out = reinterpret_cast<int32_t *>(part);
    std::generate_n(out, size / sizeof *out, [&] { return numbers(i++); });
  });
  slot = *slot + bytes;
}

Batch::Batch(const Module &module, Device &device, char *base,
             const RandomStream::Key &key) {
  auto at = [&](std::optional<uint64_t> offset) {
    return offset ? std::optional(MemoryView(device, base + *offset))
                  : std::nullopt;
  };
  inputIds = at(module.slots.inputIds);
  targets = at(module.slots.targets);
  sequenceStarts = at(module.slots.sequenceStarts);
  std::optional<MemoryView> randomKey = at(module.slots.randomKey);
  fill(randomKey, key.size(), [&](int64_t i) { return int32_t(key[i]); });
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
