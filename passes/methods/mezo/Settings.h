//===- Settings.h - The settings of mezo ----------------------------------===//

#pragma once

#include "module/Setting.h"

namespace hone::rt {

// clang-format off

struct SpsaSettings : virtual Section {
  Real perturbation_scale{*this, "perturbation_scale", 1e-2, Bits::Run,
      SetBy::Option,
      "distance from the parameters, along a direction, at which mezo computes "
      "losses", {1e-8, 1e8}, {"mezo", "mezo-one-sided"}};
};

// clang-format on

} // namespace hone::rt
