//===- LaunchGroupsTest.cpp - Which loops share a launch ------------------===//

#include "targets/gpu/LaunchGroups.h"

#include "gtest/gtest.h"

#include <set>

using namespace hone::simt;

namespace {
using Groups = std::vector<std::vector<unsigned>>;

Groups group(const std::vector<int64_t> &shared,
             const std::set<std::pair<unsigned, unsigned>> &dependences) {
  std::vector<LoopSummary> loops;
  for (int64_t bytes : shared)
    loops.push_back({bytes});
  return groupLaunches(loops, /*mostShared=*/100,
                       [&](unsigned later, unsigned earlier) {
                         return dependences.count({later, earlier}) > 0;
                       });
}
} // namespace

TEST(LaunchGroups, IndependentLoopsAreOneLaunch) {
  EXPECT_EQ(group({0, 0, 0}, {}), (Groups{{0, 1, 2}}));
  EXPECT_EQ(group({}, {}), Groups());
}

// h of q, y of q, h of k, y of k: both h first.
TEST(LaunchGroups, ALoopIsInTheFirstLaunchAfterWhatItNeeds) {
  EXPECT_EQ(group({0, 0, 0, 0}, {{1, 0}, {3, 2}}), (Groups{{0, 2}, {1, 3}}));
}

// Dependences through a third loop count, and none is turned round.
TEST(LaunchGroups, AChainKeepsItsOrder) {
  EXPECT_EQ(group({0, 0, 0, 0}, {{1, 0}, {2, 1}, {3, 0}}),
            (Groups{{0}, {1, 3}, {2}}));
}

TEST(LaunchGroups, MuchSharedMemoryStaysAmongItsKind) {
  EXPECT_EQ(group({500, 20, 500, 300}, {}), (Groups{{1}, {3}, {0, 2}}));
}
