//===- SampleSelection.h - Some samples of a data file --------------------===//
//
// Drawn by lines of the data, so that two samples of one conversation are never
// on both sides; by a seed, without a table, so that files of any length take
// no memory; and kept in the file's order.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "base/Status.h"
#include "step/Evaluation.h"

#include <array>
#include <cstdint>
#include <string>

namespace hone::rt {

class Dataset;

struct SampleSelection {
  /// How many lines are held out: below 1 a part of them, rounded up, as
  /// test_size of datasets' train_test_split.
  double heldOut = 0;
  /// The lines held out, or those that are left. Those that are left are for
  /// training: wrong candidates are not among them.
  bool isHeldOut = false;
  uint64_t perLabel = 0; ///< of a task, of those that are left; 0: all
  uint64_t seed = 0;

  bool isNeeded(bool isTask) const {
    return heldOut > 0 || perLabel > 0 || isTask;
  }
  std::string key() const; ///< another text for another selection
};

/// Selects line by line.
class SampleDraw {
public:
  /// Counts the lines of `data`. `place` names it in errors: TooFewSamples.
  static Result<SampleDraw> count(const Dataset &data,
                                  const SampleSelection &selection,
                                  const std::string &place);

  /// Whether the next line is selected; `label` is that of its right candidate.
  bool next(size_t label);

  uint64_t lines() const { return all; }
  uint64_t heldOutLines() const { return held; }
  /// Lines that are left of a label; counted for `perLabel` alone.
  uint64_t countOf(size_t label) const { return ofLabel[label]; }

private:
  bool isHeld(uint64_t line) const;

  SampleSelection selection;
  uint64_t all = 0, held = 0, line = 0;
  std::array<uint64_t, ScoredExample::MostCandidates>
      ofLabel{}; ///< of the lines that are left
  std::array<uint64_t, ScoredExample::MostCandidates> seen{};
};

} // namespace hone::rt
