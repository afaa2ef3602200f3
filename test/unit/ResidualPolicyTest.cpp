//===- ResidualPolicyTest.cpp - The values that a forward pass keeps ------===//

#include "passes/derive/ResidualPolicy.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

using namespace hone;

TEST(ResidualPolicy, IsFoundByName) {
  ASSERT_TRUE(ResidualPolicy::parse("mesp").has_value());
  ASSERT_TRUE(ResidualPolicy::parse("full").has_value());
  EXPECT_FALSE(ResidualPolicy::parse("mesp")->keepsInnerValue(true, false));
  EXPECT_TRUE(ResidualPolicy::parse("full")->keepsInnerValue(false, true));
}

TEST(ResidualPolicy, RejectsOtherNames) {
  EXPECT_FALSE(ResidualPolicy::parse("").has_value());
  EXPECT_FALSE(ResidualPolicy::parse("MeSP").has_value());
  EXPECT_FALSE(ResidualPolicy::parse("full ").has_value());
}

TEST(ResidualPolicy, ListsAllItsNames) {
  EXPECT_EQ(ResidualPolicy::names(),
            "mesp, store-h, mebp, narrow, products, full; the last three also "
            "with -bfloat16");
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
  EXPECT_TRUE(storeH.keepsAuxiliary(/*trains=*/true, /*narrow=*/true));
  EXPECT_FALSE(storeH.keepsAuxiliary(/*trains=*/false, /*narrow=*/true));
  EXPECT_FALSE(storeH.keepsInnerValue(/*narrow=*/true, /*cheap=*/false));
}

TEST(ResidualPolicy, OnlyMebpRunsTheWholeBlockAgain) {
  using Kind = ResidualPolicy::Kind;
  for (Kind kind : {Kind::Mesp, Kind::StoreH, Kind::Full})
    EXPECT_FALSE(ResidualPolicy(kind).recomputesWholeBlock());
  EXPECT_TRUE(ResidualPolicy(Kind::Mebp).recomputesWholeBlock());
  EXPECT_FALSE(ResidualPolicy(Kind::Mebp).keepsAuxiliary(true, true));
}

TEST(ResidualPolicy, NarrowKeepsWhatIsNeitherWideNorCheap) {
  ResidualPolicy narrow(ResidualPolicy::Kind::Narrow);
  EXPECT_TRUE(narrow.keepsInnerValue(/*narrow=*/true, /*cheap=*/false));
  EXPECT_FALSE(narrow.keepsInnerValue(/*narrow=*/true, /*cheap=*/true));
  EXPECT_FALSE(narrow.keepsInnerValue(/*narrow=*/false, /*cheap=*/false));
}

TEST(ResidualPolicy, ProductsKeepsWhatIsNotCheap) {
  ResidualPolicy products(ResidualPolicy::Kind::Products);
  EXPECT_TRUE(products.keepsInnerValue(/*narrow=*/false, /*cheap=*/false));
  EXPECT_FALSE(products.keepsInnerValue(/*narrow=*/true, /*cheap=*/true));
  EXPECT_TRUE(products.keepsAuxiliary(/*trains=*/true, /*narrow=*/true));
  EXPECT_EQ(products.chooseAlternative(2, /*trains=*/true), 0u);
}

TEST(ResidualPolicy, RoundsOnlyWhatKeepsInnerValues) {
  for (const char *name : {"narrow", "products", "full"}) {
    auto policy = ResidualPolicy::parse(std::string(name) + "-bfloat16");
    ASSERT_TRUE(policy.has_value()) << name;
    EXPECT_TRUE(policy->roundsInnerValues());
    EXPECT_EQ(policy->name(), std::string(name) + "-bfloat16");
    EXPECT_FALSE(ResidualPolicy::parse(name)->roundsInnerValues());
  }
  for (const char *name : {"mesp", "store-h", "mebp", "half", ""})
    EXPECT_FALSE(
        ResidualPolicy::parse(std::string(name) + "-bfloat16").has_value());
}

TEST(ResidualPlan, IsOnePolicyOrOneForEachLayer) {
  auto all = ResidualPlan::parse("mesp");
  ASSERT_TRUE(all.has_value());
  EXPECT_TRUE(all->isFor(7));
  EXPECT_EQ(all->variants(), std::vector<std::string>{""});
  auto mixed = ResidualPlan::parse("mesp*2+full*1");
  ASSERT_TRUE(mixed.has_value());
  EXPECT_TRUE(mixed->isFor(3));
  EXPECT_FALSE(mixed->isFor(4));
  EXPECT_EQ(mixed->policyOf(1).name(), "mesp");
  EXPECT_EQ(mixed->policyOf(2).name(), "full");
  EXPECT_EQ(mixed->variants(), (std::vector<std::string>{".mesp", ".full"}));
  EXPECT_EQ(mixed->str(), "mesp*2+full*1");
}

