//===- Settings.h - Settings of random directions -------------------------===//

#pragma once

#include "module/Setting.h"

namespace hone::rt {

// clang-format off

struct DirectionSettings : virtual Section {
  Integer directions{*this, "directions", 1, Bits::Run, SetBy::Spec,
      "random directions of a step; each needs two losses (mezo), one, and one "
      "more for all of them (mezo-one-sided), or one derivative (fgd); the "
      "estimate is their mean",
      from(1, 2047), methodsOf(MethodKind::Directions)};
};

// clang-format on

} // namespace hone::rt
