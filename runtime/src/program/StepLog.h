//===- StepLog.h - The JSONL log of a run ---------------------------------===//
//
// One line a step, each written whole by one call, so a kill leaves at most
// one broken line. Each names its run, so that many runs may share a file: a
// run that resumes takes out its own lines beyond the checkpoint and no others,
// and has each of its steps once.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "base/Status.h"
#include "module/Settings.h"
#include "platform/Files.h"
#include "step/Evaluation.h"

#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hone::rt {

/// The log's values of a step.
struct StepRecord {
  uint64_t step = 0;       ///< completed updates, from 1
  double loss = 0;         ///< mean negative log-likelihood of a target token
  double learningRate = 0; ///< of the last part, if there are parts
  double gradientNorm = 0; ///< before clipping; NaN: there is none
  double tokensPerSecond = 0;
  uint64_t peakAnonymousBytes = 0;
  uint64_t peakResidentBytes = 0; ///< with the resident pages of mapped files
  /// Rates of the parts below the last one, in order; null: there are no parts.
  const PartRates *partRates = nullptr;
  /// Counted from 0; null: the method selects none.
  const std::vector<uint32_t> *selectedLayers = nullptr;
  /// The traffic of a program that trains with others; none: it trains alone.
  struct Traffic {
    uint64_t sent, received; ///< bytes on the wire since the step before
    double waited;           ///< seconds of them
  };
  std::optional<Traffic> traffic;
  /// Bytes written to the file of offloaded values since the step before; 0:
  /// nothing is offloaded.
  uint64_t offloadedBytes = 0;
};

/// How each line begins: the step, then the run's name, which is between
/// quotes.
inline constexpr std::string_view LogStepKey = "{\"step\": ",
                                  LogRunKey = ", \"run\": \"";
/// Takes `word` off the front of `text`; false: it is not there.
bool take(std::string_view &text, std::string_view word);

class StepLog {
public:
  StepLog() = default; ///< writes nothing

  /// Opens or creates `path` for the run `name`, which has done `completed`
  /// steps: its lines of later steps go, and a line that a kill cut off.
  /// Errors, with the file untouched: BadData when it is no log; Usage when
  /// lines must go while another run writes. CannotCreate, IoError.
  static Result<StepLog> open(const std::string &path, const std::string &name,
                              uint64_t completed);

  /// Both allocate nothing, but for the first line of layers. Errors: IoError.
  Status step(const StepRecord &record);
  Status evaluation(uint64_t step, const Evaluation &evaluation);

  /// A line with `members` of JSON of its own. Errors: IoError.
  Status comparison(uint64_t step, const std::string &members);

  /// Says that the steps after `step` are computed otherwise. Errors: IoError.
  Status otherNumerics(uint64_t step, const std::string &differences);

  /// Makes the lines durable; before a checkpoint that counts on them.
  Status sync();

private:
  Status write(const char *line, int size);
  Status failure(const char *doing, platform::Error error) const;

  platform::File file; ///< open unless nothing is written
  std::string path, name;
  std::string text; ///< of the line that is written
};

} // namespace hone::rt
