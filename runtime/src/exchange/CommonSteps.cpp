//===- CommonSteps.cpp - The steps that all of some programs saved --------===//

#include "exchange/CommonSteps.h"

#include <algorithm>

namespace hone::rt {

/// Bits of the first word, above the number of steps.
static constexpr uint64_t kCount = 0xff, kOfSeveralRuns = 0x100,
                          kHasCheckpoint = 0x200;

CommonSteps::CommonSteps(const std::vector<int64_t> &saved, uint64_t run)
    : count(std::clamp<size_t>(saved.size(), 1, kMost)), ofRun{run} {
  std::copy_n(saved.begin(), std::min(saved.size(), kMost), steps.begin());
  isCheckpointThere = run != 0 && steps[0] > 0;
}

CommonSteps::CommonSteps(const Words &words)
    : count(std::min<uint64_t>(words[0] & kCount, kMost)), ofRun{words.back()},
      isOneRun(!(words[0] & kOfSeveralRuns)),
      isCheckpointThere(words[0] & kHasCheckpoint) {
  std::copy_n(words.begin() + 1, kMost, steps.begin());
}

bool CommonSteps::has(uint64_t step) const {
  const auto end = steps.begin() + count;
  return std::find(steps.begin(), end, step) != end;
}

void CommonSteps::add(const CommonSteps &others) {
  size_t kept = 0;
  for (size_t i = 0; i < count; ++i)
    if (others.has(steps[i]))
      steps[kept++] = steps[i];
  count = kept;
  isOneRun = ofRun.take(others.ofRun.name) && isOneRun && others.isOneRun;
  isCheckpointThere |= others.isCheckpointThere;
}

CommonSteps::Words CommonSteps::words() const {
  Words words{};
  words[0] = count | (isOneRun ? 0 : kOfSeveralRuns) |
             (isCheckpointThere ? kHasCheckpoint : 0);
  std::copy_n(steps.begin(), kMost, words.begin() + 1);
  words.back() = ofRun.name;
  return words;
}

std::optional<uint64_t> CommonSteps::newest() const {
  return count == 0 ? std::nullopt : std::optional(steps[0]);
}

std::optional<uint64_t> CommonSteps::run() const {
  return isOneRun ? std::optional(ofRun.name) : std::nullopt;
}

} // namespace hone::rt
