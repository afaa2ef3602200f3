//===- StepPlanner.h - Memory against time, within a budget ---------------===//
//
// Pure: no IR. Chooses the policy of each layer, which block inputs are
// computed again and how high the tiles of rows are. The caller runs the passes
// and judges plans, so a peak is that of a real placement, never an estimate.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "passes/derive/ResidualPolicy.h"

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

namespace hone {

/// One plan. Layers that keep more are the last: their values are free again
/// when the backward of the others begins. See ResidualPolicy.h.
struct StepPlan {
  /// Layers that keep more than `mesp`, the policy of the others.
  struct Keeping {
    ResidualPolicy policy;
    int64_t layers;
    bool operator<(const Keeping &other) const {
      return std::tie(policy, layers) < std::tie(other.policy, other.layers);
    }
  };

  /// Rows of a tile in blocks that have sinks of gradients, and in the others;
  /// 0: no tiles.
  int64_t tileRows = 0, forwardTileRows = 0;
  std::vector<Keeping> keeping; ///< in the order of the layers
  int64_t recomputedInputs = 0;
  int64_t roundedInputs = 0; ///< kept in bfloat16
  /// Layers, from the first, whose input and kept values rest in a file.
  int64_t offloadedInputs = 0;

  /// As the option `residuals` of hone-derive-backward.
  std::string residuals(int64_t layers) const;
  bool operator<(const StepPlan &other) const {
    auto key = [](const StepPlan &plan) {
      return std::tie(plan.tileRows, plan.forwardTileRows, plan.keeping,
                      plan.recomputedInputs, plan.roundedInputs,
                      plan.offloadedInputs);
    };
    return key(*this) < key(other);
  }
};

struct PlanCost {
  int64_t peakBytes; ///< of the whole process
  double seconds;    ///< estimated, of one step
};

/// Searches the plans of a model whose layers are alike.
///
/// Within one tile height, the policies are a knapsack with the same choices
/// for each layer. Its relaxed optimum is known: plans in which all layers keep
/// the same are points (peak, seconds), and the best mix is of two neighbours
/// on the lower convex hull of the points. How many layers are of the second
/// kind is found by bisection over real placements, as are the numbers of
/// recomputed and rounded inputs: along each of these, peak and time move in
/// opposite directions.
///
/// A plan that recomputes inputs lets no layer keep more: an input is the
/// cheapest memory of all, since a block's inner values are wider than its
/// input and one forward of a block computes them all. Where rounding is
/// allowed, it comes before anything is computed again. So does a file, where
/// that is allowed: layers then keep more than there is memory for, as far as
/// the disk keeps up. Flash wears out, so a plan has as few layers in the file
/// as the budget allows, and none if that does not save `leastGain` of the
/// time.
class StepPlanner {
public:
  /// The share of a step's time that a file has to save.
  static constexpr double leastGain = 0.01;

  /// Judges a plan; nothing if the model has no such plan.
  using Judge = std::function<std::optional<PlanCost>(const StepPlan &)>;

  /// `layers` calls have a forward and a backward apart; kept values may be in
  /// bfloat16 if `mayRound`, and rest in a file if `mayOffload`. Tiles are
  /// multiples of `rowUnit` below `maxRows`.
  StepPlanner(int64_t layers, bool mayRound, bool mayOffload, int64_t rowUnit,
              int64_t maxRows, Judge judge);

  /// No plan computes an input again: the program with the part below would
  /// have to send its output again.
  void keepInputs() { mostRecomputed = 0; }

  /// Blocks without sinks may need less in high tiles, of whole sequences, than
  /// in the lowest.
  void tileSequences() { tilesSequences = true; }

  /// The fastest plan whose peak is at most `budget`; nothing if none fits. No
  /// plan of one tile height is faster by more than one layer's gain.
  std::optional<StepPlan> fastestWithin(int64_t budget);
  /// The fastest plan: everything is kept, nothing is tiled.
  StepPlan fastest();
  /// A plan with the smallest peak.
  StepPlan smallest();
  /// The plan with the smallest peak whose time is at most `seconds`.
  StepPlan smallestWithin(double seconds);

  /// The judge's answer on `plan`, asked once.
  std::optional<PlanCost> cost(const StepPlan &plan);

private:
  bool fits(const StepPlan &plan, int64_t budget);
  bool isFaster(const StepPlan &plan, const StepPlan &other);
  /// Whether `plan`, which writes more to a file, is faster by enough.
  bool isWorthIt(const StepPlan &plan, const StepPlan &other);
  /// The largest value of `count` from 0 to `most` for which `plan` satisfies
  /// `holds`, which must be true at 0.
  template <typename Predicate>
  int64_t largest(int64_t most, Predicate holds) const;
  /// `mayUseFile` becomes false once a plan does.
  std::optional<StepPlan> bestWithin(const StepPlan &tiles, int64_t budget,
                                     bool &mayUseFile);
  /// `plan`, whose layers keep inputs only, with the fewest of them computed
  /// again.
  std::optional<StepPlan> withInputsAgain(StepPlan plan, int64_t budget);
  /// `plan` with as few layers in a file as fit.
  std::optional<StepPlan> withFewestInFile(StepPlan plan, int64_t budget);
  /// `plan`, whose layers keep inputs only, with layers that keep more and rest
  /// in a file.
  std::optional<StepPlan> withValuesInFile(const StepPlan &plan,
                                           int64_t budget);
  /// `plan` with layers of kinds, in the order in which they run.
  StepPlan mix(StepPlan plan, std::vector<StepPlan::Keeping> runs) const;
  /// `plan`, which fits, with layers that keep more.
  StepPlan withKeptValues(const StepPlan &plan, int64_t budget);
  /// `plan`, which fits, with the fewest rounded inputs.
  StepPlan withExactInputs(StepPlan plan, int64_t budget);
  /// `plan` with the highest tiles in blocks without sinks that still fit: they
  /// need less memory than those with.
  StepPlan withForwardTiles(StepPlan plan, int64_t budget);

  int64_t layers, mostRecomputed = 0;
  bool mayRound, mayOffload, tilesSequences = false;
  std::vector<ResidualPolicy> kinds; ///< that layers may be of; first `mesp`
  std::vector<int64_t> tileHeights;  ///< 0 first, then from high to low
  Judge judge;
  std::map<StepPlan, std::optional<PlanCost>> judged;
};

} // namespace hone
