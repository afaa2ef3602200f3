//===- SelectionRule.cpp - Which layers a step selects --------------------===//

#include "passes/selection/SelectionRule.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
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

/// The row of `rows` called `name`; null with the names in `problem`.
template <typename Row, size_t N>
static const Row *findRow(const Row (&rows)[N], StringRef option,
                          StringRef name, std::string &problem) {
  const Row *found =
      find_if(rows, [&](const Row &row) { return row.name == name; });
  if (found != std::end(rows))
    return found;
  auto names = map_range(rows, [](const Row &row) { return row.name.str(); });
  problem = ("expects " + option + " to be one of " + join(names, ", ") +
             " but got '" + name + "'")
                .str();
  return nullptr;
}

std::string SelectionRule::parse(StringRef kindName, StringRef scheduleName) {
  std::string problem;
  const KindRow *foundKind = findRow(kKinds, "selection", kindName, problem);
  if (!foundKind)
    return problem;
  kind = foundKind->kind;
  const ScheduleRow *foundSchedule =
      findRow(kSchedules, "selection-schedule", scheduleName, problem);
  if (!foundSchedule)
    return problem;
  schedule = foundSchedule->schedule;
  for (double number : {ratio, lastRatio})
    if (!(number > 0 && number <= 1))
      return "expects selection-ratio to be greater than 0 and at most 1 but "
             "got " +
             std::to_string(number);
  if (period < 1)
    return "expects selection-period to be at least 1 but got " +
           std::to_string(period);
  if (schedule != Schedule::Constant && !mayHaveSchedule())
    return "expects a constant ratio of selection " + kindName.str() +
           " but got selection-schedule '" + scheduleName.str() + "'";
  return "";
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
