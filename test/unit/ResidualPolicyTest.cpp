//===- ResidualPolicyTest.cpp - What the forward pass keeps ---------------===//

#include "passes/ResidualPolicy.h"

#include <gtest/gtest.h>

using namespace hone;

TEST(ResidualPolicy, IsFoundByName) {
  ASSERT_TRUE(ResidualPolicy::parse("mesp").has_value());
  ASSERT_TRUE(ResidualPolicy::parse("full").has_value());
  EXPECT_FALSE(ResidualPolicy::parse("mesp")->keepsInnerValues());
  EXPECT_TRUE(ResidualPolicy::parse("full")->keepsInnerValues());
}

TEST(ResidualPolicy, RejectsOtherNames) {
  EXPECT_FALSE(ResidualPolicy::parse("").has_value());
  EXPECT_FALSE(ResidualPolicy::parse("MeSP").has_value());
  EXPECT_FALSE(ResidualPolicy::parse("full ").has_value());
}

TEST(ResidualPolicy, ListsAllItsNames) {
  EXPECT_EQ(ResidualPolicy::names(), "mesp, full");
}

TEST(ResidualPolicy, MespTakesTheLeastMemoryAndFullTheLeastCompute) {
  ResidualPolicy mesp(ResidualPolicy::Kind::Mesp);
  ResidualPolicy full(ResidualPolicy::Kind::Full);
  for (unsigned count : {1u, 2u, 5u}) {
    EXPECT_EQ(mesp.chooseAlternative(count), count - 1);
    EXPECT_EQ(full.chooseAlternative(count), 0u);
  }
}
