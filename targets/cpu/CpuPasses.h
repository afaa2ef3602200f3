//===- CpuPasses.h - From tile ops to loops over vectors ------------------===//
//
// CpuPasses.td is the manual.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace hone {

#define GEN_PASS_DECL
#include "targets/cpu/CpuPasses.h.inc"

#define GEN_PASS_REGISTRATION
#include "targets/cpu/CpuPasses.h.inc"

} // namespace hone
