//===- ModuleCutsTest.cpp - Modules that take about as long ---------------===//

#include "passes/parts/ModuleCuts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

using namespace hone;

using Cuts = std::vector<int64_t>;

TEST(ModuleCutsTest, CutsWhereTheSlowestIsFastest) {
  EXPECT_EQ(cutEvenly({1, 1, 1, 1}, 2), Cuts{2});
  EXPECT_EQ(cutEvenly({1, 1, 1, 3}, 2), Cuts{3});
  EXPECT_EQ(cutEvenly({5, 1, 1, 1, 1, 4}, 3), (Cuts{1, 5}));
  EXPECT_EQ(cutEvenly({2}, 1), Cuts{});
}

TEST(ModuleCutsTest, EveryModuleHasALayer) {
  EXPECT_EQ(cutEvenly({0, 0, 9}, 3), (Cuts{1, 2}));
  EXPECT_EQ(cutEvenly({9, 0, 0, 0}, 4), (Cuts{1, 2, 3}));
}

/// The time of the slowest of the modules that `cuts` make.
static double slowest(const std::vector<double> &seconds, const Cuts &cuts) {
  double most = 0;
  int64_t first = 0;
  Cuts ends = cuts;
  ends.push_back(int64_t(seconds.size()));
  for (int64_t end : ends) {
    most = std::max(most, std::accumulate(seconds.begin() + first,
                                          seconds.begin() + end, 0.0));
    first = end;
  }
  return most;
}

TEST(ModuleCutsTest, NoOtherThreeModulesAreFaster) {
  std::mt19937 random(7);
  for (int round = 0; round < 50; ++round) {
    std::vector<double> seconds(3 + random() % 8);
    for (double &each : seconds)
      each = random() % 100;
    double least = 1e9;
    for (int64_t a = 1; a < int64_t(seconds.size()); ++a)
      for (int64_t b = a + 1; b < int64_t(seconds.size()); ++b)
        least = std::min(least, slowest(seconds, {a, b}));
    EXPECT_EQ(slowest(seconds, cutEvenly(seconds, 3)), least);
  }
}
