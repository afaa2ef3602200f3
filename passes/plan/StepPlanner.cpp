//===- StepPlanner.cpp - Memory against time, within a budget -------------===//

#include "passes/plan/StepPlanner.h"

#include <algorithm>
#include <limits>

namespace hone {

std::string StepPlan::residuals(int64_t layers) const {
  int64_t others = layers;
  for (const Keeping &run : keeping)
    others -= run.layers;
  std::vector<Keeping> runs = keeping;
  if (others || keeping.empty())
    runs.insert(runs.begin(),
                {ResidualPolicy(ResidualPolicy::Kind::Mesp), others});
  if (runs.size() == 1)
    return runs.front().policy.name();
  std::string text;
  for (const auto &[policy, count] : runs)
    text +=
        (text.empty() ? "" : "+") + policy.name() + "*" + std::to_string(count);
  return text;
}

StepPlanner::StepPlanner(int64_t layers, bool mayRound, bool mayOffload,
                         int64_t rowUnit, int64_t maxRows, Judge judge)
    : layers(layers), mayRound(mayRound), mayOffload(mayOffload),
      judge(std::move(judge)) {
  while (mostRecomputed < layers && keptInputs(layers, mostRecomputed + 1))
    ++mostRecomputed;
  for (int64_t rows = rowUnit; rows < maxRows; rows *= 2)
    tileHeights.push_back(rows);
  tileHeights.push_back(0);
  std::reverse(tileHeights.begin(), tileHeights.end());
  using Kind = ResidualPolicy::Kind;
  for (Kind kind : {Kind::Mesp, Kind::Narrow, Kind::Products, Kind::Full})
    kinds.emplace_back(kind);
  // To round cheap values would take as long as to compute them again.
  if (mayRound)
    for (Kind kind : {Kind::Narrow, Kind::Products})
      kinds.emplace_back(kind, /*rounds=*/true);
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

bool StepPlanner::isWorthIt(const StepPlan &plan, const StepPlan &other) {
  return cost(plan)->seconds < (1 - leastGain) * cost(other)->seconds;
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

bool StepPlanner::isFaster(const StepPlan &plan, const StepPlan &other) {
  PlanCost a = *cost(plan), b = *cost(other);
  return std::tie(a.seconds, a.peakBytes) < std::tie(b.seconds, b.peakBytes);
}

std::optional<StepPlan> StepPlanner::withInputsAgain(StepPlan plan,
                                                     int64_t budget) {
  auto keeping = [&](int64_t kept) {
    StepPlan other = plan;
    other.recomputedInputs = mostRecomputed - kept;
    if (mayRound)
      other.roundedInputs = layers - other.recomputedInputs;
    return other;
  };
  if (!fits(keeping(0), budget))
    return std::nullopt;
  return keeping(largest(mostRecomputed, [&](int64_t kept) {
    return fits(keeping(kept), budget);
  }));
}

std::optional<StepPlan> StepPlanner::withFewestInFile(StepPlan plan,
                                                      int64_t budget) {
  auto inMemory = [&](int64_t count) {
    StepPlan other = plan;
    other.offloadedInputs = layers - count;
    return other;
  };
  if (!fits(inMemory(0), budget))
    return std::nullopt;
  return inMemory(largest(
      layers, [&](int64_t count) { return fits(inMemory(count), budget); }));
}

StepPlan StepPlanner::mix(StepPlan plan,
                          std::vector<StepPlan::Keeping> runs) const {
  for (const StepPlan::Keeping &run : runs)
    if (run.layers > 0 && !(run.policy == kinds.front()))
      plan.keeping.push_back(run);
  return plan;
}

std::optional<StepPlan> StepPlanner::withValuesInFile(const StepPlan &plan,
                                                      int64_t budget) {
  auto inFile = [&](ResidualPolicy least, ResidualPolicy most, int64_t count) {
    return withFewestInFile(mix(plan, {{least, layers - count}, {most, count}}),
                            budget);
  };
  std::optional<StepPlan> best;
  auto offer = [&](const std::optional<StepPlan> &other) {
    if (other && (!best || isWorthIt(*other, *best)))
      best = other;
  };
  for (const ResidualPolicy &kind : kinds)
    offer(inFile(kinds.front(), kind, layers));
  if (!best)
    return best;
  // A disk that does not keep up with all layers may with some of them. Each is
  // worth it while the step gets faster.
  const ResidualPolicy least =
      best->keeping.empty() ? kinds.front() : best->keeping.front().policy;
  auto computing = [&](ResidualPolicy kind) {
    std::optional<PlanCost> found = cost(mix(plan, {{kind, layers}}));
    return found ? found->seconds : std::numeric_limits<double>::max();
  };
  for (const ResidualPolicy &most : kinds)
    if (computing(most) < (1 - leastGain) * cost(*best)->seconds)
      offer(inFile(least, most, largest(layers, [&](int64_t count) {
                     auto fewer = inFile(least, most, count - 1);
                     auto more = inFile(least, most, count);
                     return fewer && more && isFaster(*more, *fewer);
                   })));
  return best;
}

StepPlan StepPlanner::withExactInputs(StepPlan plan, int64_t budget) {
  plan.roundedInputs -= largest(plan.roundedInputs, [&](int64_t exact) {
    StepPlan other = plan;
    other.roundedInputs -= exact;
    return fits(other, budget);
  });
  return plan;
}

/// Indices of the `points` on the lower convex hull of (peak, seconds), from
/// the smallest peak to the least time.
static std::vector<size_t>
lowerHull(const std::vector<std::optional<PlanCost>> &points) {
  std::vector<size_t> order, hull;
  for (size_t i = 0; i < points.size(); ++i)
    if (points[i])
      order.push_back(i);
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return std::tie(points[a]->peakBytes, points[a]->seconds) <
           std::tie(points[b]->peakBytes, points[b]->seconds);
  });
  auto gainPerByte = [&](size_t from, size_t to) {
    return (points[from]->seconds - points[to]->seconds) /
           static_cast<double>(points[to]->peakBytes - points[from]->peakBytes);
  };
  for (size_t next : order) {
    if (!hull.empty() && points[next]->seconds >= points[hull.back()]->seconds)
      continue; // more memory for nothing
    while (hull.size() > 1 && gainPerByte(hull.back(), next) >=
                                  gainPerByte(hull[hull.size() - 2], next))
      hull.pop_back();
    hull.push_back(next);
  }
  return hull;
}

StepPlan StepPlanner::withKeptValues(const StepPlan &plan, int64_t budget) {
  auto mix = [&](std::vector<StepPlan::Keeping> runs) {
    return this->mix(plan, std::move(runs));
  };
  std::vector<std::optional<PlanCost>> uniform;
  for (const ResidualPolicy &kind : kinds)
    uniform.push_back(cost(mix({{kind, layers}})));
  std::vector<size_t> hull = lowerHull(uniform);
  size_t next = 0;
  while (next < hull.size() && uniform[hull[next]]->peakBytes <= budget)
    ++next;
  if (next == 0)
    return plan;
  ResidualPolicy least = kinds[hull[next - 1]];
  if (next == hull.size())
    return mix({{least, layers}});

  ResidualPolicy most = kinds[hull[next]];
  int64_t count = largest(layers, [&](int64_t count) {
    return fits(mix({{least, layers - count}, {most, count}}), budget);
  });
  StepPlan best = mix({{least, layers - count}, {most, count}});
  // Too little room for one more of those may be enough for lesser ones.
  for (size_t i = 0; i < kinds.size(); ++i) {
    if (!uniform[i] ||
        uniform[i]->seconds >= uniform[hull[next - 1]]->seconds ||
        uniform[i]->peakBytes >= uniform[hull[next]]->peakBytes)
      continue;
    auto filled = [&](int64_t filling) {
      return mix({{least, layers - count - filling},
                  {kinds[i], filling},
                  {most, count}});
    };
    StepPlan other = filled(largest(layers - count, [&](int64_t filling) {
      return fits(filled(filling), budget);
    }));
    if (isFaster(other, best))
      best = other;
  }
  return best;
}

std::optional<StepPlan> StepPlanner::bestWithin(const StepPlan &tiles,
                                                int64_t budget,
                                                bool &mayUseFile) {
  std::optional<StepPlan> inFile;
  if (mayUseFile)
    inFile = withValuesInFile(tiles, budget);
  // Lower tiles would save memory that the file saves already.
  mayUseFile &= !inFile;
  if (!fits(tiles, budget))
    return inFile ? inFile : withInputsAgain(tiles, budget);
  StepPlan plan = withExactInputs(withKeptValues(tiles, budget), budget);
  return inFile && isWorthIt(*inFile, plan) ? *inFile : plan;
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
  bool mayUseFile = mayOffload;
  for (int64_t rows : tileHeights) {
    StepPlan low;
    low.tileRows = low.forwardTileRows = rows;
    low.roundedInputs = mayRound ? layers : 0;
    // Memory goes to kept values first, or to higher forward tiles. Tiles of
    // sequences may need less memory if they are higher.
    StepPlan high = tilesSequences || fits(low, budget)
                        ? withForwardTiles(low, budget)
                        : low;
    for (const StepPlan &tiles : {low, high}) {
      std::optional<StepPlan> found = bestWithin(tiles, budget, mayUseFile);
      if (!found)
        continue;
      StepPlan plan = withForwardTiles(*found, budget);
      if (!best || isFaster(plan, *best))
        best = plan;
    }
  }
  return best;
}

StepPlan StepPlanner::fastest() {
  return *fastestWithin(std::numeric_limits<int64_t>::max());
}

StepPlan StepPlanner::smallest() {
  StepPlan best, low;
  low.tileRows = low.forwardTileRows = tileHeights.back();
  auto consider = [&](const StepPlan &plan) {
    std::optional<PlanCost> found = cost(plan);
    if (found && found->peakBytes < cost(best)->peakBytes)
      best = plan;
  };
  for (int64_t count = 0; count <= mostRecomputed; ++count) {
    StepPlan plan = low;
    plan.recomputedInputs = count;
    plan.roundedInputs = mayRound ? layers - count : 0;
    consider(plan);
  }
  if (tilesSequences)
    for (int64_t rows : tileHeights) {
      StepPlan plan = best;
      plan.forwardTileRows = rows;
      consider(plan);
    }
  if (mayOffload) {
    StepPlan plan = low;
    plan.offloadedInputs = layers;
    plan.roundedInputs = mayRound ? layers : 0;
    consider(plan);
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
    plan.roundedInputs = mayRound ? layers : 0;
    if (!inTime(plan))
      continue;
    auto recomputing = [&](int64_t count) {
      StepPlan other = plan;
      other.recomputedInputs = count;
      other.roundedInputs = mayRound ? layers - count : 0;
      return other;
    };
    plan = recomputing(largest(mostRecomputed, [&](int64_t count) {
      return inTime(recomputing(count));
    }));
    if (cost(plan)->peakBytes < cost(best)->peakBytes)
      best = plan;
  }
  // With the same peak, fewer inputs may be enough. Where a placement breaks
  // the search's assumptions, it may not find even the plan that is known.
  return fastestWithin(cost(best)->peakBytes).value_or(best);
}

} // namespace hone
