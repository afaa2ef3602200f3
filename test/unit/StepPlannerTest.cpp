//===- StepPlannerTest.cpp - Memory against time, within a budget ---------===//
//
// A model of a model: sizes that can be added up by hand, judged for every plan
// there is and compared with what the planner finds.
//
//===----------------------------------------------------------------------===//

#include "passes/StepPlanner.h"
#include "passes/ResidualPolicy.h"

#include <gtest/gtest.h>

#include <algorithm>

using namespace hone;

namespace {

/// 6 layers of 10 bytes of input each. `narrow` keeps 30 bytes more and saves
/// 3 s a layer, `full` keeps 200 more and saves 10 s. A forward takes 10 s, the
/// whole step 200 s. The working memory is 40 bytes and 1 for each row of a
/// tile of 256 rows, of which blocks without sinks need half; a tile takes 1 s
/// in each.
struct ToyModel {
  static constexpr int64_t layers = 6, rows = 256;

  static std::optional<PlanCost> judge(const StepPlan &plan) {
    if (plan.narrowLayers + plan.fullLayers > layers ||
        !keptInputs(layers, plan.recomputedInputs) ||
        plan.roundedInputs > layers - plan.recomputedInputs)
      return std::nullopt;
    int64_t tile = plan.tileRows ? plan.tileRows : rows;
    int64_t forward = plan.forwardTileRows ? plan.forwardTileRows : rows;
    int64_t peak = 40 + std::max(tile, forward / 2) +
                   10 * (layers - plan.recomputedInputs) -
                   5 * plan.roundedInputs + 30 * plan.narrowLayers +
                   200 * plan.fullLayers;
    double seconds = 200 + rows / tile + rows / forward +
                     10.0 * plan.recomputedInputs + 0.1 * plan.roundedInputs -
                     3.0 * plan.narrowLayers - 10.0 * plan.fullLayers;
    return PlanCost{peak, seconds};
  }

  static StepPlanner planner(bool mayRound = false) {
    return {layers, mayRound, 32, rows, judge};
  }

  /// The fastest of all plans within `budget`; 0 if none fits.
  static double fastest(int64_t budget) {
    double best = 0;
    auto add = [&](const StepPlan &plan) {
      auto cost = judge(plan);
      if (cost && cost->peakBytes <= budget &&
          (best == 0 || cost->seconds < best))
        best = cost->seconds;
    };
    for (int64_t tile : {0, 32, 64, 128})
      for (int64_t forward : {0, 32, 64, 128})
        for (int64_t narrow = 0; narrow <= layers; ++narrow)
          for (int64_t full = 0; full <= layers; ++full)
            for (int64_t again = 0; again <= layers; ++again)
              add({tile, forward, narrow, full, again, 0});
    return best;
  }
};

} // namespace

TEST(StepPlanner, FindsPlansByHand) {
  StepPlanner planner = ToyModel::planner();
  // 40 + 256 + 6 * 10: mesp without tiles just fits.
  auto plan = planner.fastestWithin(356);
  ASSERT_TRUE(plan.has_value());
  EXPECT_EQ(plan->residuals(6), "narrow");
  EXPECT_EQ(plan->tileRows, 64); // 40 + 64 + 60 + 180 = 344
  EXPECT_EQ(plan->forwardTileRows, 128);
  // One byte less than mesp with the lowest tile: an input is run again.
  plan = planner.fastestWithin(40 + 32 + 60 - 1);
  ASSERT_TRUE(plan.has_value());
  EXPECT_EQ(plan->recomputedInputs, 1);
  EXPECT_EQ(plan->tileRows, 32);
}

TEST(StepPlanner, IsAsFastAsAnyPlanButForOneLayer) {
  StepPlanner planner = ToyModel::planner();
  for (int64_t budget = 0; budget <= 1700; budget += 7) {
    double best = ToyModel::fastest(budget);
    auto plan = planner.fastestWithin(budget);
    ASSERT_EQ(plan.has_value(), best > 0) << budget;
    if (!plan)
      continue;
    PlanCost cost = *ToyModel::judge(*plan);
    EXPECT_LE(cost.peakBytes, budget);
    EXPECT_LE(cost.seconds, best + 10) << budget;
  }
}

TEST(StepPlanner, MoreMemoryIsNeverSlower) {
  StepPlanner planner = ToyModel::planner();
  double before = 1e9;
  for (int64_t budget = planner.cost(planner.smallest())->peakBytes;
       budget <= 1700; budget += 13) {
    double seconds = planner.cost(*planner.fastestWithin(budget))->seconds;
    EXPECT_LE(seconds, before) << budget;
    before = seconds;
  }
}

TEST(StepPlanner, SmallestIsTheLeastBudgetThatCanBeKept) {
  StepPlanner planner = ToyModel::planner();
  // 3 of 6 inputs in memory: from nothing, then from one.
  int64_t least = planner.cost(planner.smallest())->peakBytes;
  EXPECT_EQ(least, 40 + 32 + 10 * 3);
  EXPECT_TRUE(planner.fastestWithin(least).has_value());
  EXPECT_FALSE(planner.fastestWithin(least - 1).has_value());
}

TEST(StepPlanner, FastestKeepsAllAndTilesNothing) {
  StepPlan plan = ToyModel::planner().fastest();
  EXPECT_EQ(plan.residuals(6), "full");
  EXPECT_EQ(plan.tileRows, 0);
}

TEST(StepPlanner, SmallestWithinATimeUsesIt) {
  StepPlanner planner = ToyModel::planner();
  // mesp without tiles takes 202 s; tiles of 32 rows take 14 s more.
  StepPlan plan = planner.smallestWithin(202 + 14);
  EXPECT_EQ(plan.tileRows, 32);
  EXPECT_EQ(plan.recomputedInputs, 0);
  // Higher tiles in the other blocks need no more memory.
  EXPECT_EQ(plan.forwardTileRows, 64);
  // In 10 s more one input is run again.
  EXPECT_EQ(planner.smallestWithin(202 + 24).recomputedInputs, 1);
}

TEST(StepPlanner, RoundsBeforeItRecomputesIfItMay) {
  StepPlanner planner = ToyModel::planner(/*mayRound=*/true);
  // 9 bytes too few for mesp: two inputs in half of their 10 bytes.
  StepPlan plan = *planner.fastestWithin(40 + 32 + 60 - 9);
  EXPECT_EQ(plan.roundedInputs, 2);
  EXPECT_EQ(plan.recomputedInputs, 0);
  // With all six rounded it lacks 1 byte: one is run again.
  plan = *planner.fastestWithin(40 + 32 + 30 - 1);
  EXPECT_EQ(plan.recomputedInputs, 1);
  EXPECT_EQ(plan.roundedInputs, 5);
  EXPECT_EQ(planner.cost(planner.smallest())->peakBytes, 40 + 32 + 15);
  // It never rounds without need.
  EXPECT_EQ(planner.fastestWithin(40 + 32 + 60)->roundedInputs, 0);
}

TEST(StepPlanner, AsksTheJudgeOnceForEachPlan) {
  int asked = 0;
  StepPlanner planner(6, false, 32, 256, [&](const StepPlan &plan) {
    ++asked;
    return ToyModel::judge(plan);
  });
  planner.fastestWithin(300);
  int first = asked;
  planner.fastestWithin(300);
  EXPECT_EQ(asked, first);
}
