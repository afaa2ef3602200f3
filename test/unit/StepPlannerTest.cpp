//===- StepPlannerTest.cpp - Memory against time, within a budget ---------===//
//
// A model of a model: sizes that can be added up by hand, judged for every
// possible plan and compared with the planner's choice.
//
//===----------------------------------------------------------------------===//

#include "passes/plan/StepPlanner.h"

#include "llvm/ADT/ArrayRef.h"
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

using namespace hone;

namespace {

using Kind = ResidualPolicy::Kind;

/// The bytes that a layer keeps in addition to mesp's, and the seconds that
/// they save.
struct Gain {
  ResidualPolicy policy;
  int64_t bytes;
  double seconds;
};

/// 6 layers of 10 bytes of input each. A forward takes 10 s, the whole step
/// 200 s. The working memory is 40 bytes and 1 for each row of a tile of 256
/// rows, of which blocks without sinks need half; a tile takes 1 s in each.
struct ToyModel {
  static constexpr int64_t layers = 6, rows = 256;

  static std::vector<Gain> gains(bool mayRound) {
    std::vector<Gain> all = {{ResidualPolicy(Kind::Narrow), 30, 3},
                             {ResidualPolicy(Kind::Products), 130, 9.5},
                             {ResidualPolicy(Kind::Full), 200, 10}};
    if (mayRound) {
      all.push_back({ResidualPolicy(Kind::Narrow, true), 15, 2.9});
      all.push_back({ResidualPolicy(Kind::Products, true), 65, 9.2});
    }
    return all;
  }

  static std::optional<PlanCost> judge(const StepPlan &plan) {
    int64_t tile = plan.tileRows ? plan.tileRows : rows;
    int64_t forward = plan.forwardTileRows ? plan.forwardTileRows : rows;
    int64_t peak = 40 + std::max(tile, forward / 2) +
                   10 * (layers - plan.recomputedInputs) -
                   5 * plan.roundedInputs;
    double seconds = 200 + rows / tile + rows / forward +
                     10.0 * plan.recomputedInputs + 0.1 * plan.roundedInputs;
    int64_t keeping = 0;
    for (const auto &[policy, count] : plan.keeping)
      for (const Gain &gain : gains(true))
        if (gain.policy == policy) {
          keeping += count;
          peak += gain.bytes * count;
          seconds -= gain.seconds * count;
        }
    if (keeping > layers || !keptInputs(layers, plan.recomputedInputs) ||
        plan.roundedInputs > layers - plan.recomputedInputs)
      return std::nullopt;
    return PlanCost{peak, seconds};
  }

  static StepPlanner planner(bool mayRound = false) {
    return {layers, mayRound, /*mayOffload=*/false, 32, rows, judge};
  }

  /// Visits `plan` with every number of layers of each of `gains`.
  template <typename Visit>
  static void forEachMix(StepPlan plan, llvm::ArrayRef<Gain> gains,
                         int64_t layersLeft, Visit visit) {
    if (gains.empty())
      return visit(plan);
    for (int64_t count = 0; count <= layersLeft; ++count) {
      StepPlan mixed = plan;
      if (count)
        mixed.keeping.push_back({gains.front().policy, count});
      forEachMix(mixed, gains.drop_front(), layersLeft - count, visit);
    }
  }

  /// The least seconds of all plans, by their peak.
  static std::map<int64_t, double> allPlans(bool mayRound) {
    std::map<int64_t, double> best;
    std::vector<Gain> all = gains(mayRound);
    auto add = [&](const StepPlan &plan) {
      auto cost = judge(plan);
      if (!cost)
        return;
      auto [known, isNew] = best.try_emplace(cost->peakBytes, cost->seconds);
      known->second = std::min(known->second, cost->seconds);
    };
    for (int64_t tile : {0, 32, 64, 128})
      for (int64_t forward : {0, 32, 64, 128})
        for (int64_t again = 0; again <= layers; ++again)
          for (int64_t rounded = 0; rounded <= (mayRound ? layers : 0);
               ++rounded)
            forEachMix({tile, forward, {}, again, rounded}, all, layers, add);
    return best;
  }

