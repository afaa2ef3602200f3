//===- SampleOrder.h - Which samples a step reads -------------------------===//
//
// A pure function of the seed and the step: nothing to save, nothing to
// replay. An epoch that does not divide ends with a smaller step, as with
// Transformers' Trainer; no step reads from two epochs.
//
//===----------------------------------------------------------------------===//

#pragma once

#include <cstdint>

namespace hone::rt {

struct SampleOrder {
  uint64_t samples = 0;   ///< in the data, at least 1
  uint64_t batchSize = 1; ///< sequences that one call of "gradient" takes
  uint64_t batchesPerStep = 1;
  uint64_t seed = 0;
  bool shuffle = true;

  /// Places [first, first + count) of an epoch.
  struct Range {
    uint64_t epoch, first, count;
  };

  uint64_t stepsPerEpoch() const;

  /// The places that the update after `completed` updates reads; count is at
  /// least 1.
  Range rangeOf(uint64_t completed) const;

  /// The sample at `place` of an epoch; each sample has one place in each.
  uint64_t sampleAt(uint64_t epoch, uint64_t place) const;
};

} // namespace hone::rt
