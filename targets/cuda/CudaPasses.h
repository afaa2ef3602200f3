//===- CudaPasses.h - From kernels to PTX ---------------------------------===//
//
// CudaPasses.td is the manual.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace hone {

#define GEN_PASS_DECL
#include "targets/cuda/CudaPasses.h.inc"

#define GEN_PASS_REGISTRATION
#include "targets/cuda/CudaPasses.h.inc"

} // namespace hone
