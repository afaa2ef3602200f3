//===- StepRules.h - What --step-options must not ask for -----------------===//

#ifndef HONE_COMPILER_RULES_STEPRULES_H
#define HONE_COMPILER_RULES_STEPRULES_H

#include "base/Status.h"
#include "compiler/spec/Spec.h"
#include "passes/StepOptions.h"

namespace hone {

/// That `given`, of --step-options, suits the methods of `spec`. Errors:
/// OptionsDisagree.
rt::Status checkStepOptions(const StepOptions &given, const Spec &spec);

} // namespace hone

#endif
