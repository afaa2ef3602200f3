//===- GpuPipeline.cpp - The passes of this folder in their order ---------===//

#include "targets/gpu/GpuPasses.h"

#include "targets/host/HostPasses.h"
#include "targets/math/MathPasses.h"

#include "mlir/Transforms/Passes.h"

using namespace mlir;

void hone::buildGpuPipeline(OpPassManager &pm,
                            const simt::DeviceFeatures &device) {
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
  pm.addPass(createMergeLoops());
  // Names become addresses first: a kernel's parameters are made of them.
  pm.addPass(createBindFrame());
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
  pm.addPass(createOutlineKernels());
  OpPassManager &half = pm.nest<mlir::gpu::GPUModuleOp>();
  OpPassManager &kernels = half.nest<mlir::gpu::GPUFuncOp>();
  kernels.addPass(createFormChains());
  kernels.addPass(createDistributeTiles(
      {device.copiesInFlight, device.matrixUnits, device.groupMatrixUnits,
       device.spillsWideKeys, device.sharedBytes, device.multiprocessorBytes}));
  // Canonicalisation must not run from here on: it would open the regions that
  // no barrier goes into.
  kernels.addPass(createPlaceBarriers());
  kernels.addPass(createPlaceShared());
  kernels.addPass(createApproximateMath());
  kernels.addPass(createExpandMath());
  kernels.addPass(createCanonicalizerPass());
  kernels.addPass(createCSEPass());
  kernels.addPass(createVerifyKernels({device.sharedBytes}));
  pm.addPass(createLaunchKernels());
}
