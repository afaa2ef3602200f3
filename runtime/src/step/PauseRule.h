//===- PauseRule.h - When a step stops, or is written, between launches ---===//
//
// Pure: the caller has a clock and tells the time, in seconds from any point.
// A deadline promises that the step is written by then, so the time of writing
// comes off it, and that of the launch which would be next.
//
//===----------------------------------------------------------------------===//

#pragma once

#include <cstdint>
#include <limits>
#include <vector>

namespace hone::rt {

class PauseRule {
public:
  static constexpr double never = std::numeric_limits<double>::infinity();

  struct Limits {
    double deadline = never; ///< when it is written at the latest
    double every = never;    ///< from one writing to the next
    double writing = 0;      ///< how long one takes, until one was measured
    double launch = 0;       ///< the same of a launch
  };
  enum class Action {
    Go,
    Write,        ///< write the step, then go on
    WriteAndStop, ///< and stop
  };

  PauseRule() = default; ///< of no kernel
  /// For kernels below `kernels`.
  PauseRule(const Limits &limits, uint32_t kernels, double now);

  /// Before kernel `kernel`. `isAsked`: the caller wants the step to
  /// stop. The first launch always goes, so that every process comes forward.
  Action before(uint32_t kernel, double now, bool isAsked);
  /// After it.
  void ran(uint32_t kernel, double now);
  /// After a writing that began when before() said so.
  void wrote(double now);

  /// Whether a step that begins would stop before its first launch.
  bool isTimeUp(double now) const {
    return now + reserve() + longest() > limits.deadline;
  }
  /// The time that a writing is expected to take.
  double reserve() const { return limits.writing; }
  /// The longest launch that was measured, or the given time of one.
  double longest() const { return longestLaunch; }
  /// The least time from `start` to a deadline, of which the process has used
  /// the part before `now`, that lets a step come forward.
  double leastFrom(double start, double now) const {
    return now - start + longest() + reserve();
  }

private:
  Limits limits;
  std::vector<double> longestOf; ///< by kernel; 0: it has not run
  double longestLaunch = 0, began = 0, lastWritten = 0;
  bool hasRun = false, isMeasured = false;
};

} // namespace hone::rt
