//===- CpuPasses.td - From tile ops to loops over vectors -----------------===//
//
// Run in the order of this file, with those of targets/host between them. Only
// `hone-cpu-lower-tiles` is told which CPU it is for; `hone-cpu-expand-products`
// is told whether kernels round, and no more.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_TARGETS_CPU_CPUPASSES_TD
#define HONE_TARGETS_CPU_CPUPASSES_TD

include "mlir/Pass/PassBase.td"

def ExpandProducts : Pass<"hone-cpu-expand-products", "::mlir::ModuleOp"> {
  let summary = "turn products into fills and multiplications of panels";
  let description = [{
    Each `tile.product` copies blocks of its terms into a panel, which becomes a
    private buffer of the parallel loop around it, and multiplies from there.
    Products of few rows go through the nearest cache in pieces, or read `w`
    where it is. `tile.read_row` fills a panel of one row.

    Results of bf16 are rounded from private sums by a loop after the product, or
    with `rounding-kernels` as they are stored, unless an epilogue is long: a
    kernel for each would take longer to compile.
  }];
  let options = [
    Option<"roundingKernels", "rounding-kernels", "bool", "false",
           "whether kernels round the values that they store">,
  ];
  let dependentDialects = ["::hone::cpu::CpuDialect",
                           "::mlir::arith::ArithDialect",
                           "::mlir::memref::MemRefDialect",
                           "::mlir::scf::SCFDialect"];
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
    Option<"bfloat16Unit", "bfloat16-unit", "bool", "false",
           "whether a matrix unit does so">,
  ];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect",
                           "::mlir::arith::ArithDialect",
                           "::mlir::func::FuncDialect",
                           "::mlir::memref::MemRefDialect",
                           "::mlir::scf::SCFDialect",
                           "::mlir::vector::VectorDialect"];
}

def RoundToBFloat16 : Pass<"hone-cpu-round-to-bfloat16"> {
  let summary = "round to bfloat16 by the instruction for it";
  let description = [{
    For CPUs with bfloat16 dot products, whose operands are rounded by the same
    instruction. Scalars take the way of vectors: subnormal numbers become zero
    in both, so a value does not depend on whether its loop was widened.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect",
                           "::mlir::arith::ArithDialect",
                           "::mlir::vector::VectorDialect"];
}

#endif // HONE_TARGETS_CPU_CPUPASSES_TD
