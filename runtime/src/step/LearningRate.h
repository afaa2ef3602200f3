//===- LearningRate.h - The learning rate of each step --------------------===//
//
// The factors of Transformers' get_*_schedule_with_warmup. The step counts
// completed updates, so with warm-up the very first update has rate zero,
// exactly as there.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_RUNTIME_STEP_LEARNINGRATE_H
#define HONE_RUNTIME_STEP_LEARNINGRATE_H

#include <cstdint>

namespace hone::rt {

enum class LrScheduler {
  Constant, ///< constant_with_warmup; without warm-up, constant
  Linear,
  Cosine, ///< half a cosine wave (num_cycles = 0.5)
};

struct LearningRate {
  LrScheduler scheduler = LrScheduler::Linear;
  double peak = 0;
  uint64_t warmupSteps = 0;
  uint64_t steps = 0; ///< of the whole run

  /// The rate of the update that follows `completed` updates.
  double at(uint64_t completed) const;
};

} // namespace hone::rt

#endif
