//===- ComparisonLog.h - The comparisons of a run -------------------------===//
//
// A line of JSON for each step that was compared, in the run's folder. Means
// are of all its lines, so a run that was stopped has the table and the report
// of one that was not.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "base/Json.h"
#include "base/Status.h"
#include "program/StepLog.h"
#include "step/GradientComparison.h"

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace hone::rt {

/// A measure over the steps that have one.
struct MeasuredSteps {
  double sum = 0;
  double least = std::numeric_limits<double>::infinity(), most = -least;
  uint64_t count = 0;

  void add(double value); ///< NaN: this step has none
  double mean() const { return sum / double(count); } ///< NaN without steps
};

/// The figures of a layer, a kind of matrices or all parameters.
struct ComparedGroup {
  std::string name;
  MeasuredSteps cosine = {}, signAgreement = {}, relativeError = {};
  MeasuredSteps zeros = {}, referenceZeros = {}; ///< shares of elements
};

/// The means and counts of all compared steps.
struct ComparedSteps {
  std::string method, reference;
  uint64_t count = 0, first = 0, last = 0;
  uint64_t notFinite = 0; ///< steps with elements that are not
  std::vector<ComparedGroup> layers, kinds;
  ComparedGroup all{"all"};

  /// Rows for a person.
  std::string table() const;
};

class ComparisonLog {
public:
  static constexpr const char *FileName = "compare.jsonl";

  ComparisonLog() = default; ///< compares nothing

  /// Opens or creates the file in `folder` for the run `name`, which has
  /// done `completed` steps, and reads the lines that stay. Errors: as
  /// StepLog::open.
  static Result<ComparisonLog> open(const std::string &folder,
                                    const std::string &name, uint64_t completed,
                                    const Module &module);

  /// `step`: counted from 1. Errors: IoError.
  Status add(uint64_t step, const GradientComparison &found);
  Status sync() { return log.sync(); }
  const ComparedSteps &steps() const { return known; }

private:
  Status read(const std::string &path, const std::string &name);
  /// False if it is no line of this comparison.
  bool addLine(const Json &line);

  StepLog log;
  ComparedSteps known;
};

} // namespace hone::rt
