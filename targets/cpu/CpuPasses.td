//===- CpuPasses.td - From tile ops to the LLVM dialect -------------------===//
//
// Run in the order of this file. Only `hone-cpu-lower-tiles` depends on which
// CPU it is; the others only know that it is one.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_TARGETS_CPU_CPUPASSES_TD
#define HONE_TARGETS_CPU_CPUPASSES_TD

include "mlir/Pass/PassBase.td"

def OutlineParallel : Pass<"hone-cpu-outline-parallel", "::mlir::ModuleOp"> {
  let summary = "turn parallel loops into tasks of the runtime's pool";
  let description = [{
    Moves each `tile.parallel` body to an internal function of type `hone_task`
    and calls `hone_parallel_for`. Captured values travel in a struct on the
    caller's stack, constants are cloned. Private buffers become slices of the
    thread's scratch; `tile.thread_bytes` on the module says how much of it the
    largest loop needs.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect",
                           "::mlir::arith::ArithDialect",
                           "::mlir::memref::MemRefDialect"];
}

def LowerTiles : Pass<"hone-cpu-lower-tiles", "::mlir::ModuleOp"> {
  let summary = "lower tile ops to loops over vectors";
  let description = [{
    Products and fills become calls to a few private functions that all ops of
    the same shape share, so the size of the code does not grow with the number
    of products. Element-wise loops and reductions are widened along their last
    variable where every access allows it. `tile.view` remains.
  }];
  let options = [
    Option<"vectorBits", "vector-bits", "unsigned", "256",
           "width of a vector register">,
    Option<"vectorRegisters", "vector-registers", "unsigned", "16",
           "number of vector registers">,
    Option<"maskedMemory", "masked-memory", "bool", "false",
           "whether masked loads and stores are cheap">,
    Option<"bfloat16Dots", "bfloat16-dots", "bool", "false",
           "whether pairs of bfloat16 are multiplied and added to f32">,
  ];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect",
                           "::mlir::arith::ArithDialect",
                           "::mlir::func::FuncDialect",
                           "::mlir::memref::MemRefDialect",
                           "::mlir::scf::SCFDialect",
                           "::mlir::vector::VectorDialect"];
}

def ApproximateMath : Pass<"hone-cpu-approximate-math"> {
  let summary = "replace f32 exp and log by polynomials";
  let description = [{
    Scalars and vectors get the same polynomial, so a value does not depend on
    whether its loop was widened. f64 is left to libm.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::math::MathDialect",
                           "::mlir::vector::VectorDialect"];
}

def ConvertToLLVM : Pass<"hone-cpu-convert-to-llvm", "::mlir::ModuleOp"> {
  let summary = "convert what is left to the LLVM dialect";
  let description = [{
    One conversion for all dialects. Memrefs are bare pointers in signatures,
    which static shapes and identity layouts allow.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

#endif // HONE_TARGETS_CPU_CPUPASSES_TD
