//===- CommonSteps.cpp - What all of some programs have saved -------------===//

#include "exchange/CommonSteps.h"

#include <algorithm>

namespace hone::rt {

/// Of the first word, above the number of steps.
static constexpr uint64_t kCount = 0xff, kOfSeveralRuns = 0x100,
                          kHasCheckpoint = 0x200;

CommonSteps::CommonSteps(const std::vector<int64_t> &saved, uint64_t run)
    : steps(saved.begin(), saved.begin() + long(std::min(saved.size(), kMost))),
      ofRun{run} {
  if (steps.empty())
    steps.push_back(0);
  isCheckpointThere = run != 0 && steps.front() > 0;
}

CommonSteps::CommonSteps(const Words &words)
    : steps(words.begin() + 1,
            words.begin() + 1 +
                long(std::min<uint64_t>(words[0] & kCount, kMost))),
      ofRun{words.back()}, isOneRun(!(words[0] & kOfSeveralRuns)),
      isCheckpointThere(words[0] & kHasCheckpoint) {}

void CommonSteps::add(const CommonSteps &others) {
  auto isMissing = [&](uint64_t step) {
    return std::find(others.steps.begin(), others.steps.end(), step) ==
           others.steps.end();
  };
  steps.erase(std::remove_if(steps.begin(), steps.end(), isMissing),
              steps.end());
  isOneRun = ofRun.take(others.ofRun.name) && isOneRun && others.isOneRun;
  isCheckpointThere |= others.isCheckpointThere;
}

CommonSteps::Words CommonSteps::words() const {
  Words words{};
  words[0] = steps.size() | (isOneRun ? 0 : kOfSeveralRuns) |
             (isCheckpointThere ? kHasCheckpoint : 0);
  std::copy(steps.begin(), steps.end(), words.begin() + 1);
  words.back() = ofRun.name;
  return words;
}

std::optional<uint64_t> CommonSteps::newest() const {
  return steps.empty() ? std::nullopt : std::optional(steps.front());
}

std::optional<uint64_t> CommonSteps::run() const {
  return isOneRun ? std::optional(ofRun.name) : std::nullopt;
}

} // namespace hone::rt