  /// The fastest of `plans` within `budget`; 0 if none fits.
  static double fastest(const std::map<int64_t, double> &plans,
                        int64_t budget) {
    double best = 0;
    for (auto [peak, seconds] : plans)
      if (peak <= budget && (best == 0 || seconds < best))
        best = seconds;
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
  for (bool mayRound : {false, true}) {
    StepPlanner planner = ToyModel::planner(mayRound);
    auto plans = ToyModel::allPlans(mayRound);
    for (int64_t budget = 0; budget <= 1700; budget += 7) {
      double best = ToyModel::fastest(plans, budget);
      auto plan = planner.fastestWithin(budget);
      ASSERT_EQ(plan.has_value(), best > 0) << budget;
      if (!plan)
        continue;
      PlanCost cost = *ToyModel::judge(*plan);
      EXPECT_LE(cost.peakBytes, budget);
      EXPECT_LE(cost.seconds, best + 10) << budget;
    }
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

TEST(StepPlanner, SmallestMayHaveHighTilesOfSequences) {
  // Blocks without sinks need 150 bytes, or none in tiles of 128 rows.
  auto judge = [](const StepPlan &plan) {
    StepPlan other = plan;
    other.forwardTileRows = plan.tileRows;
    std::optional<PlanCost> cost = ToyModel::judge(other);
    if (cost && plan.forwardTileRows != 128)
      cost->peakBytes = std::max<int64_t>(cost->peakBytes, 150);
    return cost;
  };
  StepPlanner planner(ToyModel::layers, /*mayRound=*/false,
                      /*mayOffload=*/false, 32, ToyModel::rows, judge);
  EXPECT_EQ(planner.cost(planner.smallest())->peakBytes, 150);
  planner.tileSequences();
  EXPECT_EQ(planner.smallest().forwardTileRows, 128);
  const int64_t least = planner.cost(planner.smallest())->peakBytes;
  EXPECT_LT(least, 150);
  EXPECT_TRUE(planner.fastestWithin(least)) << "what a refusal names";
  EXPECT_FALSE(planner.fastestWithin(least - 1));
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
  // 18 bytes too few for mesp: four inputs in half of their 10 bytes.
  StepPlan plan = *planner.fastestWithin(40 + 32 + 60 - 18);
  EXPECT_EQ(plan.roundedInputs, 4);
  EXPECT_EQ(plan.recomputedInputs, 0);
  // With all six rounded it lacks 1 byte: one is run again.
  plan = *planner.fastestWithin(40 + 32 + 30 - 1);
  EXPECT_EQ(plan.recomputedInputs, 1);
  EXPECT_EQ(plan.roundedInputs, 5);
  EXPECT_EQ(planner.cost(planner.smallest())->peakBytes, 40 + 32 + 15);
  // Nothing is rounded where memory is plenty.
  plan = *planner.fastestWithin(40 + 256 + 60 + 6 * 200);
  EXPECT_EQ(plan.roundedInputs, 0);
  EXPECT_EQ(plan.residuals(6), "full");
}

TEST(StepPlanner, MixesNeighboursOnTheHullAndFillsWhatIsLeft) {
  // 200 bytes more than products-bfloat16 for all: 135 for one full layer, and
  // 65 for one that keeps products exactly.
  StepPlanner planner = ToyModel::planner(/*mayRound=*/true);
  StepPlan plan = *planner.fastestWithin(40 + 256 + 60 + 6 * 65 + 135 + 65);
  EXPECT_EQ(plan.residuals(6), "products-bfloat16*4+products*1+full*1");
}

TEST(StepPlanner, RoundedInnerValuesSaveTimeInTheSameMemory) {
  int64_t budget = 40 + 256 + 6 * (5 + 65);
  StepPlan plan = *ToyModel::planner(true).fastestWithin(budget);
  EXPECT_EQ(plan.residuals(6), "products-bfloat16");
  EXPECT_EQ(plan.roundedInputs, 6);
}

TEST(StepPlanner, AsksTheJudgeOnceForEachPlan) {
  int asked = 0;
  StepPlanner planner(6, false, false, 32, 256, [&](const StepPlan &plan) {
    ++asked;
    return ToyModel::judge(plan);
  });
  planner.fastestWithin(300);
  int first = asked;
  planner.fastestWithin(300);
  EXPECT_EQ(asked, first);
}

// Of a model with few values the peak may rise with the inputs that run again.
TEST(StepPlanner, FindsAPlanWhereMoreRecomputationIsNoSmaller) {
  StepPlanner planner(6, false, false, 32, 256, [](const StepPlan &plan) {
    int64_t again = plan.recomputedInputs;
    int64_t peak = again == 0 ? 100 : again == 1 ? 90 : 120;
    return PlanCost{peak, 200.0 + static_cast<double>(again)};
  });
  StepPlan plan = planner.smallestWithin(201.5);
  EXPECT_EQ(plan.recomputedInputs, 1);
  EXPECT_EQ(planner.cost(plan)->peakBytes, 90);
}

// Flash wears out: no more inputs go to the file than the budget needs.
TEST(StepPlanner, OffloadsAsFewInputsAsTheBudgetNeeds) {
  auto judge = [](const StepPlan &plan) -> std::optional<PlanCost> {
    if (!plan.keeping.empty() || plan.recomputedInputs > 0)
      return PlanCost{1000, 1000.0};
    return PlanCost{100 - 5 * plan.offloadedInputs,
                    10.0 + static_cast<double>(plan.offloadedInputs)};
  };
  StepPlanner planner(6, false, /*mayOffload=*/true, 32, 32, judge);
  EXPECT_EQ(planner.fastestWithin(100)->offloadedInputs, 0);
  EXPECT_EQ(planner.fastestWithin(91)->offloadedInputs, 2);
  EXPECT_EQ(planner.fastestWithin(70)->offloadedInputs, 6);
  EXPECT_FALSE(planner.fastestWithin(69));
  EXPECT_EQ(planner.smallest().offloadedInputs, 6);
  // Without a budget nothing is written.
  EXPECT_EQ(planner.fastest().offloadedInputs, 0);
}

namespace {
/// 6 layers as ToyModel's, without tiles, and a file: of `inTime` bytes that
/// are written the step waits for none, of others 0.1 s each. A layer's values
/// that are on their way are in memory.
struct FileModel {
  double inTime;

  std::optional<PlanCost> operator()(const StepPlan &plan) const {
    if (plan.recomputedInputs > 0)
      return std::nullopt;
    double seconds = 200;
    std::vector<int64_t> bytes;
    for (const auto &[policy, count] : plan.keeping)
      for (const Gain &gain : ToyModel::gains(false))
        if (gain.policy == policy) {
          bytes.insert(bytes.end(), size_t(count), 10 + gain.bytes);
          seconds -= gain.seconds * double(count);
        }
    if (bytes.size() > size_t(ToyModel::layers))
      return std::nullopt;
    bytes.insert(bytes.begin(), size_t(ToyModel::layers) - bytes.size(), 10);
    int64_t peak = 40, widest = 0;
    double written = 0;
    for (size_t layer = 0; layer < bytes.size(); ++layer)
      if (layer < size_t(plan.offloadedInputs)) {
        widest = std::max(widest, bytes[layer]);
        written += double(bytes[layer]);
      } else {
        peak += bytes[layer];
      }
    return PlanCost{peak + widest,
                    seconds + 0.1 * std::max(written - inTime, 0.0)};
  }

  StepPlanner planner() const {
    return {ToyModel::layers, false, /*mayOffload=*/true, 32, 32, *this};
  }

  /// The least seconds within `budget` of all plans whose layers are of one
  /// kind or two.
  double fastest(int64_t budget) const {
    double best = 1e9;
    ToyModel::forEachMix(
        {}, ToyModel::gains(false), ToyModel::layers, [&](StepPlan plan) {
          for (; plan.offloadedInputs <= ToyModel::layers;
               ++plan.offloadedInputs)
            if (auto cost = (*this)(plan); cost && cost->peakBytes <= budget)
              best = std::min(best, cost->seconds);
        });
    return best;
  }
};
} // namespace

// 40 bytes, 210 of each layer in memory and 210 on their way.
TEST(StepPlanner, KeepsInAFileWhatMemoryHasNoRoomFor) {
  StepPlan plan = *FileModel{1e9}.planner().fastestWithin(40 + 3 * 210);
  EXPECT_EQ(plan.residuals(6), "full");
  EXPECT_EQ(plan.offloadedInputs, 4);
}

TEST(StepPlanner, WritesNoMoreThanTheDiskKeepsUpWith) {
  for (double inTime : {0, 100, 300, 500, 800}) {
    const FileModel model{inTime};
    StepPlanner planner = model.planner();
    for (int64_t budget = 100; budget <= 1300; budget += 29) {
      PlanCost cost = *planner.cost(*planner.fastestWithin(budget));
      EXPECT_LE(cost.peakBytes, budget);
      // The gain of one layer, and a gain that is not worth a write.
      EXPECT_LE(cost.seconds, model.fastest(budget) + 10 + 2)
          << budget << " with " << inTime;
    }
  }
}

TEST(StepPlanner, WritesNothingForLessThanAHundredth) {
  // All layers fit with `products`; with `full` the step is 2 % faster.
  const int64_t budget = 40 + 6 * 140;
  EXPECT_EQ(FileModel{0}.planner().fastestWithin(budget)->offloadedInputs, 0);
  EXPECT_EQ(FileModel{1e9}.planner().fastestWithin(budget)->residuals(6),
            "full");
}
