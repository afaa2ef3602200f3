//===- SelectionRule.h - Which layers a step selects ----------------------===//
//
// The names, numbers and promises of selections (docs/methods/lcsb.md). Their
// formulas are in SelectionFunctions.mlir.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "passes/methods/lcsb/Settings.h"

#include "llvm/ADT/StringRef.h"

#include <cstdint>

namespace hone {

/// layers * ratio rounded up, at least 1, for a ratio in (0, 1]. A product that
/// is whole but for its rounding counts as whole: 0.07 of 100 are 7.
int64_t partOf(int64_t layers, double ratio);

/// How a step selects layers.
struct SelectionRule {
  enum class Kind {
    Uniform,         ///< partOf layers at random
    Bernoulli,       ///< each with the ratio as its probability
    Cyclic,          ///< one of `groups` contiguous groups in turn
    RoundRobin,      ///< the next partOf layers, around
    Importance,      ///< partOf layers at random, by the lengths of gradients
    Freeze,          ///< the last partOf layers
    Lisa,            ///< Uniform
    Badam,           ///< one layer in turn; each begins with no state
    StochasticDepth, ///< each with a probability that falls with its depth
  };
  enum class Schedule { Constant, Step, Linear, Cosine };

  Kind kind = Kind::Uniform;
  double ratio = 1, lastRatio = 1; ///< in (0, 1]
  Schedule schedule = Schedule::Constant;
  int64_t groups = 1; ///< positive; of Cyclic only
  int64_t warmup = 0; ///< first steps, which have all layers
  int64_t period = 1; ///< steps that have one selection

  /// As lcsb is told; a rule without a schedule has a constant ratio.
  static SelectionRule of(const rt::LcsbSettings &settings);

  bool isRandom() const;
  /// Whether a ratio says how many, or how probable.
  bool hasRatio() const { return kind != Kind::Cyclic && kind != Kind::Badam; }
  /// Whether the ratio may change from step to step.
  bool mayHaveSchedule() const;
  /// Whether it is block-coordinate descent: gradients are exact, and only the
  /// selected are updated.
  bool isBlockwise() const { return kind == Kind::Lisa || kind == Kind::Badam; }
  /// Whether a step may select any number of layers.
  bool isUnbounded() const {
    return kind == Kind::Bernoulli || kind == Kind::StochasticDepth;
  }
  /// Whether it is of the last layers in every step, so that no layer above
  /// one that is selected passes a cotangent on.
  bool isOfLast() const { return kind == Kind::Freeze; }
  /// Whether forwards are skipped, too.
  bool skipsForwards() const { return kind == Kind::StochasticDepth; }
  /// The formula that makes its mask.
  llvm::StringRef formula() const;
  /// The formula of the ratio of a step; empty: it is constant.
  llvm::StringRef ratioFormula() const;
  /// How many of `layers` a step after the warm-up selects at most.
  int64_t mostOf(int64_t layers) const;
};

} // namespace hone
