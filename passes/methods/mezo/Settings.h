//===- Settings.h - What mezo is told ------------------------------------===//

#pragma once

#include "module/Setting.h"

namespace hone::rt {

// clang-format off

struct SpsaSettings : virtual Section {
  Real perturbation_scale{*this, "perturbation_scale", 1e-2, Bits::Run,
      SetBy::Option, "how far from the parameters mezo takes losses along a "
      "direction", {1e-8, 1e8}, {"mezo", "mezo-one-sided"}};
};

// clang-format on

} // namespace hone::rt
