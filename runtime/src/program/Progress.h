//===- Progress.h - The progress of a run, for a person -------------------===//
//
// On a terminal one line that is redrawn; elsewhere plain lines, at most one
// a second, the first and the last step always among them. Allocates nothing.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "program/StepLog.h"

#include <cstdint>

namespace hone::rt {

class Progress {
public:
  /// Writes to the file descriptor `file`, and draws the line again where
  /// `terminal` says so, rather than below the last one. `firstStep` is that of
  /// this run.
  Progress(int file, bool terminal, uint64_t firstStep, uint64_t steps,
           uint64_t plannedBytes)
      : file(file), terminal(terminal), firstStep(firstStep), steps(steps),
        plannedBytes(plannedBytes) {}

  /// `now` in seconds of a steady clock; `seconds` is the time of the step.
  void step(const StepRecord &record, double now, double seconds);

  /// A line of its own, such as a saved checkpoint or an evaluation.
  void note(const char *line);

  /// Leaves the redrawn line; call before anything else prints.
  void finish();

  /// Writes the line for `record` to `out`, NUL-terminated, without line end.
  /// `rate` is tokens per second, `eta` seconds.
  static int render(char *out, int size, const StepRecord &record,
                    uint64_t steps, uint64_t plannedBytes, double rate,
                    double eta);

private:
  int file;
  bool terminal;
  uint64_t firstStep, steps, plannedBytes;
  double lastShown = -1e300;
  double smoothSeconds = 0; ///< of a step, exponentially weighted
  double smoothRate = 0;
  bool lineOpen = false;
};

} // namespace hone::rt
