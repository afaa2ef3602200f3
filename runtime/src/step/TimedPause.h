//===- TimedPause.h - A pause by the clock, which writes ------------------===//

#pragma once

#include "base/Status.h"
#include "step/Interpreter.h"
#include "step/PauseRule.h"

#include <functional>

namespace hone::rt {

/// Seconds of a clock that never goes back.
double steadySeconds();

class TimedPause final : public LaunchPause {
public:
  /// `isAsked`: whether the step is to stop; `write` writes it.
  TimedPause(const PauseRule &rule, std::function<bool()> isAsked,
             std::function<Status()> write)
      : rule(rule), isAsked(std::move(isAsked)), write(std::move(write)) {}

  bool goesOn(uint32_t kernel) override;
  void ran(uint32_t kernel) override { rule.ran(kernel, steadySeconds()); }

  const PauseRule &times() const { return rule; }
  /// Of the writings; after the first that failed nothing was launched.
  Status status = Status::ok();
  /// Of the last writing, in seconds.
  double writing = 0;

private:
  PauseRule rule;
  std::function<bool()> isAsked;
  std::function<Status()> write;
};

} // namespace hone::rt
