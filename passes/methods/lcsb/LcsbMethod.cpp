//===- LcsbMethod.cpp - A backward of some layers -------------------------===//
//
// Selective backpropagation (docs/methods/lcsb.md). In a step it is the
// backward that all methods with one share, of the layers that passes/selection
// selects; here are the rules for its settings.
//
//===----------------------------------------------------------------------===//

#include "passes/methods/Methods.h"
#include "passes/selection/SelectionRule.h"

#include "llvm/ADT/STLExtras.h"

namespace hone {

namespace {
/// The settings of a selection that a spec does not give.
struct SelectionStandard {
  const char *selection;
  int64_t warmup = -1, period = 1; ///< -1: as the setting has it
  const char *unselected = "identity", *update = "momentum";
};
} // namespace

/// The first is for selections without a row.
static constexpr SelectionStandard kSelections[] = {
    {""},
    {"freeze", 0, 1, "identity", "none"},
    {"lisa", 0, 20, "exact", "none"},
    {"badam", 0, 100, "exact", "none"},
    // Steps without it would train another network than the one evaluated.
    {"stochastic-depth", 0, 1, "identity", "momentum"},
};

static const SelectionStandard &standardOf(const rt::LcsbSettings &own) {
  const auto *found =
      llvm::find_if(kSelections, [&](const SelectionStandard &standard) {
        return own.selection == standard.selection;
      });
  return found == std::end(kSelections) ? kSelections[0] : *found;
}

static void settle(rt::MethodSettings &own,
                   llvm::function_ref<bool(const rt::Setting &)> isGiven) {
  const SelectionStandard &standard = standardOf(own);
  if (standard.warmup >= 0 && !isGiven(own.selection_warmup))
    own.selection_warmup = standard.warmup;
  if (!isGiven(own.selection_period))
    own.selection_period = standard.period;
  if (!isGiven(own.unselected))
    own.unselected = standard.unselected;
  if (!isGiven(own.unselected_update))
    own.unselected_update = standard.update;
}

static std::optional<Problem> findUnread(const rt::MethodSettings &own,
                                         const rt::Setting &setting) {
  const auto rule = SelectionRule::of(own);
  const std::string selection = "selection " + own.selection;
  auto setTo = [&](const std::string &other) {
    return "remove " + setting.key() + ", or set " + own.selection.key() +
           " to " + other;
  };
  auto onlyOf = [&](const std::string &reader) -> std::optional<Problem> {
    if (own.selection == reader)
      return std::nullopt;
    return Problem{setting,
                   "only selection " + reader + " reads it, but selection is " +
                       own.selection,
                   setTo(reader)};
  };
  auto onlyIf = [&](bool isRead) -> std::optional<Problem> {
    if (isRead)
      return std::nullopt;
    return Problem{setting, selection + " does not read it", setTo("uniform")};
  };
  if (&setting == &own.selection_groups)
    return onlyOf("cyclic");
  if (&setting == &own.selection_decay ||
      &setting == &own.selection_temperature)
    return onlyOf("importance");
  if (&setting == &own.selection_ratio && own.selection == "cyclic")
    return Problem{setting, "selection cyclic has groups instead",
                   "remove " + setting.key() + "; " +
                       own.selection_groups.key() +
                       ": 2 selects half of the layers"};
  if (&setting == &own.selection_ratio)
    return onlyIf(rule.hasRatio());
  if (&setting == &own.selection_schedule)
    return onlyIf(rule.mayHaveSchedule());
  if (&setting == &own.selection_ratio_end && !rule.mayHaveSchedule())
    return onlyIf(false);
  if (&setting == &own.selection_ratio_end &&
      own.selection_schedule == "constant")
    return Problem{setting,
                   "only a " + own.selection_schedule.key() +
                       " reads it, but that is constant",
                   "remove " + setting.key() + ", or set " +
                       own.selection_schedule.key() + " to linear"};
  return std::nullopt;
}

/// Problems of a ratio that a plan is to find.
static std::optional<Problem> findProblemOfPlan(const MethodFacts &facts) {
  const rt::MethodSettings &own = facts.own;
  const rt::TrainSettings &train = facts.settings.train;
  const rt::PlannedReal &ratio = own.selection_ratio;
  if (facts.layers || !ratio.isPlanned())
    return std::nullopt; // passes have the number that was found
  if (facts.settings.compares())
    return Problem{train.compare,
                   "expected none, since with a planned selection_ratio the "
                   "room that a comparison takes would change the run's "
                   "gradients, but found " +
                       train.compare,
                   "remove " + train.compare.key() + ", or give " +
                       ratio.key() + " a number"};
  if (!train.memory_budget.isBytes())
    return Problem{ratio, "planned needs a train.memory_budget to plan for",
                   "set train.memory_budget, or give a number"};
  if (facts.settings.hasParts())
    return Problem{ratio,
                   "expected a number, since a plan finds one ratio and here "
                   "are two parts, but found planned",
                   "give a number"};
  bool hasSlots = own.unselected == "identity" &&
                  own.selection_schedule == "constant" &&
                  !SelectionRule::of(own).isUnbounded();
  if (hasSlots)
    return std::nullopt;
  return Problem{ratio,
                 "expected a number, since memory does not depend on it with "
                 "selection " +
                     own.selection + ", unselected " + own.unselected +
                     " and a selection_schedule that is " +
                     own.selection_schedule + ", but found planned",
                 "give a number, or leave selection to uniform"};
}

static std::optional<Problem>
findProblemOfImportance(const MethodFacts &facts) {
  const rt::MethodSettings &own = facts.own;
  const rt::TrainSettings &train = facts.settings.train;
  if (facts.isCompared())
    return Problem{own.selection,
                   "expected another selection, since importance is the "
                   "average length of gradients of steps that lcsb trained, "
                   "but found importance",
                   "set " + own.selection.key() + " to uniform, or " +
                       own.method.key() + " to lcsb"};
  if (own.selection_warmup < 1)
    return Problem{own.selection_warmup,
                   "expected at least 1, since selection importance has no "
                   "gradients to average before, but found " +
                       own.selection_warmup.text(),
                   "raise " + own.selection_warmup.key()};
  if (train.optimizer_in_backward)
    return Problem{train.optimizer_in_backward,
                   "expected false, since selection importance averages the "
                   "lengths of all gradients, but found true",
                   "remove " + train.optimizer_in_backward.key() + ", or set " +
                       own.selection.key() + " to uniform"};
  return std::nullopt;
}

/// Where all parts must train one loss: a method without a backward takes
/// losses of all layers.
static std::optional<Problem>
findProblemOfSkippedForwards(const MethodFacts &facts) {
  const rt::MethodSettings &own = facts.own;
  const rt::Settings &settings = facts.settings;
  if (!SelectionRule::of(own).skipsForwards())
    return std::nullopt;
  auto other = llvm::find_if(settings.parts, [&](const auto &part) {
    return part.get() != &own &&
           !settings.train.residuals.isReadBy(part->method);
  });
  if (other == settings.parts.end())
    return std::nullopt;
  const rt::Word &method = (*other)->method;
  return Problem{own.selection,
                 "expected a selection that runs the forward of every layer, "
                 "since " +
                     method.key() + " is " + method +
                     ", which takes losses of all layers: one step would "
                     "train two losses; but found " +
                     own.selection,
                 "set " + method.key() + " to backprop, or " +
                     own.selection.key() + " to uniform"};
}

/// A gradient of parameters below frozen layers goes through all of them.
static std::optional<Problem> findProblemOfFreeze(const MethodFacts &facts) {
  const rt::MethodSettings &own = facts.own;
  const rt::Settings &settings = facts.settings;
  // A part below whose gradient comes through this one.
  const rt::PartSettings *below = nullptr;
  for (const auto &part : settings.parts) {
    if (part.get() == &own)
      break;
    if (settings.train.residuals.isReadBy(part->method))
      below = part.get();
  }
  const bool isBelow = below || (facts.layers && facts.layers->trainsSource);
  if (!facts.layers || !isBelow || !SelectionRule::of(own).isOfLast() ||
      own.unselected != "identity")
    return std::nullopt;
  return Problem{
      own.unselected,
      std::string("expected exact, since ") +
          (below ? below->section +
                       " trains by a backward, whose gradient comes "
                       "through the layers that selection freeze leaves out"
                 : "the input of the lowest layer has trained parameters, "
                   "and its gradient comes through the "
                   "layers that selection freeze leaves out") +
          ", but found identity",
      "set " + own.unselected.key() +
          " to exact, or train nothing below the layers that freeze selects"};
}

static std::optional<Problem> findProblem(const MethodFacts &facts) {
  const rt::MethodSettings &own = facts.own;
  const rt::TrainSettings &train = facts.settings.train;
  const auto rule = SelectionRule::of(own);
  const std::string selection = "selection " + own.selection;
  if (own.unselected == "identity" && train.residuals != "mesp" &&
      train.residuals != "planned")
    return Problem{train.residuals,
                   "expected mesp or planned, since layers that method lcsb "
                   "selects keep their inputs only, but found " +
                       train.residuals,
                   "leave " + train.residuals.key() + " out, or set " +
                       own.unselected.key() + " to exact"};
  auto isSaid = [&](const rt::Setting &setting) {
    return facts.isGiven(setting.key()) ||
           facts.isGiven(std::string(train.name) + "." + setting.name);
  };
  if (own.selection_schedule != "constant" && !isSaid(own.selection_ratio_end))
    return Problem{own.selection_ratio_end,
                   "the key is required where " + own.selection_schedule.key() +
                       " is " + own.selection_schedule + ", but missing",
                   "add the part of the layers that the last step selects, "
                   "such as " +
                       std::string(own.selection_ratio_end.name) + ": 0.3",
                   ErrorCode::MissingKey};
  const SelectionStandard &standard = standardOf(own);
  for (auto [word, text] : {std::pair(&own.unselected, standard.unselected),
                            std::pair(&own.unselected_update, standard.update)})
    if (rule.isBlockwise() && word->text() != text)
      return Problem{*word,
                     "expected " + std::string(text) + ", which " + selection +
                         " is, but found " + *word,
                     "remove " + word->key() + ", or set " +
                         own.selection.key() + " to uniform"};
  if (rule.skipsForwards() && own.unselected != "identity")
    return Problem{own.unselected,
                   "expected identity, since " + selection +
                       " skips forwards, but found " + own.unselected,
                   "remove " + own.unselected.key()};
  for (auto find :
       {findProblemOfPlan, findProblemOfSkippedForwards, findProblemOfFreeze})
    if (std::optional<Problem> problem = find(facts))
      return problem;
  const rt::Integer &groups = own.selection_groups;
  if (facts.layers && own.selection == "cyclic" &&
      groups > facts.layers->trained)
    return Problem{groups,
                   "expected at most " + std::to_string(facts.layers->trained) +
                       ", since that many layers train, but found " +
                       groups.text(),
                   "lower " + groups.key() + ", or train more layers",
                   ErrorCode::BadSpecValue};
  return own.selection == "importance" ? findProblemOfImportance(facts)
                                       : std::nullopt;
}

static constexpr KeyExample examples[] = {
    {"train.selection", "train: {method: lcsb, selection: badam}\n"},
    {"train.selection_ratio", "train: {method: lcsb, selection_ratio: 0.25}\n"},
    {"train.selection_schedule",
     "train: {method: lcsb, selection_ratio: 0.8, selection_schedule: linear,\n"
     "        selection_ratio_end: 0.3, steps: 1000}\n"},
    {"train.selection_ratio_end",
     "train: {method: lcsb, selection_ratio: 1, selection_schedule: cosine,\n"
     "        selection_ratio_end: 0.25, steps: 1000}\n"},
    {"train.selection_groups",
     "train: {method: lcsb, selection: cyclic, selection_groups: 6}\n"},
    {"train.selection_warmup",
     "train: {method: lcsb, selection_warmup: 100}\n"},
    {"train.selection_period",
     "train: {method: lcsb, selection: lisa, selection_period: 10}\n"},
    {"train.selection_decay",
     "train: {method: lcsb, selection: importance, selection_decay: 0.95}\n"},
    {"train.selection_temperature", "train: {method: lcsb, selection: "
                                    "importance, selection_temperature: 1}\n"},
    {"train.unselected", "train: {method: lcsb, unselected: exact}\n"},
    {"train.unselected_update",
     "train: {method: lcsb, unselected_update: none}\n"},
};

Method methods::lcsb() {
  Method method{GradientCheck::Gradient};
  method.selects = true;
  // Inputs in slots are all that a selected layer may keep.
  method.choosesResiduals = [](const rt::MethodSettings &own) {
    return own.unselected == "exact";
  };
  method.settle = settle;
  method.findUnread = findUnread;
  method.findProblem = findProblem;
  method.examples = examples;
  return method;
}

} // namespace hone
