//===- PauseRule.cpp - When a step stops, or is written, between launches -===//

#include "step/PauseRule.h"

#include <algorithm>

namespace hone::rt {

/// How much longer a writing may take than the one before.
static constexpr double margin = 1.25;

PauseRule::PauseRule(const Limits &limits, uint32_t kernels, double now)
    : limits(limits), longestOf(kernels), longestLaunch(limits.launch),
      lastWritten(now) {}

PauseRule::Action PauseRule::before(uint32_t kernel, double now, bool isAsked) {
  began = now;
  if (!hasRun)
    return Action::Go;
  const double next = longestOf[kernel] > 0 ? longestOf[kernel] : longestLaunch;
  if (isAsked || now + next + reserve() > limits.deadline)
    return Action::WriteAndStop;
  return now - lastWritten >= limits.every ? Action::Write : Action::Go;
}

void PauseRule::ran(uint32_t kernel, double now) {
  const double took = now - began;
  longestOf[kernel] = std::max(longestOf[kernel], took);
  // The given time was a guess, perhaps of another machine.
  longestLaunch = hasRun ? std::max(longestLaunch, took) : took;
  hasRun = true;
}

void PauseRule::wrote(double now) {
  const double took = (now - began) * margin;
  limits.writing = isMeasured ? std::max(limits.writing, took) : took;
  isMeasured = true;
  began = lastWritten = now;
}

} // namespace hone::rt
