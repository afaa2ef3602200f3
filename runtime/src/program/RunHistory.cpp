//===- RunHistory.cpp - What the log of a run says, for a plot ------------===//

#include "program/RunHistory.h"

#include "base/Json.h"
#include "base/MappedFile.h"

#include <algorithm>
#include <cmath>

namespace hone::rt {

ThinnedSeries::ThinnedSeries(uint64_t lastStep)
    : lastStep(std::max<uint64_t>(lastStep, 1)),
      buckets(std::min(this->lastStep + 1, MostBuckets)) {}

void ThinnedSeries::add(uint64_t step, double value) {
  if (!std::isfinite(value)) {
    ++notFinite;
    return;
  }
  const double place = double(std::min(step, lastStep)) / double(lastStep + 1);
  Bucket &bucket = buckets[std::min(size_t(place * double(buckets.size())),
                                    buckets.size() - 1)];
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

RunHistory::RunHistory(uint64_t lastStep)
    : loss(lastStep), evalLoss(lastStep), learningRate(lastStep),
      lowerLearningRate(lastStep), gradientNorm(lastStep),
      tokensPerSecond(lastStep), anonymousBytes(lastStep),
      residentBytes(lastStep) {}

Status RunHistory::read(const std::string &path, const std::string &name) {
  Result<MappedFile> file = MappedFile::open(path);
  if (!file.isOk())
    return file.status();
  const struct {
    const char *key;
    ThinnedSeries *series;
  } members[] = {{"loss", &loss},
                 {"eval_loss", &evalLoss},
                 {"learning_rate", &learningRate},
                 {"lower_learning_rate", &lowerLearningRate},
                 {"gradient_norm", &gradientNorm},
                 {"tokens_per_second", &tokensPerSecond},
                 {"peak_anonymous_bytes", &anonymousBytes},
                 {"peak_resident_bytes", &residentBytes}};
  const std::string_view text = file.value().bytes();
  for (uint64_t at = 0, released = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = text.substr(at, end - at);
    at = end + 1;
    if (at - released >= MappedFile::VisitBytes) {
      file.value().releaseBehind(std::min<uint64_t>(at, text.size()));
      released = at;
    }
    // Steps and evaluations are short; what is long is another kind of line.
    if (line.size() > 1024 || line.find(name) == std::string_view::npos)
      continue;
    Result<Json> parsed = Json::parse(line, path);
    if (!parsed.isOk())
      continue;
    const Json &root = parsed.value();
    const Json *step = root.find("step"), *run = root.find("run");
    if (!step || !step->isInteger() || step->integer() < 0 || !run ||
        !run->isString() || run->string() != name)
      continue;
    for (const auto &[key, series] : members)
      if (const Json *value = root.find(key); value && value->isNumber())
        series->add(uint64_t(step->integer()), value->number());
  }
  return Status::ok();
}

} // namespace hone::rt
