//===- ModuleSummary.h - From a placed module to hone_module --------------===//
//
// The runtime's view of a compiled module: offsets come from its
// hone.region ops, tensors from its parameter table, settings from the spec.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "compiler/emit/ModuleIdentity.h"
#include "compiler/spec/Spec.h"
#include "passes/module/ParameterTable.h"
#include "passes/place/OffsetTable.h"
#include "passes/plan/MemoryPlan.h"
#include "targets/ModuleDescription.h"

namespace hone {

/// The model as its adapter's users know it.
struct ModelIdentity {
  std::string name; ///< the directory's or the file's name
  std::string modelType;
  int64_t vocabSize = 0;
  IdentityFields mathematics;      ///< describeModel
  std::vector<int64_t> stopTokens; ///< of a program that generates
};

/// Everything of the description except config and threadBytes.
/// `module` is placed and verified. Fails with a diagnostic if it lacks a
/// region that it needs.
mlir::FailureOr<ModuleDescription>
describeModule(mlir::ModuleOp module, const ParameterTable &parameters);

/// The frozen tensors, in the order of their numbers.
std::vector<WeightDescription>
describeWeights(const ParameterTable &parameters);

/// The schedules of a placed module, in order. Symbols are those of functions
/// that lowering makes.
std::vector<ScheduleDescription> describeSchedules(mlir::ModuleOp module,
                                                   const OffsetTable &offsets);

/// The JSON that is embedded in the binary, with the settled values of `spec`;
/// its keys are documented in runtime/README.md.
std::string moduleConfigJson(const Spec &spec, const ModelIdentity &model,
                             const ParameterTable &parameters,
                             const MemoryPlan &plan,
                             const std::string &sourceHash);

} // namespace hone
