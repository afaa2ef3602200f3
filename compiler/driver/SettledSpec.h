//===- SettledSpec.h - A spec with nothing left open ----------------------===//
//
// Keys that a spec leaves open are decided by the machine, the target, the
// model and the plan. All of that is settled here, once each is known; nothing
// else writes to a spec after it was read.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "compiler/driver/Compile.h"
#include "compiler/import/HuggingFaceModel.h"
#include "compiler/spec/Spec.h"
#include "passes/plan/MachineCosts.h"
#include "targets/Target.h"

#include <memory>

namespace hone {

/// All that is known before the model is imported.
struct SettledSpec {
  /// Without `target.threads: 0`, train.bfloat16_products: auto and zeros of
  /// `generate`; for a program that generates, that of a model that does not
  /// train.
  Spec spec;
  std::unique_ptr<Target> target;
  MachineCosts costs;
  std::unique_ptr<HuggingFaceModel> model; ///< null for an .mlir model
  std::vector<int64_t> stopTokens;         ///< of a program that generates
};

/// Settles `given` for `program`, and opens the model. Errors: those of
/// checkTrainedWeights, readProfile, HuggingFaceModel::open and GenerateRules;
/// UnknownTarget, naming the key that is wrong; TargetLacksProducts.
Result<SettledSpec> settleSpec(Spec given, Program program);

/// Whether there is such a target, with the arithmetic that `spec` wants; no
/// model is opened. Errors: UnknownTarget, TargetLacksProducts.
Status checkTarget(Spec spec);

/// `spec` with the model's decisions.
Spec settleModel(Spec spec, rt::LoraSettings lora, rt::WeightSettings weights);

/// `spec` with the ranges of its parts, if it has any, as they are written in
/// a run's identity; the upper one is up to the last of `layers`.
Spec settleParts(Spec spec, int64_t layers);

/// `spec` with the ratio that was planned, if that was to be found.
Spec settlePlan(Spec spec, std::optional<double> selectionRatio);

/// `spec` with the arithmetic of a program that was compiled for `target`;
/// `rounding`: see describeRounding.
Spec settleProgram(Spec spec, const Target &target, std::string rounding);

} // namespace hone
