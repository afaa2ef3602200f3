//===- Settings.h - The settings of lcsb ----------------------------------===//

#pragma once

#include "module/Setting.h"

namespace hone::rt {

// clang-format off

struct LcsbSettings : virtual Section {
  Word selection{*this, "selection", "uniform", Bits::Run, SetBy::Spec,
      "how lcsb selects the layers that have a backward in a step: as many in "
      "each step, at random (uniform) or by the norms of their gradients "
      "(importance); each with a probability (bernoulli); one of several groups "
      "in turn (cyclic); the next ones, around (round-robin); the last ones "
      "(freeze); several (lisa) or one (badam) that alone are updated for "
      "selection_period steps; or some that alone have a forward "
      "(stochastic-depth)", {{"uniform", "bernoulli", "cyclic",
      "round-robin",
      "importance", "freeze", "lisa", "badam", "stochastic-depth"}},
      {"lcsb"}};
  PlannedReal selection_ratio{*this, "selection_ratio", 0.5, Bits::Run,
      SetBy::Spec,
      "part of the layers that is selected, rounded up to whole layers; "
      "planned: the largest part that fits train.memory_budget",
      {0, 1, false, true}, {"lcsb"}};
  Word selection_schedule{*this, "selection_schedule", "constant", Bits::Run,
      SetBy::Spec,
      "how selection_ratio becomes selection_ratio_end by the last step: never "
      "(constant), after half of the steps (step), evenly (linear), or along "
      "half a cosine wave (cosine)", {{"constant", "step", "linear", "cosine"}},
      {"lcsb"}};
  Real selection_ratio_end{*this, "selection_ratio_end", 0.5, Bits::Run,
      SetBy::Spec,
      "part of the layers that is selected at the end of a selection_schedule",
      {0, 1, false, true}, {"lcsb"}};
  Integer selection_groups{*this, "selection_groups", 4, Bits::Run, SetBy::Spec,
      "number of contiguous groups of layers for selection: cyclic",
      from(1, 65536),
      {"lcsb"}};
  Integer selection_warmup{*this, "selection_warmup", 50, Bits::Run, SetBy::Spec,
      "number of first steps, in which all layers are selected; default for "
      "freeze, lisa, badam and stochastic-depth: 0", counts, {"lcsb"}};
  Integer selection_period{*this, "selection_period", 1, Bits::Run, SetBy::Spec,
      "number of steps for which a selection holds; default for lisa: 20, for "
      "badam: 100",
      from(1, 1 << 24), {"lcsb"}};
  Real selection_decay{*this, "selection_decay", 0.9, Bits::Run, SetBy::Spec,
      "decay of the averages of gradient norms for selection: importance",
      below(1), {"lcsb"}};
  Real selection_temperature{*this, "selection_temperature", 2, Bits::Run,
      SetBy::Spec,
      "for selection: importance, layers with a large average are preferred "
      "less if this is larger", positive, {"lcsb"}};
  Word unselected{*this, "unselected", "identity", Bits::Run, SetBy::Spec,
      "how a gradient passes a layer that is not selected: unchanged "
      "(identity), or through the layer's derivative (exact), for which the "
      "inputs of all layers are kept; default for lisa and badam: exact",
      {{"identity",
      "exact"}}, {"lcsb"}};
  Word unselected_update{*this, "unselected_update", "momentum", Bits::Run,
      SetBy::Spec,
      "update of a layer that is not selected: that of a zero gradient "
      "(momentum), or none; default for freeze, lisa and badam: none",
      {{"momentum", "none"}},
      Readers::ofTrainingAlone({"lcsb"})};

  /// "uniform 0.8 to 0.3 linear after 50 of warm-up"
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
      text += " after " + std::to_string(selection_warmup) + " of warm-up";
    if (unselected == "exact")
      text += ", others exact";
    if (unselected_update == "none")
      text += ", others not updated";
    return text;
  }
};

// clang-format on

} // namespace hone::rt
