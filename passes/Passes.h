//===- Passes.h - All passes of the compiler's middle ---------------------===//

#ifndef HONE_PASSES_PASSES_H
#define HONE_PASSES_PASSES_H

#include "dialects/Hone/HoneOps.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace hone {

#define GEN_PASS_DECL
#include "passes/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "passes/Passes.h.inc"

} // namespace hone

#endif
