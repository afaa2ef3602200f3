//===- TimedPause.cpp - A pause by the clock, which writes ----------------===//

#include "step/TimedPause.h"

#include <chrono>

namespace hone::rt {

double steadySeconds() {
  return std::chrono::duration<double>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

bool TimedPause::goesOn(uint32_t kernel) {
  const double now = steadySeconds();
  const PauseRule::Action action = rule.before(kernel, now, isAsked());
  if (action == PauseRule::Action::Go)
    return true;
  status = write();
  const double after = steadySeconds();
  rule.wrote(after);
  writing = after - now;
  return status.isOk() && action == PauseRule::Action::Write;
}

} // namespace hone::rt
