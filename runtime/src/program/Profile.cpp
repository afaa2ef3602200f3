//===- Profile.cpp - Where the time of a run goes -------------------------===//

#include "program/Profile.h"

#include "base/Counted.h"
#include "base/Json.h"
#include "base/OutputFile.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <map>

namespace hone::rt {

/// Kernels that the table for a person shows.
static constexpr size_t shownKernels = 12;

Profile::Profile(const hone_module &module) {
  for (uint32_t i = 0; i < module.kernel_count; ++i) {
    const hone_kernel &kernel = module.kernels[i];
    rows.push_back(
        {kernel.block, kernel.name, kernel.symbol ? kernel.symbol : "", 0, 0});
  }
}

void Profile::start(uint64_t completedSteps) {
  steps = completedSteps;
  started = std::chrono::steady_clock::now();
}

void Profile::stop(uint64_t completedSteps, double waitedSeconds) {
  steps = completedSteps - steps;
  std::chrono::duration<double> took =
      std::chrono::steady_clock::now() - started;
  total = took.count();
  waited = waitedSeconds;
}

void Profile::ran(uint32_t kernel, double seconds) {
  ++rows[kernel].calls;
  rows[kernel].seconds += seconds;
}

using Shares = std::vector<std::pair<std::string, double>>;

/// Longest first; equal ones by name.
static Shares sorted(const std::map<std::string, double> &seconds) {
  Shares out(seconds.begin(), seconds.end());
  std::sort(out.begin(), out.end(), [](const auto &a, const auto &b) {
    return a.second != b.second ? a.second > b.second : a.first < b.first;
  });
  return out;
}

std::string Profile::render() const {
  std::map<std::string, double> byBlock, byKernel;
  double other = total;
  for (const Row &row : rows) {
    other -= row.seconds;
    byBlock[row.block] += row.seconds;
    byKernel[row.block + ": " + row.kernel] += row.seconds;
  }
  byBlock["other"] += std::max(other, 0.0);

  std::string out;
  char line[256];
  double perStep = steps > 0 ? 1e3 / double(steps) : 0;
  auto append = [&](const char *heading, const Shares &shares, size_t count) {
    out += heading;
    for (size_t i = 0; i < std::min(count, shares.size()); ++i) {
      const auto &[name, seconds] = shares[i];
      if (seconds <= 0)
        break;
      snprintf(line, sizeof(line), "  %-58.58s%10.2f ms%7.1f %%\n",
               name.c_str(), seconds * perStep, 100 * seconds / total);
      out += line;
    }
  };
  snprintf(line, sizeof(line), "profile of %s (%.2f ms each), by block\n",
           counted(steps, "step").c_str(), total * perStep);
  append(line, sorted(byBlock), byBlock.size());
  append("by kernel\n", sorted(byKernel), shownKernels);
  return out;
}

Status Profile::write(const std::string &path) const {
  HONE_ASSIGN(OutputFile file, OutputFile::create(path));
  char number[128];
  snprintf(number, sizeof(number),
           "{\"steps\": %" PRIu64
           ", \"seconds\": %.9g, \"waited\": %.9g, \"kernels\": [",
           steps, total, waited);
  std::string text = number;
  for (const Row &row : rows) {
    text += &row == rows.data() ? "\n{\"block\": " : ",\n{\"block\": ";
    text += jsonString(row.block) + ", \"kernel\": " + jsonString(row.kernel);
    if (!row.symbol.empty()) {
      text += ", \"symbol\": " + jsonString(row.symbol);
    }
    snprintf(number, sizeof(number),
             ", \"calls\": %" PRIu64 ", \"seconds\": %.9g}", row.calls,
             row.seconds);
    text += number;
  }
  text += "]}\n";
  HONE_TRY(file.write(text));
  return file.commit();
}

} // namespace hone::rt
