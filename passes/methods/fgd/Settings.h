//===- Settings.h - The settings of fgd -----------------------------------===//

#pragma once

#include "module/Setting.h"

namespace hone::rt {

// clang-format off

struct ForwardGradientSettings : virtual Section {
  Words direction_scales{*this, "direction_scales", {}, Bits::Run, SetBy::Spec,
      "how far layers move along a direction of fgd, from 0 to 1, as in "
      "[0-19=0, 20-22=0.15]; layers that are not listed: 1", {"fgd"}};
  Integer direction_scale_steps{*this, "direction_scale_steps", 0, Bits::Run,
      SetBy::Spec,
      "steps over which direction_scales rise evenly from 0; 0: they hold from "
      "the first step", counts, {"fgd"}};
};

// clang-format on

} // namespace hone::rt
