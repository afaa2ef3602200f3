//===- StepPlanner.cpp - Memory against time, within a budget -------------===//

#include "passes/StepPlanner.h"

#include "passes/ResidualPolicy.h"

#include <algorithm>
#include <limits>

namespace hone {

std::string StepPlan::residuals(int64_t layers) const {
  const std::pair<const char *, int64_t> runs[] = {
      {"mesp", layers - narrowLayers - fullLayers},
      {"narrow", narrowLayers},
      {"full", fullLayers}};
  std::string text;
  for (auto [name, count] : runs) {
    if (count == layers)
      return name;
    if (count > 0)
      text += (text.empty() ? "" : "+") + std::string(name) + "*" +
              std::to_string(count);
  }
  return text;
}

StepPlanner::StepPlanner(int64_t layers, bool mayRound, int64_t rowUnit,
                         int64_t maxRows, Judge judge)
    : layers(layers), mayRound(mayRound), judge(std::move(judge)) {
  while (mostRecomputed < layers && keptInputs(layers, mostRecomputed + 1))
    ++mostRecomputed;
  for (int64_t rows = rowUnit; rows < maxRows; rows *= 2)
    tileHeights.push_back(rows);
  tileHeights.push_back(0);
  std::reverse(tileHeights.begin(), tileHeights.end());
}

std::optional<PlanCost> StepPlanner::cost(const StepPlan &plan) {
  auto [known, isNew] = judged.try_emplace(plan);
  if (isNew)
    known->second = judge(plan);
  return known->second;
}

bool StepPlanner::fits(const StepPlan &plan, int64_t budget) {
  std::optional<PlanCost> found = cost(plan);
  return found && found->peakBytes <= budget;
}

template <typename Predicate>
int64_t StepPlanner::largest(int64_t most, Predicate holds) const {
  int64_t low = 0, high = most + 1; // holds(low), not holds(high)
  while (high - low > 1) {
    int64_t middle = low + (high - low) / 2;
    (holds(middle) ? low : high) = middle;
  }
  return low;
}

std::vector<StepPlan> StepPlanner::candidatesWithin(int64_t tileRows,
                                                    int64_t budget) {
  StepPlan plan;
  plan.tileRows = plan.forwardTileRows = tileRows;
  if (!fits(plan, budget)) {
    if (mayRound) {
      plan.roundedInputs = layers;
      if (fits(plan, budget)) {
        plan.roundedInputs -= largest(layers, [&](int64_t exact) {
          StepPlan other = plan;
          other.roundedInputs -= exact;
          return fits(other, budget);
        });
        return {plan};
      }
    }
    // The fewest recomputed inputs: the most that can be kept again.
    auto recomputing = [&](int64_t count) {
      StepPlan other = plan;
      other.recomputedInputs = count;
      other.roundedInputs = mayRound ? layers - count : 0;
      return other;
    };
    if (!fits(recomputing(mostRecomputed), budget))
      return {};
    plan =
        recomputing(mostRecomputed - largest(mostRecomputed, [&](int64_t kept) {
                      return fits(recomputing(mostRecomputed - kept), budget);
                    }));
    return {plan};
  }

  // Two ways up, by what the memory is spent on first.
  StepPlan narrowFirst = plan, fullFirst = plan;
  narrowFirst.narrowLayers = largest(layers, [&](int64_t count) {
    StepPlan other = plan;
    other.narrowLayers = count;
    return fits(other, budget);
  });
  int64_t upgraded = largest(narrowFirst.narrowLayers, [&](int64_t count) {
    StepPlan other = narrowFirst;
    other.narrowLayers -= count;
    other.fullLayers = count;
    return fits(other, budget);
  });
  StepPlan mixed = narrowFirst;
  mixed.narrowLayers -= upgraded;
  mixed.fullLayers = upgraded;
  fullFirst.fullLayers = largest(layers, [&](int64_t count) {
    StepPlan other = plan;
    other.fullLayers = count;
    return fits(other, budget);
  });
  fullFirst.narrowLayers =
      largest(layers - fullFirst.fullLayers, [&](int64_t count) {
        StepPlan other = fullFirst;
        other.narrowLayers = count;
        return fits(other, budget);
      });
  return {plan, narrowFirst, mixed, fullFirst};
}

StepPlan StepPlanner::withForwardTiles(StepPlan plan, int64_t budget) {
  for (int64_t rows : tileHeights) {
    StepPlan higher = plan;
    higher.forwardTileRows = rows;
    if (rows == plan.tileRows || fits(higher, budget))
      return higher;
  }
  return plan;
}

std::optional<StepPlan> StepPlanner::fastestWithin(int64_t budget) {
  std::optional<StepPlan> best;
  for (int64_t rows : tileHeights)
    for (const StepPlan &found : candidatesWithin(rows, budget)) {
      StepPlan plan = withForwardTiles(found, budget);
      if (!best) {
        best = plan;
        continue;
      }
      PlanCost known = *cost(*best), other = *cost(plan);
      if (std::tie(other.seconds, other.peakBytes) <
          std::tie(known.seconds, known.peakBytes))
        best = plan;
    }
  return best;
}

StepPlan StepPlanner::fastest() {
  return *fastestWithin(std::numeric_limits<int64_t>::max());
}

StepPlan StepPlanner::smallest() {
  StepPlan best;
  for (int64_t count = 0; count <= mostRecomputed; ++count) {
    StepPlan plan;
    plan.tileRows = plan.forwardTileRows = tileHeights.back();
    plan.recomputedInputs = count;
    plan.roundedInputs = mayRound ? layers - count : 0;
    std::optional<PlanCost> found = cost(plan);
    if (found && found->peakBytes < cost(best)->peakBytes)
      best = plan;
  }
  return best;
}

StepPlan StepPlanner::smallestWithin(double seconds) {
  StepPlan best;
  auto inTime = [&](const StepPlan &plan) {
    std::optional<PlanCost> found = cost(plan);
    return found && found->seconds <= seconds;
  };
  for (int64_t rows : tileHeights) {
    StepPlan plan;
    plan.tileRows = plan.forwardTileRows = rows;
    if (!inTime(plan))
      continue;
    plan.recomputedInputs = largest(mostRecomputed, [&](int64_t count) {
      StepPlan other = plan;
      other.recomputedInputs = count;
      return inTime(other);
    });
    if (cost(plan)->peakBytes < cost(best)->peakBytes)
      best = plan;
  }
  // With the same peak, fewer inputs may be enough.
  return *fastestWithin(cost(best)->peakBytes);
}

} // namespace hone
