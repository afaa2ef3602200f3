//===- RecentNamesTest.cpp - The newest names of messages -----------------===//

#include "exchange/RecentNames.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <random>

using namespace hone::rt;

static constexpr uint32_t kMost = 64;

static bool areEqual(const MessageName &a, const MessageName &b) {
  return !(a < b) && !(b < a);
}

// Beside a list of the newest, with names that differ in one field.
TEST(RecentNames, AreTheNewestOfAll) {
  RecentNames names(kMost);
  std::deque<MessageName> wanted;
  std::mt19937_64 random(1);
  for (int i = 0; i < 20000; ++i) {
    const MessageName name{uint32_t(random() % 3), random() % 4, random() % 4,
                           random() % 4};
    const bool isThere =
        std::any_of(wanted.begin(), wanted.end(), [&](const MessageName &own) {
          return areEqual(own, name);
        });
    ASSERT_EQ(names.contains(name), isThere) << i;
    if (isThere)
      continue;
    names.insert(name);
    wanted.push_back(name);
    if (wanted.size() > kMost)
      wanted.pop_front();
  }
  EXPECT_EQ(wanted.size(), size_t(kMost));
}

TEST(RecentNames, AreGoneOnceAllAreForgotten) {
  RecentNames names(kMost);
  const MessageName name{1, 2, 3, 4};
  names.insert(name);
  EXPECT_TRUE(names.contains(name));
  names.clear();
  EXPECT_FALSE(names.contains(name));
  for (uint64_t step = 0; step < 3 * kMost; ++step)
    names.insert({0, step, 0, 0});
  EXPECT_FALSE(names.contains({0, 2 * kMost - 1, 0, 0}));
  EXPECT_TRUE(names.contains({0, 2 * kMost, 0, 0}));
}

TEST(RecentNames, TakeLittle) {
  EXPECT_EQ(RecentNames::bytes(4096), uint64_t(4096 * (32 + 2)));
}
