//===- LoggedSteps.cpp - The lines of a run's log -------------------------===//

#include "program/LoggedSteps.h"

#include "base/MappedFile.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string_view>

namespace hone::rt {

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

namespace {
/// Numbers by the keys that a line has them under.
struct Line {
  static constexpr std::string_view keys[] = {"loss",
                                              "learning_rate",
                                              "gradient_norm",
                                              "tokens_per_second",
                                              "peak_anonymous_bytes",
                                              "peak_resident_bytes",
                                              "eval_loss",
                                              "eval_accuracy"};
  uint64_t step = 0;
  double values[std::size(keys)];
  PartRates rates;

  /// False if it is no line of the run.
  bool read(std::string_view text, const std::string &name) {
    std::fill(std::begin(values), std::end(values), std::nan(""));
    rates.clear();
    if (!take(text, LogStepKey) || !number(text, step) ||
        !take(text, LogRunKey) || !take(text, name) || !take(text, "\""))
      return false;
    while (take(text, ", \"")) {
      const std::string_view key = text.substr(0, text.find('"'));
      text.remove_prefix(key.size());
      double value = std::nan("");
      if (!take(text, "\": ") || (!take(text, "null") && !number(text, value)))
        break; // layers, or no number
      const auto at = std::find(std::begin(keys), std::end(keys), key);
      if (at != std::end(keys))
        values[at - std::begin(keys)] = value;
      else if (const size_t part = key.rfind("_learning_rate");
               part != std::string_view::npos)
        rates.emplace_back(key.substr(0, part), value);
      else if (key != "perplexity")
        break;
    }
    return true;
  }
};
} // namespace

Status readLoggedSteps(const std::string &path, const std::string &name,
                       const LogVisitor &visitor) {
  HONE_ASSIGN(MappedFile file, MappedFile::open(path));
  const std::string_view text = file.bytes();
  const auto bytes = [](double value) {
    return value > 0 && value < 1e18 ? uint64_t(value) : 0;
  };
  Line line;
  for (uint64_t at = 0, released = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    const bool isOurs = line.read(text.substr(at, end - at), name);
    at = end + 1;
    if (at - released >= MappedFile::VisitBytes) {
      file.releaseBehind(std::min<uint64_t>(at, text.size()));
      released = at;
    }
    const double *v = line.values;
    if (isOurs && !std::isnan(v[0]))
      visitor.step({line.step, v[0], v[1], v[2], v[3], bytes(v[4]), bytes(v[5]),
                    line.rates.empty() ? nullptr : &line.rates, nullptr});
    else if (isOurs && !std::isnan(v[6]))
      visitor.evaluation(line.step, v[6], v[7]);
  }
  return Status::ok();
}

} // namespace hone::rt
