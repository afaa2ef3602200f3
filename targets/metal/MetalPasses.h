//===- MetalPasses.h - From kernels to Metal's language -------------------===//
//
// MetalPasses.td is the manual.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace hone {

#define GEN_PASS_DECL
#include "targets/metal/MetalPasses.h.inc"

#define GEN_PASS_REGISTRATION
#include "targets/metal/MetalPasses.h.inc"

} // namespace hone
