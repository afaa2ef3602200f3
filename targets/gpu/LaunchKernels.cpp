//===- LaunchKernels.cpp - Launches become calls of the runtime -----------===//
//
// Kernels are numbered in the order of their first launch. A kernel's
// parameters are its closure's fields, one for one.
//
//===----------------------------------------------------------------------===//

#include "targets/gpu/GpuPasses.h"
#include "targets/gpu/Kernel.h"
#include "targets/host/Launch.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

namespace hone {
#define GEN_PASS_DEF_LAUNCHKERNELS
#include "targets/gpu/GpuPasses.h.inc"
} // namespace hone

using namespace mlir;
using namespace hone;

static tile::KernelAttr describe(mlir::gpu::GPUFuncOp kernel,
                                 const Closure &closure) {
  Builder b(kernel.getContext());
  auto bytes = kernel->getAttrOfType<IntegerAttr>(simt::kSharedBytesAttrName);
  auto label = kernel->getAttrOfType<StringAttr>(simt::kNameAttrName);
  auto [block, name] = label.getValue().split(':');
  // A kernel's accesses to memory are those of the loop that it was made of.
  return tile::KernelAttr::get(
      kernel.getContext(), kernel.getNameAttr(), b.getStringAttr(block),
      b.getStringAttr(name.ltrim()), simt::kThreads, bytes.getInt(),
      closure.fields([](Value) { return tile::Access::both; }));
}

namespace {

struct LaunchKernels : public hone::impl::LaunchKernelsBase<LaunchKernels> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    SmallVector<mlir::gpu::LaunchFuncOp> launches;
    module.walk(
        [&](mlir::gpu::LaunchFuncOp launch) { launches.push_back(launch); });
    for (mlir::gpu::LaunchFuncOp launch : launches) {
      auto function = launch->getParentOfType<FunctionOpInterface>();
      auto kernel = cast<mlir::gpu::GPUFuncOp>(
          SymbolTable::lookupSymbolIn(module, launch.getKernel()));
      FailureOr<Closure> closure =
          Closure::of(launch.getOperation(), launch.getKernelOperands());
      if (failed(closure))
        return signalPassFailure();
      uint32_t number = addKernel(module, describe(kernel, *closure));
      OpBuilder b(launch);
      buildLaunch(b, launch.getLoc(), function.getArgument(0), number, *closure,
                  launch.getGridSizeX());
      launch.erase();
    }
  }
};

} // namespace
