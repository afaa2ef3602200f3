//===- WriteMetal.cpp - hone-metal-write-text -----------------------------===//

#include "targets/gpu/DeviceTarget.h"
#include "targets/metal/MetalPasses.h"
#include "targets/metal/MetalPrinter.h"

#include "llvm/Support/raw_ostream.h"

namespace hone {
#define GEN_PASS_DEF_WRITEMETAL
#include "targets/metal/MetalPasses.h.inc"
} // namespace hone

using namespace mlir;
using namespace hone;

namespace {

struct WriteMetal : public hone::impl::WriteMetalBase<WriteMetal> {
  void runOnOperation() override {
    for (auto device : llvm::make_early_inc_range(
             getOperation().getOps<mlir::gpu::GPUModuleOp>())) {
      std::string text;
      llvm::raw_string_ostream out(text);
      if (failed(printMetal(device, out)))
        return signalPassFailure();
      simt::replaceByText(device, text);
    }
  }
};

} // namespace
