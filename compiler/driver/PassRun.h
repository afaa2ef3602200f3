//===- PassRun.h - Passes run with a reproducer ---------------------------===//
//
// The meaning of a failed pass depends on the author of the module: a user's
// .mlir file may be wrong, an importer's module may not.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "base/Status.h"

#include "mlir/IR/BuiltinOps.h"

#include <string>

namespace mlir {
class PassManager;
} // namespace mlir

namespace hone {

/// Runs `pm` on `module`. When a pass fails or crashes, the module and the
/// pipeline are in a file of the system's temporary folder, which the message
/// names and hone-opt --run-reproducer reads; otherwise no file is left.
/// `place` is where in the compilation; `userModel` is the user's .mlir file,
/// empty if an importer made the module.
/// Errors: BadData for a user's model, else Internal.
Status runPasses(mlir::PassManager &pm, mlir::ModuleOp module,
                 const std::string &place, const std::string &userModel);

} // namespace hone
