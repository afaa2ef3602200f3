//===- SampleOrder.cpp - Which samples a step reads -----------------------===//
//
// The permutation is a Feistel network over the places, so that shuffling a
// billion samples takes no memory.
//
//===----------------------------------------------------------------------===//

#include "step/SampleOrder.h"

#include "base/Philox.h"

#include <algorithm>

namespace hone::rt {

uint64_t SampleOrder::stepsPerEpoch() const {
  uint64_t perStep = batchSize * batchesPerStep;
  return (samples + perStep - 1) / perStep;
}

SampleOrder::Range SampleOrder::rangeOf(uint64_t completed) const {
  uint64_t perStep = batchSize * batchesPerStep;
  uint64_t perEpoch = stepsPerEpoch();
  uint64_t first = completed % perEpoch * perStep;
  return {completed / perEpoch, first, std::min(perStep, samples - first)};
}

uint64_t SampleOrder::sampleAt(uint64_t epoch, uint64_t place) const {
  if (!shuffle)
    return place;
  RandomStream stream(seed, epoch, RandomPurpose::Shuffle, "samples");
  return permuteIndex(place, samples, stream.id());
}

} // namespace hone::rt
