//===- CommonSteps.h - The steps that all of some programs saved ----------===//
//
// Of one program, or of several: those of some and those of others make those
// of all, in whatever order they are put together. So along a chain each
// program adds its own to the steps of those after it.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "exchange/CommonRun.h"

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

namespace hone::rt {

class CommonSteps {
public:
  /// Steps that a program says it has saved, at most; the message is small.
  static constexpr size_t kMost = 6;
  using Words = std::array<uint64_t, 2 + kMost>;

  /// The steps of a program that has saved these, newest first, of the run of
  /// this name; without any it has the beginning.
  CommonSteps(const std::vector<int64_t> &saved, uint64_t run);
  /// From the words() of another program, or any others.
  explicit CommonSteps(const Words &words);

  void add(const CommonSteps &others);
  Words words() const;

  /// The newest step that all have saved.
  std::optional<uint64_t> newest() const;
  /// The run that all folders with a name are of, 0 if none has one; or that
  /// they are of several.
  std::optional<uint64_t> run() const;
  /// Whether one has a checkpoint of a run that has a name.
  bool hasCheckpoint() const { return isCheckpointThere; }

private:
  bool has(uint64_t step) const;

  std::array<uint64_t, kMost> steps{}; ///< newest first
  size_t count;
  CommonRun ofRun;
  bool isOneRun = true, isCheckpointThere;
};

} // namespace hone::rt
