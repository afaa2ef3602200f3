//===- Sampler.cpp - From logits to a token -------------------------------===//
//
// A heap of ids gives up the largest one by one: a nucleus is mostly a few of
// many thousand, and sorting all would take as long as a small model's step.
//
//===----------------------------------------------------------------------===//

#include "generate/Sampler.h"

#include "base/Philox.h"
#include "base/PortableMath.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace hone::rt {

Sampler::Sampler(const SamplingSettings &settings, uint64_t vocabulary)
    : settings(settings), count(vocabulary) {
  if (settings.temperature > 0 && (settings.topK > 0 || settings.topP < 1))
    order.resize(vocabulary);
}

int32_t Sampler::next(const float *logits, uint64_t place) {
  return pick(logits, place);
}

int32_t Sampler::next(const double *logits, uint64_t place) {
  return pick(logits, place);
}

template <typename Logit>
int32_t Sampler::pick(const Logit *logits, uint64_t place) {
  if (count == 0 || !std::all_of(logits, logits + count,
                                 [](Logit x) { return std::isfinite(x); }))
    return -1;
  const auto largest = std::max_element(logits, logits + count);
  if (settings.temperature == 0)
    return int32_t(largest - logits);
  const RandomStream stream(settings.seed, place, RandomPurpose::Sample,
                            "token");
  return draw(logits, double(*largest), stream.uniform(0));
}

template <typename Logit>
int32_t Sampler::draw(const Logit *logits, double largest, double uniform) {
  const auto weight = [&](uint64_t id) {
    return portableExp((double(logits[id]) - largest) / settings.temperature);
  };
  double total = 0;
  if (order.empty()) {
    for (uint64_t id = 0; id < count; ++id)
      total += weight(id);
    double left = uniform * total;
    uint64_t last = 0; // rounding may leave nothing of the sum
    for (uint64_t id = 0; id < count; ++id) {
      const double own = weight(id);
      if (own > 0)
        last = id;
      if ((left -= own) < 0)
        break;
    }
    return int32_t(last);
  }

  std::iota(order.begin(), order.end(), 0);
  const auto isSmaller = [&](uint32_t a, uint32_t b) {
    return logits[a] != logits[b] ? logits[a] < logits[b] : a > b;
  };
  auto begin = order.begin(), end = order.end();
  std::make_heap(begin, end, isSmaller);
  // The i-th largest; heap is what is in front of `end`.
  const auto at = [&](uint64_t i) { return order[count - 1 - i]; };
  const auto pop = [&] { std::pop_heap(begin, end--, isSmaller); };
  uint64_t kept = count;
  if (settings.topK > 0 && settings.topK < count) {
    for (kept = 0; kept < settings.topK; ++kept)
      pop();
    const Logit least = logits[at(kept - 1)];
    while (begin != end && logits[order.front()] == least) {
      pop();
      ++kept;
    }
    for (uint64_t i = 0; i < kept; ++i)
      total += weight(at(i));
  } else {
    for (uint64_t id = 0; id < count; ++id)
      total += weight(id);
  }
  double sum = 0;
  uint64_t nucleus = 0;
  for (; nucleus < kept && (nucleus == 0 || sum < settings.topP * total);
       ++nucleus) {
    if (nucleus == uint64_t(order.end() - end))
      pop();
    sum += weight(at(nucleus));
  }
  double left = uniform * sum;
  uint64_t i = 0;
  while (i + 1 < nucleus && (left -= weight(at(i))) >= 0)
    ++i;
  return int32_t(at(i));
}

} // namespace hone::rt
