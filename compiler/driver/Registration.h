//===- Registration.h - The one list of dialects, passes and pipelines ----===//

#pragma once

#include "mlir/IR/DialectRegistry.h"

namespace hone {

/// Dialects that a model, or the IR of any phase, may be written in, with the
/// interfaces that translate them to LLVM IR.
void registerDialects(mlir::DialectRegistry &registry);

/// Every pass and pipeline, by its flag: hone's, and the few of MLIR's that
/// its pipelines use.
void registerPassesAndPipelines();

} // namespace hone
