//===- Predictions.h - The losses of an example's candidates --------------===//
//
// A line of JSON for each example, in the order of the data:
//   {"example": 1, "label": "great", "prediction": "terrible",
//    "losses": {"terrible": 1.25, "great": 1.5}}
// Losses have 17 digits: the accuracy can be computed from them again.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "base/OutputFile.h"
#include "base/Status.h"
#include "data/CandidateFormat.h"
#include "step/Evaluation.h"

#include <cstdint>
#include <string>

namespace hone::rt {

class Predictions {
public:
  /// Opens the file for examples of `task`; writes nothing without a path.
  /// Errors: CannotCreate.
  static Result<Predictions> open(const std::string &path,
                                  const CandidateFormat *task);

  void add(const ScoredExample &example);

  /// Gives the file its name. Errors: IoError, also of an add() before.
  Status commit();

private:
  const CandidateFormat *task = nullptr; ///< null: nothing is written
  OutputFile file;
  uint64_t examples = 0;
  Status written = Status::ok();
};

} // namespace hone::rt
