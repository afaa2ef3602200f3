//===- MathPasses.h - exp and log as arithmetic --------------------------===//
//
// MathPasses.td is the manual.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace hone {

#define GEN_PASS_DECL
#include "targets/math/MathPasses.h.inc"

#define GEN_PASS_REGISTRATION
#include "targets/math/MathPasses.h.inc"

} // namespace hone
