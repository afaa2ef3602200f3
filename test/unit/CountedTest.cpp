//===- CountedTest.cpp - A number and its noun ----------------------------===//

#include "base/Counted.h"

#include <gtest/gtest.h>

using namespace hone::rt;

TEST(Counted, OneIsNotMany) {
  EXPECT_EQ(counted(0, "sample"), "0 samples");
  EXPECT_EQ(counted(1, "sample"), "1 sample");
  EXPECT_EQ(counted(2, "sample"), "2 samples");
  EXPECT_EQ(countedOf(1, 1, "sample"), "1 of 1 sample");
  EXPECT_EQ(countedOf(1, 2, "sample"), "1 of 2 samples");
  EXPECT_EQ(plural(1, "is", "are"), "is");
  EXPECT_EQ(plural(0, "is", "are"), "are");
}
