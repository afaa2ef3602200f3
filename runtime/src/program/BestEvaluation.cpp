//===- BestEvaluation.cpp - Which evaluation of a run was the best --------===//

#include "program/BestEvaluation.h"

#include "module/Setting.h"

#include <cerrno>
#include <cinttypes>
#include <cmath>
#include <cstdio>
#include <cstdlib>

namespace hone::rt {

static constexpr const char *MetricField = "metric";
static constexpr const char *DataField = "data";
static constexpr const char *ValueField = "best_value";
static constexpr const char *WaitedField = "evaluations_since_best";

static const std::string &valueOf(const CheckpointFields &fields,
                                  const char *name) {
  static const std::string none;
  CheckpointFields::const_iterator found = fields.find(name);
  return found == fields.end() ? none : found->second;
}

static bool parseCount(const std::string &text, uint64_t &out) {
  char *end = nullptr;
  errno = 0;
  out = std::strtoull(text.c_str(), &end, 10);
  return !text.empty() && text[0] >= '0' && text[0] <= '9' && *end == '\0' &&
         errno == 0;
}

Status BestEvaluation::restore(const CheckpointFields &saved,
                               const std::string &place, bool &isSame) {
  isSame = saved.empty() || (valueOf(saved, MetricField) == metric &&
                             valueOf(saved, DataField) == data);
  if (saved.empty() || !isSame)
    return Status::ok();
  char *end = nullptr;
  const std::string &value = valueOf(saved, ValueField);
  bestValue = std::strtod(value.c_str(), &end);
  if (value.empty() || *end != '\0' || !std::isfinite(bestValue) ||
      !parseCount(valueOf(saved, CheckpointStore::BestStep), bestStep) ||
      !parseCount(valueOf(saved, WaitedField), since))
    return Status(ErrorCode::CheckpointMisfit, place,
                  "expected the best evaluation's step and value in "
                  "\"evaluation\", found something else",
                  "resume from another checkpoint, or choose another output "
                  "folder for a new run");
  found = true;
  return Status::ok();
}

bool BestEvaluation::add(uint64_t step, const Evaluation &evaluation) {
  const bool isAccuracy = metric == "accuracy";
  const double value = isAccuracy ? evaluation.accuracy() : evaluation.loss;
  const bool isBetter =
      std::isfinite(value) &&
      (!found || (isAccuracy ? value > bestValue : value < bestValue));
  since = isBetter || !found ? 0 : since + 1;
  if (!isBetter)
    return false;
  found = true;
  bestStep = step;
  bestValue = value;
  return true;
}

std::string BestEvaluation::text() const {
  char line[96];
  snprintf(line, sizeof(line), "%s %.6f after step %" PRIu64, metric.c_str(),
           bestValue, bestStep);
  return line;
}

CheckpointFields BestEvaluation::fields() const {
  if (!found)
    return {};
  return {{MetricField, metric},
          {DataField, data},
          {CheckpointStore::BestStep, std::to_string(bestStep)},
          {ValueField, formatExact(bestValue)},
          {WaitedField, std::to_string(since)}};
}

} // namespace hone::rt
