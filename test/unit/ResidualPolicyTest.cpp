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
  EXPECT_EQ(ResidualPolicy::names(), "mesp, store-h, mebp, full");
}

TEST(ResidualPolicy, MespTakesTheLeastMemoryAndFullTheLeastCompute) {
  ResidualPolicy mesp(ResidualPolicy::Kind::Mesp);
  ResidualPolicy full(ResidualPolicy::Kind::Full);
  for (unsigned count : {1u, 2u, 5u}) {
    for (bool trains : {false, true}) {
      EXPECT_EQ(mesp.chooseAlternative(count, trains), count - 1);
      EXPECT_EQ(full.chooseAlternative(count, trains), 0u);
    }
  }
}

TEST(ResidualPolicy, StoreHKeepsAuxiliariesOfWhatTrainsAndNothingElse) {
  ResidualPolicy storeH(ResidualPolicy::Kind::StoreH);
  EXPECT_EQ(storeH.chooseAlternative(2, /*trains=*/true), 0u);
  EXPECT_EQ(storeH.chooseAlternative(2, /*trains=*/false), 1u);
  EXPECT_TRUE(storeH.keepsAuxiliary(/*trains=*/true));
  EXPECT_FALSE(storeH.keepsAuxiliary(/*trains=*/false));
  EXPECT_FALSE(storeH.keepsInnerValues());
}

TEST(ResidualPolicy, OnlyMebpRunsTheWholeBlockAgain) {
  using Kind = ResidualPolicy::Kind;
  for (Kind kind : {Kind::Mesp, Kind::StoreH, Kind::Full})
    EXPECT_FALSE(ResidualPolicy(kind).recomputesWholeBlock());
  EXPECT_TRUE(ResidualPolicy(Kind::Mebp).recomputesWholeBlock());
  EXPECT_FALSE(ResidualPolicy(Kind::Mebp).keepsAuxiliary(true));
}
