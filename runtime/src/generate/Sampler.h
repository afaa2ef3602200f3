//===- Sampler.h - From logits to a token ---------------------------------===//
//
// Pure. What may be drawn is decided in the order of Transformers' logits
// warpers: temperature, then the k largest, then the fewest whose probabilities
// sum to p. A draw is a function of seed and place, so it needs no state.
//
//===----------------------------------------------------------------------===//

#pragma once

#include <cstdint>
#include <vector>

namespace hone::rt {

struct SamplingSettings {
  double temperature = 0; ///< 0: always the largest logit
  uint64_t topK = 0;      ///< 0: all
  double topP = 1;        ///< above 0; 1: all
  uint64_t seed = 0;
};

class Sampler {
public:
  /// Allocates 4 bytes for each of `vocabulary` tokens if it needs their order.
  Sampler(const SamplingSettings &settings, uint64_t vocabulary);

  /// The token after `place` others, from one logit for each of the
  /// vocabulary; -1 if one is NaN or infinite. Of equal logits the lower id
  /// counts as the larger, but a tie with the k-th is kept, as Transformers
  /// keeps it.
  int32_t next(const float *logits, uint64_t place);
  int32_t next(const double *logits, uint64_t place);

private:
  template <typename Logit> int32_t pick(const Logit *logits, uint64_t place);
  /// By portableExp((logit - largest) / temperature), for `uniform` in [0, 1).
  template <typename Logit>
  int32_t draw(const Logit *logits, double largest, double uniform);

  SamplingSettings settings;
  uint64_t count;
  std::vector<uint32_t> order; ///< ids; after the heap the largest, in order
};

} // namespace hone::rt
