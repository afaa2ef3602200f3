//===- SelfCheck.h - Whether a model's gradients are right ----------------===//
//
// `honec --self-check`; compiler/README.md has its comparisons, and the
// reasons.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "compiler/selfcheck/Report.h"
#include "compiler/spec/Spec.h"
#include "targets/Target.h"

#include "mlir/IR/BuiltinOps.h"

namespace hone {

/// Checks the derivatives of `module`, which is as imported for `spec`, with
/// its element types and storages, and is cut to a small model by that.
/// Disagreements are in the report. Errors: OtherProcessor if this machine
/// cannot run the target's code; BadData or Internal if nothing can be derived.
Result<selfcheck::Report> selfCheck(mlir::ModuleOp module, const Spec &spec,
                                    const Target &target);

} // namespace hone
