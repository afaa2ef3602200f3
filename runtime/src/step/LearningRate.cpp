//===- LearningRate.cpp - The learning rate of each step ------------------===//
//
// Every expression is in the order of transformers/optimization.py, in double,
// so that rates agree with it to the last bit; a cosine's to a few.
//
//===----------------------------------------------------------------------===//

#include "step/LearningRate.h"

#include "base/PortableMath.h"

#include <algorithm>

namespace hone::rt {

static double orOne(uint64_t n) { return double(std::max<uint64_t>(1, n)); }

double LearningRate::at(uint64_t completed) const {
  if (completed < warmupSteps)
    return peak * (double(completed) / orOne(warmupSteps));
  if (scheduler == LrScheduler::Constant)
    return peak;
  uint64_t decay = steps > warmupSteps ? steps - warmupSteps : 0;
  if (scheduler == LrScheduler::Linear) {
    double left = steps > completed ? double(steps - completed) : 0.0;
    return peak * (left / orOne(decay));
  }
  double progress = double(completed - warmupSteps) / orOne(decay);
  return peak * std::max(0.0, 0.5 * (1.0 + cosPi(progress)));
}

} // namespace hone::rt
