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
  if (settings.repetitionPenalty != 1)
    seen.resize(vocabulary);
}

void Sampler::clear() { seen.assign(seen.size(), false); }

void Sampler::note(const int32_t *ids, uint64_t size) {
  if (!seen.empty())
    for (uint64_t i = 0; i < size; ++i)
      seen[size_t(ids[i])] = true;
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
  if (seen.empty())
    return choose([&](uint64_t id) { return double(logits[id]); }, place);
  return choose(
      [&](uint64_t id) {
        const double logit = double(logits[id]);
        if (!seen[id])
          return logit;
        return logit < 0 ? logit * settings.repetitionPenalty
                         : logit / settings.repetitionPenalty;
      },
      place);
}

template <typename Score> int32_t Sampler::choose(Score score, uint64_t place) {
  uint64_t first = 0;
  double largest = score(0);
  for (uint64_t id = 1; id < count; ++id)
    if (const double own = score(id); own > largest) {
      first = id;
      largest = own;
    }
  if (settings.temperature == 0)
    return int32_t(first);
  const RandomStream stream(settings.seed, place, RandomPurpose::Sample,
                            "token");
  return draw(score, largest, stream.uniform(0));
}

template <typename Score>
int32_t Sampler::draw(Score score, double largest, double uniform) {
  const auto weight = [&](uint64_t id) {
    return portableExp((score(id) - largest) / settings.temperature);
  };
  return order.empty() ? drawFromAll(weight, uniform)
                       : drawFromLargest(score, weight, uniform);
}

template <typename Weight>
int32_t Sampler::drawFromAll(Weight weight, double uniform) {
  const auto kept = [&](uint64_t id) {
    const double own = weight(id);
    return own < settings.minP ? 0 : own;
  };
  double total = 0;
  for (uint64_t id = 0; id < count; ++id)
    total += kept(id);
  double left = uniform * total;
  uint64_t last = 0; // rounding may leave nothing of the sum
  for (uint64_t id = 0; id < count; ++id) {
    const double own = kept(id);
    if (own > 0)
      last = id;
    if ((left -= own) < 0)
      break;
  }
  return int32_t(last);
}

template <typename Score, typename Weight>
int32_t Sampler::drawFromLargest(Score score, Weight weight, double uniform) {
  std::iota(order.begin(), order.end(), 0);
  const auto isSmaller = [&](uint32_t a, uint32_t b) {
    const double left = score(a), right = score(b);
    return left != right ? left < right : a > b;
  };
  auto begin = order.begin(), end = order.end();
  std::make_heap(begin, end, isSmaller);
  // The i-th largest; the heap is in front of `end`.
  const auto at = [&](uint64_t i) { return order[count - 1 - i]; };
  const auto pop = [&] { std::pop_heap(begin, end--, isSmaller); };
  double total = 0;
  uint64_t kept = count;
  if (settings.topK > 0 && settings.topK < count) {
    for (kept = 0; kept < settings.topK; ++kept)
      pop();
    const double least = score(at(kept - 1));
    while (begin != end && score(order.front()) == least) {
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
  // In falling order, so tokens that weigh too little are at the end.
  while (nucleus > 1 && weight(at(nucleus - 1)) < settings.minP)
    sum -= weight(at(--nucleus));
  double left = uniform * sum;
  uint64_t i = 0;
  while (i + 1 < nucleus && (left -= weight(at(i))) >= 0)
    ++i;
  return int32_t(at(i));
}

} // namespace hone::rt
