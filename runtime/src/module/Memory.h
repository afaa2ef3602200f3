//===- Memory.h - The planned peak, and the measured one ------------------===//
//
// Memory has three domains. A device's is the memory that its driver is asked
// for: known to the byte. The host's is the process's anonymous memory. The
// third is the memory of both that a driver takes for itself: it is shown and
// not promised. A program for the processor has the second alone.
//
// Of the host only anonymous memory is planned: weight pages belong to a file,
// which the system can drop at any time. Linux keeps no high-water mark of it,
// so the arena is one mapping that is populated at once and never given back.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "base/Status.h"
#include "module/Config.h"
#include "platform/System.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace hone::rt {

/// The promise of a run: the compiled plan, for its threads and options.
struct RunPlan {
  /// Of the host: the compiled classes, or its memory for a device; then
  /// threads (scratch and stacks) and process.
  std::vector<PlanClass> classes;
  uint64_t total = 0; ///< bytes of anonymous memory that are never exceeded
  /// Of the device, if kernels run on one: the compiled classes and weights.
  std::vector<PlanClass> deviceClasses;
  uint64_t deviceTotal = 0;     ///< bytes that the driver is asked for
  uint64_t deviceHostBytes = 0; ///< of the total, for the sake of the device
  uint64_t weightBytes = 0;     ///< mapped from a file, not in the total
  /// Most resident memory: the total, and the pages of files that are mapped at
  /// a time.
  uint64_t resident = 0;
  /// Written to a file and read again in a batch of as many rows as were
  /// compiled in.
  uint64_t offloadedBytes = 0;
  /// After the line of the threads.
  std::string note;
  /// " for 128 of 256 rows", where that is not all; in the title.
  std::string scope;

  bool isOnDevice() const { return !deviceClasses.empty(); }
  /// The memory that train.memory_budget bounds: the one with the arena.
  uint64_t budgeted() const { return isOnDevice() ? deviceTotal : total; }
  uint64_t residentBytes() const { return resident; }

  /// The plan of a run with `threads` threads and `more` memory than is
  /// compiled in. Classes that the compiled plan leaves unnamed within
  /// `arenaBytes` become one line "other".
  static RunPlan make(const ModuleConfig &config, uint64_t arenaBytes,
                      const PlanClass &more, uint64_t threadBytes,
                      unsigned threads);

  /// The table for a person, in the form of honec --print-plan.
  std::string render() const;
};

/// The highest resident memory seen. Linux keeps no high-water mark of the
/// anonymous part, so that is sampled: where a phase has taken all its memory.
class PeakMeter {
public:
  /// "41.0 of 44.8 MiB planned". A system without /proc does not report a
  /// process's memory: then nothing was measured.
  static std::string describe(uint64_t measured, uint64_t planned);

  PeakMeter() = default; ///< holds the process to no plan
  /// Memory beyond `plan` by the system's quick figures, which are rounded, is
  /// counted exactly.
  explicit PeakMeter(const RunPlan &plan);

  void sample();
  /// The same, exactly, which takes milliseconds.
  void count();
  uint64_t anonymous() const { return highest.anonymous; }
  /// Anonymous memory and mapped files together; the system's own mark.
  uint64_t resident() const { return highest.peak; }
  /// The measured memory that RunPlan::budgeted() promises.
  uint64_t budgeted() const {
    return plan && plan->isOnDevice() ? deviceBytes : highest.anonymous;
  }

  /// From now on the process has a driver. The host's promise is judged by
  /// samples from before: a driver allocates when it likes.
  void beginDriver();
  /// Memory that a device's driver has been asked for, in all, and the host's
  /// for the sake of the device.
  void noteDevice(uint64_t bytes, uint64_t onHost) {
    deviceBytes = bytes;
    deviceHostBytes = onHost;
  }

  /// Counts once more, exactly. For the end of a run, when all that it leaves
  /// is written. The memory of a sanitizer or an emulator is in no plan, so
  /// with one nothing is wrong. Errors: PlanExceeded, naming foreign libraries.
  Status verdict();

private:
  void note(const platform::ResidentMemory &now);

  std::optional<RunPlan> plan;
  platform::ResidentMemory highest;
  std::optional<platform::ResidentMemory> beforeDriver;
  uint64_t deviceBytes = 0, deviceHostBytes = 0;
};

} // namespace hone::rt
