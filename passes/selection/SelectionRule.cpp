//===- SelectionRule.cpp - Which layers a step selects --------------------===//

#include "passes/selection/SelectionRule.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <cmath>

using namespace llvm;

namespace hone {

int64_t partOf(int64_t layers, double ratio) {
  // Ratio and product are rounded, by 2^-53 of themselves each.
  double part = double(layers) * ratio * (1 - 0x1p-50);
  return std::max<int64_t>(1, int64_t(std::ceil(part)));
}

namespace {
using Kind = SelectionRule::Kind;
using Schedule = SelectionRule::Schedule;

struct KindRow {
  Kind kind;
  StringLiteral name, formula;
  bool isRandom, mayHaveSchedule;
};
struct ScheduleRow {
  Schedule schedule;
  StringLiteral name, formula;
};
} // namespace

static constexpr KindRow kKinds[] = {
    {Kind::Uniform, "uniform", "select_uniform", true, true},
    {Kind::Bernoulli, "bernoulli", "select_bernoulli", true, true},
    {Kind::Cyclic, "cyclic", "select_cyclic", false, false},
    {Kind::RoundRobin, "round-robin", "select_round_robin", false, false},
    {Kind::Importance, "importance", "select_importance", true, true},
    {Kind::Freeze, "freeze", "select_freeze", false, true},
    {Kind::Lisa, "lisa", "select_uniform", true, true},
    {Kind::Badam, "badam", "select_one", false, false},
    {Kind::StochasticDepth, "stochastic-depth", "select_stochastic_depth", true,
     false},
};

static constexpr ScheduleRow kSchedules[] = {
    {Schedule::Constant, "constant", ""},
    {Schedule::Step, "step", "ratio_step"},
    {Schedule::Linear, "linear", "ratio_linear"},
    {Schedule::Cosine, "cosine", "ratio_cosine"},
};

static const KindRow &rowOf(Kind kind) {
  return *find_if(kKinds, [&](const KindRow &row) { return row.kind == kind; });
}

/// The row of `rows` that the setting names, which has no other names.
template <typename Row, size_t N>
static const Row &rowNamed(const Row (&rows)[N], const rt::Word &name) {
  const Row *found =
      find_if(rows, [&](const Row &row) { return row.name == name; });
  assert(found != std::end(rows) && "each allowed word has a row");
  return *found;
}

SelectionRule SelectionRule::of(const rt::LcsbSettings &settings) {
  SelectionRule rule;
  const KindRow &row = rowNamed(kKinds, settings.selection);
  rule.kind = row.kind;
  if (row.mayHaveSchedule)
    rule.schedule = rowNamed(kSchedules, settings.selection_schedule).schedule;
  rule.ratio = settings.selection_ratio;
  rule.lastRatio = settings.selection_ratio_end;
  rule.groups = settings.selection_groups;
  rule.warmup = settings.selection_warmup;
  rule.period = settings.selection_period;
  return rule;
}

bool SelectionRule::isRandom() const { return rowOf(kind).isRandom; }

bool SelectionRule::mayHaveSchedule() const {
  return rowOf(kind).mayHaveSchedule;
}

StringRef SelectionRule::formula() const { return rowOf(kind).formula; }

StringRef SelectionRule::ratioFormula() const {
  return find_if(
             kSchedules,
             [&](const ScheduleRow &row) { return row.schedule == schedule; })
      ->formula;
}

int64_t SelectionRule::mostOf(int64_t layers) const {
  if (isUnbounded())
    return layers;
  switch (kind) {
  case Kind::Cyclic:
    return divideCeil(layers, groups);
  case Kind::Badam:
    return 1;
  default:
    return partOf(layers, schedule == Schedule::Constant
                              ? ratio
                              : std::max(ratio, lastRatio));
  }
}

} // namespace hone
