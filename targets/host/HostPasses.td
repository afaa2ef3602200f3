//===- HostPasses.td - Passes of targets that run in the process ----------===//
//
// Nothing here knows how loops and products are computed: only how generated
// code is called, where its memory is, and how it reaches the pool.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_TARGETS_HOST_HOSTPASSES_TD
#define HONE_TARGETS_HOST_HOSTPASSES_TD

include "mlir/Pass/PassBase.td"

def FetchRows : Pass<"hone-host-fetch-rows", "::mlir::ModuleOp"> {
  let summary = "read rows that are not to stay from their file";
  let description = [{
    Each `tile.read_row` with `release` reads a private buffer, into which
    `tile.fetch` has copied its rows of the weight, and of the scales and
    biases. Numbers do not change. To map a row and let it go again would take
    the page tables of all threads some 20 microseconds; a copy takes one.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::hone::tile::TileDialect"];
}

def SizeScratch : Pass<"hone-host-size-scratch", "::mlir::ModuleOp"> {
  let summary = "find how much scratch a thread needs";
  let description = [{
    Sets `tile.thread_bytes` on the module: the bytes of the private buffers of
    the largest `tile.parallel`.
  }];
}

def BindFrame : Pass<"hone-host-bind-frame", "::mlir::ModuleOp"> {
  let summary = "give functions the frame that the runtime calls entries with";
  let description = [{
    Entries become functions of type `hone_entry_fn`, and the values of
    `tile.base`, `tile.rows`, `tile.weight` and `tile.argument` are loaded from
    their two arguments. `tile.number` reads the host's copy. Sets `tile.sides`
    on entries. Functions that run parallel loops or give hints about pages, or
    call one that does, take the frame as their first argument.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect",
                           "::mlir::arith::ArithDialect",
                           "::mlir::func::FuncDialect",
                           "::mlir::memref::MemRefDialect"];
}

def OutlineParallel : Pass<"hone-host-outline-parallel", "::mlir::ModuleOp"> {
  let summary = "turn parallel loops into tasks of the runtime's pool";
  let description = [{
    Needs: `hone-host-size-scratch` and `hone-host-bind-frame`. Moves each
    `tile.parallel` body to an internal function of type `hone_task`, adds it to
    the module's `tile.kernels` and calls `hone_launch` with its number. Captured
    values travel in a struct on the caller's stack, after the frame; constants
    are cloned. Private buffers become slices of the thread's scratch.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect",
                           "::mlir::arith::ArithDialect",
                           "::mlir::memref::MemRefDialect"];
}

def ConvertToLLVM : Pass<"hone-host-convert-to-llvm", "::mlir::ModuleOp"> {
  let summary = "convert the remaining ops to the LLVM dialect";
  let description = [{
    One conversion for all dialects. Memrefs are bare pointers in signatures,
    which static shapes and identity layouts allow. `tile.prefetch`,
    `tile.release`, `tile.fetch`, `tile.offload`, `tile.reload` and `tile.await`
    become calls of the runtime, with the frame that they run with.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

def VerifyLaunches : Pass<"hone-host-verify-launches", "::mlir::ModuleOp"> {
  let summary = "check that entries keep nothing between launches";
  let description = [{
    A step may stop between two launches and go on in another process, which calls
    the entry again without the launches that ran before, on the same arena. So of
    the functions that launch kernels, and of all that call them:

    1. They call `hone_launch`, `hone_prefetch`, `hone_release`, `hone_offload`,
       `hone_reload`, `hone_await` and each other.
    2. They read the frame, the tables that it and the call name, the inputs of the
       batch, and the numbers of `hone_frame::numbers`, which rest while an entry
       runs that reads them (`hone-verify-placement`).
    3. They allocate only the closure of one launch, filled in its block.
    4. They write nothing but closures.

    Changes nothing. The scratch of a thread begins and ends with an iteration,
    by the definition of `tile.parallel`.
  }];
}

#endif // HONE_TARGETS_HOST_HOSTPASSES_TD
