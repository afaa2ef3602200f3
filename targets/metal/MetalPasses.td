//===- MetalPasses.td - From kernels to Metal's language ------------------===//
//
// Run after those of targets/gpu.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_TARGETS_METAL_METALPASSES_TD
#define HONE_TARGETS_METAL_METALPASSES_TD

include "mlir/Pass/PassBase.td"

def WriteMetal : Pass<"hone-metal-write-text", "::mlir::ModuleOp"> {
  let summary = "replace the device half by its text in Metal's language";
  let description = [{
    The text of each `gpu.module` becomes `tile.device_code`. Loops, branches
    and operations are said as they are, a statement each; `f64` and `bf16` are
    structs of integers with operators, which the prelude defines. A kernel's
    parameters are fields of one struct, `constant NAME_closure &closure`, in
    which addresses are pointers; its shared memory is a parameter, too.

    Fails at an operation that Metal's language has no words for.
  }];
}

#endif // HONE_TARGETS_METAL_METALPASSES_TD
