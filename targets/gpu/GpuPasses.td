//===- GpuPasses.td - From tile ops to kernels for a GPU ------------------===//
//
// The passes of all GPUs, run in the order of this file; afterwards the device
// half is functions of scf, arith, math, memref and gpu, with `tile.view`
// between them, for CUDA and Metal alike. README.md says how ops are mapped.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_TARGETS_GPU_GPUPASSES_TD
#define HONE_TARGETS_GPU_GPUPASSES_TD

include "mlir/Pass/PassBase.td"

def MergeLoops : Pass<"hone-gpu-merge-loops", "::mlir::ModuleOp"> {
  let summary = "launch loops together that do not depend on each other";
  let description = [{
    Needs: names of memory, so it runs before `hone-host-bind-frame`. Of loops
    that follow each other in a block, each goes into the first launch after all
    that it depends on. Loops of one launch are one `tile.parallel`, whose
    iterations are theirs one after another; no result depends on that. Of loops
    that are one product each and differ in its result alone, the first one
    computes it for all of them.

    Two loops depend on each other if one writes memory that the other reads or
    writes. A loop depends on all others if one of its ops does not say what it
    accesses. Buffers of a function are compared by where its calls say that
    they are.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::scf::SCFDialect"];
  let options = [
    Option<"mostShared", "most-shared", "int64_t", "17408",
           "bytes of private buffers with which a loop still shares its launch "
           "with any other">,
  ];
}

def OutlineKernels : Pass<"hone-gpu-outline", "::mlir::ModuleOp"> {
  let summary = "split a module into a host half and a device half";
  let description = [{
    Each `tile.parallel` becomes a `gpu.func` in the `gpu.module` `@device`, and
    a `gpu.launch_func` where it was: a workgroup of 256 threads for each index.
    Captured values are the kernel's parameters in the order of their first use,
    constants are cloned. Private buffers are shared by the workgroup. Tables
    that the body reads go along.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::gpu::GPUDialect",
                           "::mlir::memref::MemRefDialect"];
}

def FormChains : Pass<"hone-gpu-form-chains", "::mlir::gpu::GPUFuncOp"> {
  let summary = "keep sums in registers from product to product";
  let description = [{
    Products that follow each other on one piece of `c`, and loops that only add
    products to it, become a `simt.chain`: its sums are read once and stored
    once. The bits are the same, since `c` keeps all bits of the registers.
  }];
  let dependentDialects = ["::hone::simt::SimtDialect"];
}

def DistributeTiles : Pass<"hone-gpu-distribute", "::mlir::gpu::GPUFuncOp"> {
  let summary = "spread tile ops over the threads of a workgroup";
  let description = [{
    All threads compute scalars, and one stores them. Elements of `tile.map` and
    `tile.read_row` are dealt out in turn. `tile.reduce` joins each lane's
    values, then lanes by a tree of shuffles, then subgroups in their order.
    `tile.product` multiplies tiles in shared memory, with sums in registers:
    in the blocks of terms that its manual promises, each in ascending order, so
    that sums have the bits of every other target. Iterations of `tile.each` are
    dealt out to subgroups of 32 lanes, and the ops in them are spread over
    those.

    Terms of a product come in stages (`StagedSide.h`). With `copies-in-flight`
    there are four in shared memory: one is multiplied while the next three
    arrive (`simt.copy`), 16 bytes at a time where source and target have one
    type and rows begin at multiples of 16 bytes. A product that is `rounded` is
    `nvvm.mma.sync`'s with `matrix-units`, and with `group-matrix-units` a stage
    of a large tile is `simt.multiply_group`'s.

    A product with `few_rows` and a small result has its blocks of terms dealt
    out to subgroups, which have stages of their own, in half of `shared-bytes`
    at most; the workgroup joins their sums in order. One that is `rounded` too,
    and of bfloat16 on both sides, has its terms dealt out to subgroups, 32 at a
    time, on matrix units. One that is `any_order`, with `transpose_a`, one side
    of bfloat16 and 4, 8 or 16 columns of float32 on the other, has 16 terms at a
    time there, and each float32 number is three of bfloat16, whose sum it is.

    Code that each thread runs alone, or that has its barriers, is in an
    `scf.execute_region`: no other barrier goes into one.
  }];
  let dependentDialects = ["::hone::simt::SimtDialect",
                           "::mlir::arith::ArithDialect",
                           "::mlir::gpu::GPUDialect",
                           "::mlir::LLVM::LLVMDialect",
                           "::mlir::NVVM::NVVMDialect",
                           "::mlir::math::MathDialect",
                           "::mlir::memref::MemRefDialect",
                           "::mlir::scf::SCFDialect"];
  let options = [
    Option<"copiesInFlight", "copies-in-flight", "bool", "false",
           "terms are copied to shared memory while others are multiplied">,
    Option<"matrixUnits", "matrix-units", "bool", "false",
           "subgroups multiply matrices of bfloat16">,
    Option<"groupMatrixUnits", "group-matrix-units", "bool", "false",
           "four subgroups multiply those that are in shared memory">,
    Option<"spillsWideKeys", "spills-wide-keys", "bool", "false",
           "two workgroups with the cotangents of wide keys spill registers">,
    Option<"sharedBytes", "shared-bytes", "int64_t", "49152",
           "shared memory of a workgroup, at most">,
    Option<"multiprocessorBytes", "multiprocessor-bytes", "int64_t", "0",
           "shared memory of a multiprocessor, where it has more">,
  ];
}

def PlaceBarriers : Pass<"hone-gpu-place-barriers", "::mlir::gpu::GPUFuncOp"> {
  let summary = "order accesses to memory that a workgroup's threads share";
  let description = [{
    Needs: `hone-gpu-distribute`. Puts a barrier before an op that reads memory
    which other threads may have written since the last barrier, or writes
    memory that they may have read or written. Each shared buffer is memory of
    its own, all device memory is one; an op that does not say what it accesses
    may access all of both. Where control depends on the subgroup, as
    in `tile.each`, the barrier is the subgroup's (`nvvm.bar.warp.sync`, since
    gpu has no such op). Inlines `scf.execute_region`.
  }];
  let dependentDialects = ["::mlir::NVVM::NVVMDialect",
                           "::mlir::gpu::GPUDialect"];
}

def PlaceShared : Pass<"hone-gpu-place-shared", "::mlir::gpu::GPUFuncOp"> {
  let summary = "give shared buffers their places";
  let description = [{
    Buffers become views of `gpu.dynamic_shared_memory`, one after another,
    aligned to 16 bytes, which attributions of a `gpu.func` are not. Sets
    `tile.shared_bytes` on the kernel.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::gpu::GPUDialect",
                           "::mlir::memref::MemRefDialect"];
}

def VerifyKernels : Pass<"hone-gpu-verify", "::mlir::gpu::GPUFuncOp"> {
  let summary = "check rules that a device's compiler does not know";
  let description = [{
    1. Barriers and shuffles are reached by all threads that they wait for.
    2. Shared memory is at most `shared-bytes`.
    3. Every op has device code: functions of libraries have none.
    4. An index is made narrower only to be stored.
  }];
  let options = [
    Option<"sharedBytes", "shared-bytes", "int64_t", "49152",
           "shared memory of a workgroup, at most">,
  ];
}

def LaunchKernels : Pass<"hone-gpu-launch", "::mlir::ModuleOp"> {
  let summary = "call the runtime where kernels are launched";
  let description = [{
    Needs: `hone-host-bind-frame`, before kernels are outlined, and
    `hone-gpu-place-shared`. Each `gpu.launch_func` fills a closure and calls
    `hone_launch`; `tile.kernels` describes each kernel's launch.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect",
                           "::mlir::arith::ArithDialect",
                           "::mlir::memref::MemRefDialect"];
}

#endif // HONE_TARGETS_GPU_GPUPASSES_TD
