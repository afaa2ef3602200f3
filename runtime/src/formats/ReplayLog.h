//===- ReplayLog.h - A run as the numbers of its steps --------------------===//
//
// Some methods add so little to their seed in a step that all steps together
// are an adapter: a line of JSON that says which run it was, then for each step
// its coefficients, float32 in little endian, and 8 bytes of the SHA-256 of the
// 8 before, or of the line, and of the coefficients. So a record that is torn,
// changed, missing or out of order is known by itself.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "base/MappedFile.h"
#include "base/Status.h"
#include "formats/Checkpoint.h"
#include "platform/Files.h"

#include <array>
#include <cstdint>
#include <string>

namespace hone::rt {

/// The values of the first line.
struct ReplayHeader {
  CheckpointFields run; ///< as a checkpoint's identity has it
  std::string start;    ///< SHA-256 of the parameters before the first step
  uint64_t coefficients = 0; ///< of a step

  /// SHA-256 of the log's first line, in hexadecimal digits.
  std::string digest() const;
};

/// Reads one step after another.
class ReplayReader {
public:
  ReplayReader() = default;
  /// Checks every record. Errors: NoInput, IoError; BadData when it is no such
  /// log, or one that is torn or damaged, naming the step.
  static Result<ReplayReader> open(const std::string &path);

  const ReplayHeader &header() const { return first; }
  uint64_t steps() const { return count; }
  /// The coefficients of a step, from 0.
  std::vector<float> step(uint64_t index) const;

private:
  friend class ReplayWriter;
  /// Reads the first `wanted` steps, or all. `steps` is their number.
  static Result<ReplayReader> read(const std::string &path,
                                   const uint64_t *wanted);
  uint64_t recordBytes() const;
  uint64_t placeOf(uint64_t index) const;

  MappedFile file;
  ReplayHeader first;
  uint64_t headerBytes = 0, count = 0;
  std::array<uint8_t, 8> chain{}; ///< after the last record that was checked
};

class ReplayWriter {
public:
  static constexpr const char *FileName = "replay.hone";

  ReplayWriter() = default; ///< writes nothing

  /// Begins a log, in the place of one that is there. Errors: CannotCreate,
  /// IoError.
  static Result<ReplayWriter> create(const std::string &path,
                                     const ReplayHeader &header);
  /// Goes on after `steps` steps; later ones go. Errors: as ReplayReader, and
  /// BadData when there are fewer or the run is another.
  static Result<ReplayWriter> resume(const std::string &path, uint64_t steps,
                                     const CheckpointFields &run);

  /// Appends a step; allocates nothing that stays. Errors: IoError.
  Status append(const float *coefficients);
  /// Makes the steps durable. Errors: IoError.
  Status sync();

private:
  Status failure(const char *doing, platform::Error error) const;

  platform::File file; ///< open unless nothing is written
  std::string path;
  uint64_t coefficients = 0;
  std::array<uint8_t, 8> chain{};
};

} // namespace hone::rt
