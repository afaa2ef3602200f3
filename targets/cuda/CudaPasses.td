//===- CudaPasses.td - From kernels to PTX --------------------------------===//
//
// Run after those of targets/gpu, in the order of this file.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_TARGETS_CUDA_CUDAPASSES_TD
#define HONE_TARGETS_CUDA_CUDAPASSES_TD

include "mlir/Pass/PassBase.td"

def ConvertToNvvm : Pass<"hone-cuda-convert-to-nvvm", "::mlir::gpu::GPUModuleOp"> {
  let summary = "convert kernels to the NVVM and LLVM dialects";
  let description = [{
    One conversion for all dialects. Memrefs are bare pointers in signatures.
    Functions of libraries are not called: an op without an instruction must be
    expanded before.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect",
                           "::mlir::NVVM::NVVMDialect"];
}

def WritePtx : Pass<"hone-cuda-write-ptx", "::mlir::ModuleOp"> {
  let summary = "replace the device half by its text";
  let description = [{
    Runs LLVM on each `gpu.module`, whose PTX becomes `tile.device_code` of the
    module, in the lowest version that has the features of `architecture`. Fails
    if the text calls something that is not in it.
  }];
  let options = [
    Option<"architecture", "architecture", "std::string", "\"sm_80\"",
           "GPU that the text is for">,
  ];
}

#endif // HONE_TARGETS_CUDA_CUDAPASSES_TD
