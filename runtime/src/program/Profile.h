//===- Profile.h - Where the time of a run goes ---------------------------===//
//
// The time of each kernel, as the device tells it. The time between kernels, of
// host code and the runtime's own work, is one row, "other".
//
//===----------------------------------------------------------------------===//

#pragma once

#include "device/Device.h"

#include <chrono>
#include <string>
#include <vector>

namespace hone::rt {

class Profile final : public KernelObserver {
public:
  explicit Profile(const hone_module &module);

  /// Allocates nothing.
  void ran(uint32_t kernel, double seconds) override;

  /// The kernels' times are shares of the time between start() and stop():
  /// steps, and the evaluation and saving that happen among them.
  void start(uint64_t completedSteps);
  /// `waited`: seconds in between for messages of other programs.
  void stop(uint64_t completedSteps, double waited = 0);

  /// Milliseconds and share of a step: first for each block, then for the
  /// kernels that take most.
  std::string render() const;
  /// {"steps", "seconds", "waited", "kernels": [{"block", "kernel", "symbol",
  /// "calls", "seconds"}]}, seconds over all steps; only a device's kernels
  /// have symbols. Errors: CannotCreate, IoError.
  Status write(const std::string &path) const;

private:
  struct Row {
    std::string block, kernel; ///< "decoder.backward", "lora_linear mlp.up"
    std::string symbol;        ///< of a device's kernel
    uint64_t calls = 0;
    double seconds = 0;
  };
  std::vector<Row> rows; ///< by kernel
  uint64_t steps = 0;
  std::chrono::steady_clock::time_point started;
  double total = 0, waited = 0; ///< seconds
};

} // namespace hone::rt
