//===- MethodSettings.h - The training methods, and what they are told ----===//
//
// The one list of methods: specs, the compiler and the training binary have
// their names and their settings from here. A method's rows are in its folder,
// and what the compiler knows of it in the function that the list names
// (Method.h). Nothing here needs MLIR, since the binary has it too.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "passes/methods/directions/Settings.h"
#include "passes/methods/fgd/Settings.h"
#include "passes/methods/lcsb/Settings.h"
#include "passes/methods/mezo/Settings.h"

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

/// What is done with a gradient, however it was obtained.
struct UpdateSettings : virtual Section {
  Word optimizer{*this, "optimizer", "adamw", Bits::Run, SetBy::Spec,
      "update rule", {{"adamw", "sgd"}}, {},
      standardsOf(MethodKind::Directions, "sgd")};
  Real momentum{*this, "momentum", 0, Bits::Run, SetBy::Spec, "momentum of sgd",
      below(1), Readers::onlyWith("sgd")};
  Real adam_beta1{*this, "adam_beta1", 0.9, Bits::Run, SetBy::Spec,
      "decay of adamw's first moment", below(1), Readers::onlyWith("adamw")};
  Real adam_beta2{*this, "adam_beta2", 0.999, Bits::Run, SetBy::Spec,
      "decay of adamw's second moment", below(1), Readers::onlyWith("adamw")};
  Real adam_epsilon{*this, "adam_epsilon", 1e-8, Bits::Run, SetBy::Spec,
      "added to adamw's denominator", notNegative, Readers::onlyWith("adamw")};
  Real learning_rate{*this, "learning_rate", 5e-5, Bits::Run, SetBy::Option,
      "peak learning rate", notNegative};
  Real loraplus_lr_ratio{*this, "loraplus_lr_ratio", 1, Bits::Run, SetBy::Spec,
      "LoRA+: learning rate of B of adapters, and of vectors that train, as a "
      "multiple of the others'; 16 is common", positive};
  Real weight_decay{*this, "weight_decay", 0, Bits::Run, SetBy::Option,
      "decoupled weight decay for adamw; for sgd it is added to the gradient",
      notNegative};
  Integer warmup_steps{*this, "warmup_steps", 0, Bits::Run, SetBy::Option,
      "steps over which the learning rate rises from 0", counts};
  Word lr_scheduler_type{*this, "lr_scheduler_type", "linear", Bits::Run,
      SetBy::Option,
      "shape of the learning rate after the warm-up", {{"constant", "linear",
      "cosine", "constant_with_warmup"}, {"cosine_with_restarts", "polynomial",
      "inverse_sqrt"}}, {},
      standardsOf(MethodKind::Directions, "constant")};
  Real max_grad_norm{*this, "max_grad_norm", 1, Bits::Run, SetBy::Option,
      "norm of the whole gradient above which it is clipped; 0: no clipping",
      notNegative,
      Readers::ofTrainingAlone(methodsOf(MethodKind::Backward))};

  /// Whether the rate of a step does not depend on how long the run is.
  bool hasConstantRate() const {
    return lr_scheduler_type == "constant" || lr_scheduler_type == "constant_with_warmup";
  }
};

/// What a method is told: for all layers, or for those of one part. The order
/// is that of honec --help-spec.
struct MethodSettings : MethodChoice, LcsbSettings, DirectionSettings,
                        ForwardGradientSettings, SpsaSettings, UpdateSettings {
  MethodSettings &operator=(const MethodSettings &) = default;

protected:
  MethodSettings() = default;
};

// clang-format on

} // namespace hone::rt
