//===- LoggedSteps.h - The lines of a run's log ---------------------------===//

#pragma once

#include "program/StepLog.h"

#include <functional>

namespace hone::rt {

struct LogVisitor {
  std::function<void(const StepRecord &)> step;
  /// NaN: the data is of no task.
  std::function<void(uint64_t step, double loss, double accuracy)> evaluation;
};

/// Visits the lines of the run `name` in the log at `path`, as StepLog writes
/// them; other lines are passed over. Memory does not depend on their number.
/// Errors: as MappedFile::open.
Status readLoggedSteps(const std::string &path, const std::string &name,
                       const LogVisitor &visitor);

} // namespace hone::rt
