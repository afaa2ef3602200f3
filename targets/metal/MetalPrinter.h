//===- MetalPrinter.h - Kernels in Metal's language -----------------------===//
//
// A statement for each operation. Names of types and of functions are those of
// Prelude.metal, whose operators make f64 and bf16 look like float here.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "mlir/Dialect/GPU/IR/GPUDialect.h"

namespace hone {

/// Writes the text of all kernels in `device` after the prelude. Fails at the
/// first operation that Metal has no words for.
llvm::LogicalResult printMetal(mlir::gpu::GPUModuleOp device,
                               llvm::raw_ostream &out);

} // namespace hone
