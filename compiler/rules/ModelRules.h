//===- ModelRules.h - Rules between a spec and its model ------------------===//

#pragma once

#include "compiler/spec/Spec.h"
#include "passes/StepOptions.h"
#include "targets/Target.h"

#include "mlir/IR/BuiltinOps.h"

#include <string>
#include <vector>

namespace hone {

/// Tables of rotary embedding are constants of the program. `positions`: the
/// key of `spec` that says how many. Errors: Usage for more than those may
/// have.
Status checkTables(mlir::ModuleOp imported, const Spec &spec,
                   const rt::Integer &positions);

/// That the target has code for all ops of `derived`, whose sizes are the
/// model's. Errors: UnsupportedModel.
Status checkKernels(mlir::ModuleOp derived, const Spec &spec,
                    const Target &target);

/// That the model has the layers of parts, and as many as groups of them.
/// Errors: Usage, naming the key.
Status checkLayers(mlir::ModuleOp imported, const Spec &spec);

/// Notes for the user on a selection that leaves layers out which train
/// nothing; after checkLayers.
std::vector<std::string> notesOnLayers(mlir::ModuleOp imported,
                                       const Spec &spec);

/// That `given`, of --step-options, suits the methods of `spec` and the model.
/// Errors: OptionsDisagree.
Status checkStepOptions(const StepOptions &given, const Spec &spec,
                        mlir::ModuleOp imported);

} // namespace hone
