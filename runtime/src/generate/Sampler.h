//===- Sampler.h - From logits to a token ---------------------------------===//
//
// The tokens to draw from are chosen in the order of Transformers' logits
// processors: a penalty on tokens that were there, temperature, the k largest,
// the fewest whose probabilities sum to p, those whose probability is at least
// a share of the largest. A draw is a function of seed and place; the sampler
// remembers only the tokens that were there.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "module/Setting.h"

#include <cstdint>
#include <vector>

namespace hone::rt {

struct SamplingSettings {
  /// Ranges of the settings. Beyond these a finite logit could become an
  /// infinite one, and draws would mean nothing.
  static constexpr Range temperatures{0, 1e4}, topPs{0, 1, false, true},
      minPs{0, 1}, repetitionPenalties{1e-4, 1e4};

  double temperature = 0; ///< 0: always the largest logit
  uint64_t topK = 0;      ///< 0: all
  double topP = 1;        ///< above 0; 1: all
  uint64_t seed = 0;
  double minP = 0; ///< of the largest probability; 0: all
  /// Logits of tokens that were there are divided by it where they are
  /// positive, and multiplied where they are not; 1: they stay.
  double repetitionPenalty = 1;
};

class Sampler {
public:
  /// Allocates 4 bytes for each of `vocabulary` tokens if it needs their order,
  /// and a bit for each if there is a penalty.
  Sampler(const SamplingSettings &settings, uint64_t vocabulary);

  /// Forgets which tokens were there.
  void clear();
  /// Tokens of the vocabulary that are there, for the penalty.
  void note(const int32_t *ids, uint64_t size);

  /// The token after `place` others, from one logit for each of the
  /// vocabulary; -1 if one is NaN or infinite. Of equal logits the lower id
  /// counts as the larger, but a tie with the k-th is kept, as Transformers
  /// keeps it.
  int32_t next(const float *logits, uint64_t place);
  int32_t next(const double *logits, uint64_t place);

private:
  template <typename Logit> int32_t pick(const Logit *logits, uint64_t place);
  /// From `score`, a logit of each token. `uniform` is in [0, 1).
  template <typename Score> int32_t choose(Score score, uint64_t place);
  /// By portableExp((score - largest) / temperature).
  template <typename Score>
  int32_t draw(Score score, double largest, double uniform);
  /// Where the order of tokens does not matter; the largest weighs 1.
  template <typename Weight> int32_t drawFromAll(Weight weight, double uniform);
  /// Of the largest that topK and topP keep.
  template <typename Score, typename Weight>
  int32_t drawFromLargest(Score score, Weight weight, double uniform);

  SamplingSettings settings;
  uint64_t count;
  std::vector<bool> seen;      ///< empty: there is no penalty
  std::vector<uint32_t> order; ///< ids; after the heap the largest, in order
};

} // namespace hone::rt
