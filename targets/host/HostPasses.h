//===- HostPasses.h - Passes of targets that run in the process -----------===//
//
// HostPasses.td is the manual.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Pass/Pass.h"

namespace mlir {
class LLVMTypeConverter;
class RewritePatternSet;
} // namespace mlir

namespace hone {

#define GEN_PASS_DECL
#include "targets/host/HostPasses.h.inc"

#define GEN_PASS_REGISTRATION
#include "targets/host/HostPasses.h.inc"

/// Function attribute, unit: see isTask.
inline constexpr llvm::StringLiteral kTaskAttrName = "tile.task";

/// The rest of the tile dialect on any device: `!tile.memory` and `tile.view`.
void populateTileToLLVMPatterns(mlir::LLVMTypeConverter &converter,
                                mlir::RewritePatternSet &patterns);

/// Whether `function` is a task: (closure, index, thread).
bool isTask(mlir::FunctionOpInterface function);

} // namespace hone
