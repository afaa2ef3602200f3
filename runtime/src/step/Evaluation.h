//===- Evaluation.h - The loss and accuracy of a model on data ------------===//

#pragma once

#include "base/PortableMath.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace hone::rt {

/// An example of a task, with the losses of its candidates.
struct ScoredExample {
  static constexpr size_t MostCandidates = 8;
  /// Mean negative log-likelihood of a candidate's tokens, as MeZO compares
  /// candidates of different lengths: log p(candidate | prompt) / tokens.
  std::array<double, MostCandidates> losses{};
  size_t candidates = 0;
  size_t label = 0; ///< the right one

  /// The likeliest, of equal ones the first; none where a loss is no number.
  std::optional<size_t> prediction() const {
    const double *const end = losses.data() + candidates;
    if (std::any_of(losses.data(), end,
                    [](double loss) { return std::isnan(loss); }))
      return std::nullopt;
    return size_t(std::min_element(losses.data(), end) - losses.data());
  }
};

struct Evaluation {
  double loss = 0;       ///< mean negative log-likelihood of a target token
  uint64_t tokens = 0;   ///< that have a target
  uint64_t examples = 0; ///< of a task; 0: the data is of none
  uint64_t correct = 0;  ///< of them, with the right candidate the likeliest

  bool hasAccuracy() const { return examples > 0; }
  double accuracy() const { return double(correct) / double(examples); }
  /// Infinite where the loss is too great for an exponential.
  double perplexity() const { return portableExp(loss); }
};

} // namespace hone::rt
