//===- Profile.h - Where the time of a run goes ---------------------------===//
//
// Times each parallel loop of generated code from the thread that waits for
// it. What stands between loops (copies of single values, one-thread sums) and
// the runtime's own work are one row, "other".
//
//===----------------------------------------------------------------------===//

#pragma once

#include "threads/Pool.h"

#include <chrono>
#include <string>
#include <vector>

namespace hone::rt {

class Profile final : public LoopObserver {
public:
  explicit Profile(const hone_module &module);

  /// Allocates nothing. A task that the module does not name is "other".
  void ran(hone_task task, double seconds) override;

  /// What lies between is what the kernels' times are shares of: steps, and
  /// the evaluation and saving that happen among them.
  void start(uint64_t completedSteps);
  void stop(uint64_t completedSteps);

  /// Milliseconds and share of a step: first for each block, then for the
  /// kernels that take most.
  std::string render() const;
  /// {"steps", "seconds", "kernels": [{"block", "kernel", "calls",
  /// "seconds"}]}, seconds over all steps. Errors: CannotCreate, IoError.
  Status write(const std::string &path) const;

private:
  struct Row {
    hone_task task;
    std::string block, kernel; ///< "decoder.backward", "lora_linear mlp.up"
    uint64_t calls = 0;
    double seconds = 0;
  };
  /// Sorted by task, so that `ran` finds its row quickly.
  std::vector<Row> rows;
  uint64_t steps = 0;
  std::chrono::steady_clock::time_point started;
  double total = 0; ///< seconds
};

} // namespace hone::rt
