//===- BestEvaluation.h - Which evaluation of a run was the best ----------===//
//
// Part of a run's state: a checkpoint has it, so that a run which resumes keeps
// and stops as one that was never stopped. Of equal ones the first is the best.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "base/Status.h"
#include "formats/Checkpoint.h"
#include "step/Evaluation.h"

#include <cstdint>
#include <string>

namespace hone::rt {

class BestEvaluation {
public:
  BestEvaluation() = default;
  /// The best by `metric`, "loss" or "accuracy", on the data of this name.
  BestEvaluation(std::string metric, std::string data)
      : metric(std::move(metric)), data(std::move(data)) {}

  /// Takes up the result of fields() from a checkpoint at `place`; nothing, and
  /// `false` in `isSame`, if that was by another metric or on other data.
  /// Errors: CheckpointMisfit.
  Status restore(const CheckpointFields &saved, const std::string &place,
                 bool &isSame);

  /// Whether this one, after `step` steps, is the best so far.
  bool add(uint64_t step, const Evaluation &evaluation);

  bool exists() const { return found; }
  uint64_t step() const { return bestStep; } ///< completed steps at the best
  double value() const { return bestValue; }
  /// Evaluations one after another that were not better.
  uint64_t waited() const { return since; }
  /// "loss 1.234567 after step 30".
  std::string text() const;

  /// Empty before the first evaluation.
  CheckpointFields fields() const;

private:
  std::string metric, data;
  bool found = false;
  uint64_t bestStep = 0, since = 0;
  double bestValue = 0;
};

} // namespace hone::rt
