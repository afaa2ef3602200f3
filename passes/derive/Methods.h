//===- Methods.h - The training methods -----------------------------------===//
//
// A method is a list of passes that turns a loss into the schedules of a step.
// This is the one list of methods; what they may be told is in StepOptions.h,
// and in runtime/src/module/Settings.h for specs.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_PASSES_DERIVE_METHODS_H
#define HONE_PASSES_DERIVE_METHODS_H

#include "passes/StepOptions.h"

#include "mlir/Pass/PassManager.h"

namespace hone {

/// Whether the method has values to keep from forward to backward.
bool hasBackward(const StepOptions &options);
/// Whether plans choose what each layer keeps; else it is `mesp`, or nothing.
bool choosesResiduals(const StepOptions &options);

/// Appends the passes of the method that `options` name. Reports an unknown one
/// as a misuse of the tool and exits: specs are checked before.
void buildMethod(mlir::OpPassManager &pm, const StepOptions &options);

} // namespace hone

#endif
