//===- StepLog.h - The JSONL log of a run ---------------------------------===//
//
// One line a step, each written whole by one call, so a kill leaves at most
// one broken line. On resume the lines beyond the checkpoint are cut off: a
// resumed log has each step once.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_RUNTIME_PROGRAM_STEPLOG_H
#define HONE_RUNTIME_PROGRAM_STEPLOG_H

#include "base/Status.h"

#include <cstdint>
#include <string>

namespace hone::rt {

/// What is known after a step.
struct StepRecord {
  uint64_t step = 0; ///< completed updates, from 1
  double loss = 0;   ///< mean negative log-likelihood of a target token
  double learningRate = 0;
  double gradientNorm = 0; ///< before clipping; NaN: there is none
  double tokensPerSecond = 0;
  uint64_t peakAnonymousBytes = 0;
  uint64_t peakResidentBytes = 0; ///< with the resident pages of mapped files
};

class StepLog {
public:
  StepLog() = default; ///< writes nothing
  ~StepLog();
  StepLog(StepLog &&other) noexcept { *this = static_cast<StepLog &&>(other); }
  StepLog &operator=(StepLog &&other) noexcept;
  StepLog(const StepLog &) = delete;
  StepLog &operator=(const StepLog &) = delete;

  /// Opens or creates `path`, keeping the lines of the first `completed`
  /// steps. Errors: BadData when the file is there and is no log (it is then
  /// untouched); CannotCreate, IoError.
  static Result<StepLog> open(const std::string &path, uint64_t completed);

  /// Both allocate nothing. Errors: IoError.
  Status step(const StepRecord &record);
  Status evaluation(uint64_t step, double loss);

  /// Says that what follows `step` is computed otherwise. Errors: IoError.
  Status otherNumerics(uint64_t step, const std::string &differences);

  /// Makes the lines durable; before a checkpoint that counts on them.
  Status sync();

private:
  Status write(const char *line, int size);
  Status failure(const char *doing) const;

  int file = -1;
  std::string path;
};

} // namespace hone::rt

#endif
