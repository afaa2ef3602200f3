//===- LearningRate.h - The learning rate of each step --------------------===//
//
// The factors of Transformers' get_*_schedule_with_warmup. The step counts
// completed updates, so with warm-up the very first update has rate zero,
// exactly as there.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_RUNTIME_STEP_LEARNINGRATE_H
#define HONE_RUNTIME_STEP_LEARNINGRATE_H

#include "hone/runtime.h"
#include "module/Settings.h"

#include <cstdint>
#include <string>

namespace hone::rt {

enum class LrScheduler {
  Constant = HONE_LR_CONSTANT, ///< constant_with_warmup
  Linear = HONE_LR_LINEAR,
  Cosine = HONE_LR_COSINE, ///< half a cosine wave (num_cycles = 0.5)
};

struct LearningRate {
  LrScheduler scheduler = LrScheduler::Linear;
  double peak = 0;
  uint64_t warmupSteps = 0;
  uint64_t steps = 0; ///< of the whole run
};

/// "constant", "linear" or "cosine".
const char *lrSchedulerName(LrScheduler scheduler);
/// False if `text` names none.
bool parseScheduler(const std::string &text, LrScheduler &out);
LrScheduler schedulerOf(const MethodSettings &method);

} // namespace hone::rt

#endif
