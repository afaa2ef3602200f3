//===- GpuPipeline.cpp - The passes of this folder in their order ---------===//

#include "targets/gpu/GpuPasses.h"

#include "targets/host/HostPasses.h"
#include "targets/math/MathPasses.h"

#include "mlir/Transforms/Passes.h"

using namespace mlir;

void hone::buildGpuPipeline(OpPassManager &pm, int64_t sharedBytes) {
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
  pm.addPass(createMergeLoops());
  // Names become addresses first: a kernel's parameters are made of them.
  pm.addPass(createBindFrame());
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
  pm.addPass(createOutlineKernels());
  OpPassManager &device = pm.nest<mlir::gpu::GPUModuleOp>();
  OpPassManager &kernels = device.nest<mlir::gpu::GPUFuncOp>();
  kernels.addPass(createFormChains());
  kernels.addPass(createDistributeTiles());
  // Canonicalisation must not run from here on: it would open the regions that
  // no barrier goes into.
  kernels.addPass(createPlaceBarriers());
  kernels.addPass(createPlaceShared());
  kernels.addPass(createApproximateMath());
  kernels.addPass(createExpandMath());
  kernels.addPass(createCanonicalizerPass());
  kernels.addPass(createCSEPass());
  kernels.addPass(createVerifyKernels({sharedBytes}));
  pm.addPass(createLaunchKernels());
}
