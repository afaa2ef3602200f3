//===- MethodSettings.h - The training methods, and their settings --------===//
//
// The one list of methods: specs, the compiler and the training binary have
// their names and their settings from here. A method's rows are in its folder,
// and the compiler's description of it in the function that the list names
// (Method.h). Nothing here needs MLIR, since the binary has it too.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "passes/methods/directions/Settings.h"
#include "passes/methods/fgd/Settings.h"
#include "passes/methods/lcsb/Settings.h"
#include "passes/methods/mezo/Settings.h"
#include "passes/optimizers/Settings.h"

/// METHOD(function of hone::methods that describes it, name, MethodKind)
#define HONE_METHODS(METHOD)                                                   \
  METHOD(backprop, "backprop", Backward)                                       \
  METHOD(lcsb, "lcsb", Backward)                                               \
  METHOD(mezo, "mezo", Directions)                                             \
  METHOD(mezoOneSided, "mezo-one-sided", Directions)                           \
  METHOD(forwardGradient, "fgd", Directions)

namespace hone::rt {

// clang-format off

struct MethodChoice : virtual Section {
  Word method{*this, "method", "backprop", Bits::Run, SetBy::Spec,
      "how gradients are computed: by the backward of all layers (backprop), or "
      "of some, which change from step to step (lcsb); or estimated along "
      "random directions, from losses (mezo, mezo-one-sided) or derivatives "
      "(fgd)",
      {methodNames()}};
};

/// The settings of a method: for all layers, or for those of one part. The
/// order is that of honec --help-spec.
struct MethodSettings : MethodChoice, LcsbSettings, DirectionSettings,
                        ForwardGradientSettings, SpsaSettings, UpdateSettings {
  MethodSettings &operator=(const MethodSettings &) = default;

protected:
  MethodSettings() = default;
};

// clang-format on

} // namespace hone::rt
