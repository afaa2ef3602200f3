//===- StepRequest.h - What a spec asks of the passes of a step -----------===//

#ifndef HONE_COMPILER_DRIVER_STEPREQUEST_H
#define HONE_COMPILER_DRIVER_STEPREQUEST_H

#include "base/Status.h"
#include "compiler/spec/Spec.h"
#include "passes/StepOptions.h"

namespace hone {

/// Sets the methods of `spec`, and what these are told.
void setMethods(StepOptions &options, const Spec &spec);

/// That `given`, of --step-options, suits the methods of `spec`. Errors:
/// OptionsDisagree.
rt::Status checkStepOptions(const StepOptions &given, const Spec &spec);

} // namespace hone

#endif
