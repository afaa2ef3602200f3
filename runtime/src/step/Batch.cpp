//===- Batch.cpp - Samples as the generated code reads them ---------------===//
//
// Token ids and lengths were checked when the data was opened, and Module
// checks that a full batch of the longest sequences fits; so nothing is
// checked in the loop.
//
//===----------------------------------------------------------------------===//

#include "step/Batch.h"

#include <cstring>

namespace hone::rt {

Batch::Batch(const Module &module, char *base) {
  auto at = [&](std::optional<uint64_t> offset) {
    return offset ? reinterpret_cast<int32_t *>(base + *offset) : nullptr;
  };
  inputIds = at(module.slots.inputIds);
  targets = at(module.slots.targets);
  sequenceStarts = at(module.slots.sequenceStarts);
}

void Batch::append(const Sample &sample) {
  uint64_t bytes = uint64_t(sample.length) * sizeof(int32_t);
  if (inputIds)
    memcpy(inputIds + filled, sample.ids, bytes);
  if (targets)
    memcpy(targets + filled, sample.targets, bytes);
  for (int64_t i = 0; sequenceStarts && i < sample.length; ++i)
    sequenceStarts[filled + i] = int32_t(filled);
  filled += sample.length;
}

uint64_t Batch::countTargets(const Sample &sample) {
  uint64_t count = 0;
  for (int64_t i = 0; i < sample.length; ++i)
    count += sample.targets[i] >= 0;
  return count;
}

} // namespace hone::rt
