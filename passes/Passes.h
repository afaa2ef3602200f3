//===- Passes.h - All passes of the compiler's middle ---------------------===//

#pragma once

#include "dialects/Hone/HoneOps.h"
#include "dialects/Tile/Blocks.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace hone {

#define GEN_PASS_DECL
#include "passes/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "passes/Passes.h.inc"

class TargetKernels;

/// hone-convert-to-tiles for a target; `kernels` may be null.
std::unique_ptr<mlir::Pass> createConvertToTiles(const tile::Blocks &blocks,
                                                 const TargetKernels *kernels);

/// hone-verify-tiles for a target; `kernels` may be null.
std::unique_ptr<mlir::Pass> createVerifyTiles(bool hasFloat64,
                                              const TargetKernels *kernels);

} // namespace hone
