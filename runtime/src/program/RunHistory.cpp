//===- RunHistory.cpp - What the log of a run says, for a plot ------------===//
//
// Lines are read as StepLog writes them, and without memory for each: a run's
// allocations do not depend on its steps.
//
//===----------------------------------------------------------------------===//

#include "program/RunHistory.h"

#include "base/MappedFile.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string_view>

namespace hone::rt {

ThinnedSeries::ThinnedSeries(uint64_t lastStep)
    : lastStep(std::max<uint64_t>(lastStep, 1)),
      buckets(std::min(this->lastStep + 1, MostBuckets)) {}

void ThinnedSeries::add(uint64_t step, double value) {
  if (!std::isfinite(value)) {
    ++notFinite;
    return;
  }
  // Whole numbers: rounding would put two steps of a short run together. Steps
  // are at most 2^53, so the product fits.
  Bucket &bucket =
      buckets[std::min(step, lastStep) * buckets.size() / (lastStep + 1)];
  if (bucket.count == 0) {
    bucket = {step, step, value, value, 0, 0};
    ++filled;
  }
  bucket.last = step;
  bucket.least = std::min(bucket.least, value);
  bucket.most = std::max(bucket.most, value);
  bucket.sum += value;
  ++bucket.count;
  if (count == 0)
    first = least = most = value;
  last = value;
  lastAt = step;
  least = std::min(least, value);
  most = std::max(most, value);
  sum += value;
  ++count;
}

static constexpr double mib = 1024 * 1024;

RunHistory::RunHistory(uint64_t steps)
    : series{{steps, "loss", "loss", "%.4f"},
             {steps, "eval_loss", "evaluation loss", "%.4f"},
             {steps, "learning_rate", "learning rate", "%.3g"},
             {steps, "lower_learning_rate", "lower learning rate", "%.3g"},
             {steps, "gradient_norm", "gradient norm", "%.4g"},
             {steps, "tokens_per_second", "tokens/s", "%.0f"},
             {steps, "peak_anonymous_bytes", "anonymous MiB", "%.2f", mib},
             {steps, "peak_resident_bytes", "resident MiB", "%.2f", mib}} {}

/// Takes `word` off the front of `text`.
static bool take(std::string_view &text, std::string_view word) {
  if (text.substr(0, word.size()) != word)
    return false;
  text.remove_prefix(word.size());
  return true;
}

/// Takes a number off the front of `text`.
template <typename Number>
static bool number(std::string_view &text, Number &value) {
  auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc())
    return false;
  text.remove_prefix(size_t(end - text.data()));
  return true;
}

Status RunHistory::read(const std::string &path, const std::string &name) {
  HONE_ASSIGN(MappedFile file, MappedFile::open(path));
  const std::string_view text = file.bytes();
  for (uint64_t at = 0, released = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = text.substr(at, end - at);
    at = end + 1;
    if (at - released >= MappedFile::VisitBytes) {
      file.releaseBehind(std::min<uint64_t>(at, text.size()));
      released = at;
    }
    uint64_t step = 0;
    std::string_view rest = line;
    if (!take(rest, "{\"step\": ") || !number(rest, step) ||
        !take(rest, ", \"run\": \"") || !take(rest, name) || !take(rest, "\""))
      continue;
    // `, "key": number` for steps and evaluations; other kinds of lines end
    // at once.
    while (take(rest, ", \"")) {
      const std::string_view key = rest.substr(0, rest.find('"'));
      rest.remove_prefix(key.size());
      if (!take(rest, "\": "))
        break;
      double value = std::nan("");
      if (!take(rest, "null") && !number(rest, value))
        break;
      for (Series &each : series)
        if (key == each.key)
          each.add(step, value);
    }
  }
  return Status::ok();
}

} // namespace hone::rt
