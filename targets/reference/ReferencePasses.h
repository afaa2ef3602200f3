//===- ReferencePasses.h - The waist as scalar loops ----------------------===//
//
// ReferencePasses.td is the manual.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace hone {

#define GEN_PASS_DECL
#include "targets/reference/ReferencePasses.h.inc"

#define GEN_PASS_REGISTRATION
#include "targets/reference/ReferencePasses.h.inc"

} // namespace hone
