//===- GpuPasses.h - From tile ops to kernels for a GPU -------------------===//
//
// GpuPasses.td is the manual.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "targets/gpu/GpuDialect.h"
#include "targets/gpu/Kernel.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"

namespace hone {

#define GEN_PASS_DECL
#include "targets/gpu/GpuPasses.h.inc"

#define GEN_PASS_REGISTRATION
#include "targets/gpu/GpuPasses.h.inc"

/// From tile ops to the two halves.
void buildGpuPipeline(mlir::OpPassManager &pm,
                      const simt::DeviceFeatures &device);

} // namespace hone
