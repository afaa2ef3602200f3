//===- SamplerTest.cpp - From logits to a token ---------------------------===//
//
// The reference sorts everything and adds up probabilities, as Transformers'
// logits processors do and in their order.
//
//===----------------------------------------------------------------------===//

#include "generate/Sampler.h"

#include "base/Philox.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <numeric>

using namespace hone::rt;

static std::vector<float> randomLogits(size_t count, unsigned seed) {
  RandomStream stream(seed, 0, RandomPurpose::Test, "logits");
  std::vector<float> logits(count);
  for (size_t i = 0; i < count; ++i)
    logits[i] = float(3 * stream.normal(i));
  return logits;
}

/// The probability of each token after `seen`.
static std::vector<double>
probabilities(const std::vector<float> &logits,
              const SamplingSettings &settings,
              const std::vector<int32_t> &seen = {}) {
  const size_t count = logits.size();
  std::vector<double> scores(logits.begin(), logits.end());
  std::vector<bool> isSeen(count);
  for (int32_t id : seen)
    isSeen[size_t(id)] = true;
  for (size_t i = 0; i < count; ++i) {
    if (isSeen[i])
      scores[i] *= scores[i] < 0 ? settings.repetitionPenalty
                                 : 1 / settings.repetitionPenalty;
    scores[i] /= settings.temperature;
  }
  std::vector<size_t> order(count);
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return scores[a] > scores[b]; });
  if (settings.topK > 0 && settings.topK < count) {
    const double least = scores[order[settings.topK - 1]];
    for (double &score : scores)
      if (score < least)
        score = -INFINITY;
  }
  auto softmax = [&] {
    const double most = *std::max_element(scores.begin(), scores.end());
    std::vector<double> p(count);
    double sum = 0;
    for (size_t i = 0; i < count; ++i)
      sum += p[i] = std::exp(scores[i] - most);
    for (double &each : p)
      each /= sum;
    return p;
  };
  std::vector<double> p = softmax();
  double before = 0;
  for (size_t rank = 0; rank < count; ++rank) {
    const size_t i = order[rank];
    if (rank > 0 && before >= settings.topP)
      scores[i] = -INFINITY;
    before += p[i];
  }
  p = softmax();
  const double most = *std::max_element(p.begin(), p.end());
  for (size_t i = 0; i < count; ++i)
    if (p[i] < settings.minP * most)
      scores[i] = -INFINITY;
  return softmax();
}

TEST(Sampler, TakesTheLargestAtTemperatureZero) {
  Sampler sampler({}, 4);
  const float logits[] = {1, 3, 2, 3};
  EXPECT_EQ(sampler.next(logits, 0), 1);
  const double exact[] = {-5, -7, -4, -9};
  EXPECT_EQ(sampler.next(exact, 0), 2);
}

TEST(Sampler, RefusesWhatIsNotFinite) {
  for (float bad : {std::numeric_limits<float>::quiet_NaN(),
                    std::numeric_limits<float>::infinity(),
                    -std::numeric_limits<float>::infinity()}) {
    const float logits[] = {1, bad, 2};
    EXPECT_EQ(Sampler({}, 3).next(logits, 0), -1);
    EXPECT_EQ(Sampler({1, 2, 0.5, 0}, 3).next(logits, 0), -1);
  }
}

TEST(Sampler, IsAFunctionOfSeedAndPlace) {
  const std::vector<float> logits = randomLogits(100, 1);
  const auto draw = [&](uint64_t seed) {
    Sampler sampler({1, 0, 0.9, seed}, logits.size());
    std::vector<int32_t> out;
    for (uint64_t place = 0; place < 50; ++place)
      out.push_back(sampler.next(logits.data(), place));
    return out;
  };
  EXPECT_EQ(draw(3), draw(3));
  EXPECT_NE(draw(3), draw(4));
  Sampler backwards({1, 0, 0.9, 3}, logits.size());
  const std::vector<int32_t> want = draw(3);
  for (uint64_t place = 50; place-- > 0;)
    EXPECT_EQ(backwards.next(logits.data(), place), want[place]);
}

TEST(Sampler, DrawsByTheReferencesProbabilities) {
  constexpr uint64_t draws = 40000;
  const SamplingSettings all[] = {{1, 0, 1, 1},
                                  {0.7, 0, 1, 2},
                                  {1.5, 5, 1, 3},
                                  {1, 0, 0.6, 4},
                                  {2, 12, 0.8, 5},
                                  {1, 1, 1, 6},
                                  {1, 0, 1e-9, 7},
                                  {0.3, 3, 0.99, 8},
                                  {1, 1000, 0.95, 9},
                                  {1e4, 0, 0.5, 10},
                                  // With a least share, a penalty, and both.
                                  {1, 0, 1, 11, 0.1},
                                  {0.5, 0, 1, 12, 0.9},
                                  {2, 12, 0.8, 13, 0.3},
                                  {1, 0, 0.95, 14, 1},
                                  {1, 0, 1, 15, 0, 1.3},
                                  {0.8, 10, 0.9, 16, 0, 0.5},
                                  {1.5, 0, 0.9, 17, 0.05, 2}};
  const std::vector<int32_t> seen = {0, 3, 3, 7, 20, 21, 39};
  for (const SamplingSettings &settings : all) {
    const std::vector<float> logits = randomLogits(40, unsigned(settings.seed));
    const std::vector<double> want = probabilities(logits, settings, seen);
    Sampler sampler(settings, logits.size());
    sampler.note(seen.data(), seen.size());
    std::vector<double> found(logits.size());
    for (uint64_t place = 0; place < draws; ++place)
      found[size_t(sampler.next(logits.data(), place))] += 1.0 / draws;
    for (size_t i = 0; i < want.size(); ++i) {
      // Five standard deviations of a binomial; a token of probability zero is
      // never drawn.
      const double most = 5 * std::sqrt(want[i] * (1 - want[i]) / draws) + 1e-9;
      EXPECT_LE(std::fabs(found[i] - want[i]), most)
          << "token " << i << ", seed " << settings.seed;
    }
  }
}

TEST(Sampler, KeepsWhatTiesWithTheKth) {
  const float logits[] = {2, 1, 1, 1, 0};
  Sampler sampler({1, 2, 1, 1}, 5);
  std::vector<int> found(5);
  for (uint64_t place = 0; place < 4000; ++place)
    ++found[size_t(sampler.next(logits, place))];
  for (int i = 0; i < 4; ++i)
    EXPECT_GT(found[i], 300) << i;
  EXPECT_EQ(found[4], 0);
}

TEST(Sampler, PenaltyMovesTheLargestToo) {
  const float logits[] = {3, 2.5, -1, -1.5};
  Sampler sampler({0, 0, 1, 0, 0, 2}, 4);
  EXPECT_EQ(sampler.next(logits, 0), 0);
  const int32_t first = 0;
  sampler.note(&first, 1);
  EXPECT_EQ(sampler.next(logits, 1), 1); // 1.5 and 2.5
  const float negative[] = {-1, -1.5, -1.75, -5};
  EXPECT_EQ(sampler.next(negative, 2), 1); // -2 and -1.5
  sampler.clear();
  EXPECT_EQ(sampler.next(logits, 3), 0);
}