TEST(ResidualPlan, RejectsOtherTexts) {
  for (const char *text : {"", "half", "mesp*", "mesp*0", "mesp*-1", "mesp*2+",
                           "mesp*2+full", "mesp*2,full*1"})
    EXPECT_FALSE(ResidualPlan::parse(text).has_value()) << text;
}

/// The most inputs in memory at one time from the beginning of the backward on,
/// if each missing one is restored from the one before it when it is read.
static int64_t mostInMemory(const std::vector<bool> &kept) {
  std::vector<bool> inMemory = kept;
  int64_t most = 0;
  for (int64_t layer = kept.size() - 1; layer >= 0; --layer) {
    for (int64_t i = layer; i >= 0 && !inMemory[i]; --i)
      inMemory[i] = true;
    most = std::max<int64_t>(
        most, std::count(inMemory.begin(), inMemory.end(), true));
    inMemory[layer] = false;
  }
  return most;
}

TEST(KeptInputs, NeverHasMoreInMemoryThanItKeeps) {
  for (int64_t count = 0; count <= 40; ++count)
    for (int64_t recomputed = 0; recomputed <= count; ++recomputed) {
      auto kept = keptInputs(count, recomputed);
      int64_t rest = count - recomputed;
      ASSERT_EQ(kept.has_value(), count == 0 || recomputed == 0 ||
                                      rest * (rest + 1) / 2 + rest >= count)
          << count << " " << recomputed;
      if (!kept)
        continue;
      EXPECT_EQ(std::count(kept->begin(), kept->end(), true), rest);
      EXPECT_LE(mostInMemory(*kept), rest) << count << " " << recomputed;
    }
}

/// The fewest forwards that read `length` inputs after one that is there, with
/// room for `slots`: every choice of the first that stays is tried.
static int64_t fewestForwards(int64_t length, int64_t slots) {
  static std::map<std::pair<int64_t, int64_t>, int64_t> known;
  if (length == 0)
    return 0;
  if (slots == 0)
    return 1 << 28;
  auto [found, isNew] = known.try_emplace({length, slots}, 1 << 28);
  if (isNew) {
    int64_t least = 1 << 28;
    for (int64_t at = 1; at <= length; ++at)
      least = std::min(least, at + fewestForwards(length - at, slots - 1) +
                                  fewestForwards(at - 1, slots));
    known[{length, slots}] = least;
  }
  return known[{length, slots}];
}

TEST(HeldInputs, FitIntoAnyMemoryWithTheFewestForwards) {
  for (int64_t count = 0; count <= 40; ++count)
    for (int64_t most = 1; most <= count + 1; ++most) {
      auto held = heldInputs(count, most);
      ASSERT_EQ(held.size(), size_t(count));
      std::set<int64_t> inMemory;
      int64_t forwards = 0;
      for (int64_t input = count - 1; input >= 0; --input) {
        if (!inMemory.count(input) || input == count - 1) {
          auto above = inMemory.lower_bound(input);
          forwards +=
              input - (above == inMemory.begin() ? -1 : *std::prev(above));
          inMemory.insert(held[input].begin(), held[input].end());
        } else {
          EXPECT_TRUE(held[input].empty());
        }
        ASSERT_TRUE(inMemory.count(input)) << count << " " << most;
        ASSERT_LE(int64_t(inMemory.size()), most) << count << " " << most;
        inMemory.erase(input);
      }
      EXPECT_EQ(forwards, fewestForwards(count, most)) << count << " " << most;
    }
  // 1,500 layers and room for three.
  EXPECT_EQ(heldInputs(1500, 3).back().size(), 3u);
}

TEST(KeptInputs, DropsTheFirstOnes) {
  EXPECT_EQ(*keptInputs(5, 2),
            (std::vector<bool>{false, false, true, true, true}));
  // Only 2 may be in memory: 0 1 | 2 3 | 4, from nothing, from 2, kept.
  EXPECT_EQ(*keptInputs(5, 3),
            (std::vector<bool>{false, false, true, false, true}));
}
