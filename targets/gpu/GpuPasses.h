//===- GpuPasses.h - From tile ops to kernels for a GPU -------------------===//
//
// GpuPasses.td is the manual.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "targets/gpu/GpuDialect.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"

namespace hone {

#define GEN_PASS_DECL
#include "targets/gpu/GpuPasses.h.inc"

#define GEN_PASS_REGISTRATION
#include "targets/gpu/GpuPasses.h.inc"

/// From tile ops to the two halves. `sharedBytes`: what a workgroup may have.
void buildGpuPipeline(mlir::OpPassManager &pm, int64_t sharedBytes);

} // namespace hone
