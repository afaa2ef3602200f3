//===- SuspendedStep.h - A step that another process goes on with ---------===//
//
// One file, written aside, synced and renamed, as checkpoints are: the arena,
// offloaded values, values that a step remembers of those before it, and as
// JSON the step's position and the run that it belongs to. It stands for the
// checkpoint before the step, too: theta and the state are in the arena.
//
// Only the program that wrote it can go on with it, since offsets in the arena
// and the order of launches are a program's own.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "base/MemoryView.h"
#include "base/Status.h"
#include "formats/Checkpoint.h"
#include "formats/Safetensors.h"
#include "step/StepState.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hone::rt {

struct SuspendedStep {
  uint64_t completed = 0; ///< updates before it
  StepState state;
  double seconds = 0;     ///< that it has run
  double longest = 0;     ///< seconds of the longest launch so far
  uint64_t offloaded = 0; ///< bytes that it has written
  std::string program;    ///< hone_module::program_digest
  /// Of rows that a caller gave; empty where the run has data of its own.
  std::string rows;
  CheckpointIdentity identity;
  CheckpointFields evaluation; ///< as a checkpoint has it

  /// "step 3 after 120 launches"
  std::string describe() const;

  /// As JSON, with equal fields in equal bytes.
  std::string text() const;
  /// Errors: DamagedSuspended, naming the first key that is wrong.
  static Result<SuspendedStep> parse(std::string_view text,
                                     const std::string &place);

  /// Whether `program`, in a run of `run`, may go on with it. Errors: OtherRun,
  /// OtherSuspended, naming the differences; `place` is the file.
  Status check(const std::string &place, const CheckpointIdentity &run,
               const std::string &program) const;
};

class SuspendedFile {
public:
  /// Beside the checkpoints of a run.
  static std::string pathIn(const std::string &folder) {
    return folder + "/suspended.safetensors";
  }
  /// About the size of a file for `memoryBytes`.
  static uint64_t sizeOf(uint64_t memoryBytes) {
    return memoryBytes + headerBytes;
  }

  /// Writes it over the file at `path`, which stays on an error, with all
  /// values that the step keeps, after those that it offloads are settled.
  /// Takes a buffer and no more. Errors: as OutputFile, Offloading::settle and
  /// checkFinite.
  static Status write(const std::string &path, const SuspendedStep &step,
                      const StepMemory &memory);

  /// How long a writing of `memory` takes, in seconds: of a part of it, written
  /// beside `path` and removed. Errors: as write().
  static Result<double> timeWriting(const std::string &path,
                                    const StepMemory &memory);

  /// None: there is no file. All of it is read, to see that it is whole. Files
  /// of a writing that was killed go: the caller has the folder's lock. Errors:
  /// DamagedSuspended, as SafetensorsFile::open.
  static Result<std::optional<SuspendedFile>> open(const std::string &path);

  const std::string &path() const { return file.path(); }
  SuspendedStep step;

  /// Puts back the written values. Errors: DamagedSuspended where it does not
  /// fit, and nothing is changed then, or where a trained number is not
  /// finite; as Offloading::fill.
  Status read(const StepMemory &memory) const;

private:
  static constexpr uint64_t headerBytes = 4096;

  Status verify(std::string_view text) const;
  Status expect(const std::string &name, Dtype dtype, uint64_t elements) const;
  void copy(const std::string &name, MemoryView to) const;

  SafetensorsFile file;
};

} // namespace hone::rt
