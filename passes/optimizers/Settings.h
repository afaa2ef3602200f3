//===- Settings.h - The optimizers, and their settings --------------------===//
//
// The one list of optimizers: specs, the compiler and the training binary have
// their names and their settings from here, and the compiler's description of
// one is in the function that the list names (Optimizer.h). Nothing here needs
// MLIR, since the binary has it too.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "module/Setting.h"

/// OPTIMIZER(function of hone::optimizers that describes it, name)
#define HONE_OPTIMIZERS(OPTIMIZER)                                             \
  OPTIMIZER(adamw, "adamw")                                                    \
  OPTIMIZER(sgd, "sgd")                                                        \
  OPTIMIZER(lion, "lion")                                                      \
  OPTIMIZER(adamw8bit, "adamw-8bit")                                           \
  OPTIMIZER(adafactor, "adafactor")                                            \
  OPTIMIZER(sinkgd, "sinkgd")

namespace hone::rt {

inline std::vector<std::string> optimizerNames() {
#define HONE_NAME(function, name) name,
  return {HONE_OPTIMIZERS(HONE_NAME)};
#undef HONE_NAME
}

// clang-format off

/// How a gradient is used, whichever method found it.
struct UpdateSettings : virtual Section {
  Word optimizer{*this, "optimizer", "adamw", Bits::Run, SetBy::Spec,
      "update rule", {optimizerNames()}, {},
      standardsOf(MethodKind::Directions, "sgd")};
  Real momentum{*this, "momentum", 0, Bits::Run, SetBy::Spec, "momentum of sgd",
      below(1), Readers::onlyWith({"sgd"})};
  Word momentum_dtype{*this, "momentum_dtype", "float32",
      Bits::RunUnlessStandard, SetBy::Spec,
      "how momentum is stored; bfloat16 is rounded at random, without bias",
      {{"float32", "bfloat16"}}, Readers::onlyWith({"sgd", "lion"})};
  Real adam_beta1{*this, "adam_beta1", 0.9, Bits::Run, SetBy::Spec,
      "decay of adamw's first moment", below(1),
      Readers::onlyWith({"adamw", "adamw-8bit"})};
  Real adam_beta2{*this, "adam_beta2", 0.999, Bits::Run, SetBy::Spec,
      "decay of adamw's second moment", below(1),
      Readers::onlyWith({"adamw", "adamw-8bit"})};
  Real adam_epsilon{*this, "adam_epsilon", 1e-8, Bits::Run, SetBy::Spec,
      "added to adamw's denominator", notNegative,
      Readers::onlyWith({"adamw", "adamw-8bit"})};
  Real lion_beta1{*this, "lion_beta1", 0.9, Bits::RunUnlessStandard,
      SetBy::Spec, "part of the momentum in the sum whose sign lion's step is", below(1),
      Readers::onlyWith({"lion"})};
  Real lion_beta2{*this, "lion_beta2", 0.99, Bits::RunUnlessStandard,
      SetBy::Spec, "decay of lion's momentum", below(1),
      Readers::onlyWith({"lion"})};
  Real adafactor_decay_rate{*this, "adafactor_decay_rate", -0.8,
      Bits::RunUnlessStandard, SetBy::Spec,
      "power of the step's number that is the part of a new square in "
      "adafactor's second moment", from(-1, 0), Readers::onlyWith({"adafactor"})};
  Real adafactor_clip_threshold{*this, "adafactor_clip_threshold", 1,
      Bits::RunUnlessStandard, SetBy::Spec,
      "root mean square of a tensor's update above which adafactor scales it "
      "down", positive, Readers::onlyWith({"adafactor"})};
  Real adafactor_epsilon{*this, "adafactor_epsilon", 1e-30,
      Bits::RunUnlessStandard, SetBy::Spec,
      "added to squares in adafactor's second moment", from(1e-37, 1),
      Readers::onlyWith({"adafactor"})};
  Real learning_rate{*this, "learning_rate", 5e-5, Bits::Run, SetBy::Option,
      "peak learning rate", notNegative};
  Real loraplus_lr_ratio{*this, "loraplus_lr_ratio", 1, Bits::Run, SetBy::Spec,
      "LoRA+: learning rate of B of adapters, and of vectors that train, as a "
      "multiple of the others'; 16 is common", positive};
  Real weight_decay{*this, "weight_decay", 0, Bits::Run, SetBy::Option,
      "decoupled weight decay; for sgd it is added to the gradient",
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

  /// Whether an update reads a gradient's rows and columns, several times. It
  /// then has to be in memory.
  bool readsMatrices() const {
    return optimizer == "adafactor" || optimizer == "sinkgd";
  }
  /// Whether the rate of a step does not depend on how long the run is.
  bool hasConstantRate() const {
    return lr_scheduler_type == "constant" || lr_scheduler_type == "constant_with_warmup";
  }
};

// clang-format on

} // namespace hone::rt
