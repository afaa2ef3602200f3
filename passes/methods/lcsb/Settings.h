//===- Settings.h - What lcsb is told ------------------------------------===//

#pragma once

#include "module/Setting.h"

namespace hone::rt {

// clang-format off

struct LcsbSettings : virtual Section {
  Word selection{*this, "selection", "uniform", Bits::Run, SetBy::Spec,
      "which layers have a backward in a step of lcsb: always as many, at random "
      "(uniform) or by the lengths of their gradients (importance), each by a "
      "probability (bernoulli), one of several groups in turn (cyclic), the next "
      "ones, around (round-robin), the last ones (freeze), several or one that "
      "alone have updates for selection_period steps (lisa, badam), or those that "
      "alone have a forward (stochastic-depth)", {{"uniform", "bernoulli", "cyclic",
      "round-robin", "importance", "freeze", "lisa", "badam", "stochastic-depth"}},
      {"lcsb"}};
  PlannedReal selection_ratio{*this, "selection_ratio", 0.5, Bits::Run,
      SetBy::Spec, "part of the layers that is selected, rounded up to whole ones; "
      "planned: the largest with which train.memory_budget can be kept",
      {0, 1, false, true}, {"lcsb"}};
  Word selection_schedule{*this, "selection_schedule", "constant", Bits::Run,
      SetBy::Spec, "how that part becomes selection_ratio_end by the last step: it "
      "never does (constant), after half of the steps (step), evenly (linear), or "
      "as half a wave (cosine)", {{"constant", "step", "linear", "cosine"}},
      {"lcsb"}};
  Real selection_ratio_end{*this, "selection_ratio_end", 0.5, Bits::Run,
      SetBy::Spec, "the part that a selection_schedule ends with",
      {0, 1, false, true}, {"lcsb"}};
  Integer selection_groups{*this, "selection_groups", 4, Bits::Run, SetBy::Spec,
      "contiguous groups of layers of selection cyclic", from(1, 65536),
      {"lcsb"}};
  Integer selection_warmup{*this, "selection_warmup", 50, Bits::Run, SetBy::Spec,
      "first steps, which select all layers; default: none for freeze, lisa, badam "
      "and stochastic-depth", counts, {"lcsb"}};
  Integer selection_period{*this, "selection_period", 1, Bits::Run, SetBy::Spec,
      "steps that have one selection; default: 20 for lisa, 100 for badam",
      from(1, 1 << 24), {"lcsb"}};
  Real selection_decay{*this, "selection_decay", 0.9, Bits::Run, SetBy::Spec,
      "decay of the averages of gradients' lengths of selection importance",
      below(1), {"lcsb"}};
  Real selection_temperature{*this, "selection_temperature", 2, Bits::Run,
      SetBy::Spec, "how little selection importance prefers layers whose average "
      "is large", positive, {"lcsb"}};
  Word unselected{*this, "unselected", "identity", Bits::Run, SetBy::Spec,
      "how a gradient goes through a layer that is not selected: unchanged "
      "(identity), or by the layer's derivative (exact), for which the inputs of "
      "all layers are kept; default: exact for lisa and badam", {{"identity",
      "exact"}}, {"lcsb"}};
  Word unselected_update{*this, "unselected_update", "momentum", Bits::Run,
      SetBy::Spec, "what an update does to a layer that is not selected: as for a "
      "gradient of zero (momentum), or nothing (none); default: none for freeze, "
      "lisa and badam", {{"momentum", "none"}},
      Readers::ofTrainingAlone({"lcsb"})};

  /// "uniform 0.8 to 0.3 linear after 50 steps"
  std::string summary() const {
    std::string text = selection;
    if (selection == "cyclic")
      text += " 1 of " + std::to_string(selection_groups);
    else if (selection != "badam")
      text += " " + formatShort(selection_ratio);
    if (selection_schedule != "constant")
      text += " to " + formatShort(selection_ratio_end) + " " +
              selection_schedule;
    if (selection_period > 1)
      text += " for " + std::to_string(selection_period) + " steps each";
    if (selection_warmup > 0)
      text += " after " + std::to_string(selection_warmup) + " steps";
    if (unselected == "exact")
      text += ", others exact";
    if (unselected_update == "none")
      text += ", others not updated";
    return text;
  }
};

// clang-format on

} // namespace hone::rt
