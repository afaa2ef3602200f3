//===- PlaceShared.cpp - Places of shared buffers -------------------------===//
//
// One after another: kernels have a few small ones.
//
//===----------------------------------------------------------------------===//

#include "targets/gpu/GpuDialect.h"
#include "targets/gpu/GpuPasses.h"
#include "targets/gpu/Kernel.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "llvm/Support/MathExtras.h"

namespace hone {
#define GEN_PASS_DEF_PLACESHARED
#include "targets/gpu/GpuPasses.h.inc"
} // namespace hone

using namespace mlir;
using namespace hone;

static constexpr int64_t kAlignment = 16;

namespace {

struct PlaceShared : public hone::impl::PlaceSharedBase<PlaceShared> {
  void runOnOperation() override {
    mlir::gpu::GPUFuncOp kernel = getOperation();
    OpBuilder b = OpBuilder::atBlockBegin(&kernel.getBody().front());
    Location loc = kernel.getLoc();
    int64_t bytes = 0;
    Value memory;
    bool hasGroups = simt::hasGroups(kernel);
    // Stages of products are bytes. They come first, so that their lines always
    // begin where the banks do.
    SmallVector<BlockArgument> buffers(kernel.getWorkgroupAttributions());
    llvm::stable_sort(buffers, [](BlockArgument a, BlockArgument b) {
      auto isBytes = [](BlockArgument buffer) {
        return cast<MemRefType>(buffer.getType()).getElementType().isInteger(8);
      };
      return isBytes(a) && !isBytes(b);
    });
    for (BlockArgument buffer : buffers) {
      // Sums that stay in registers.
      if (buffer.use_empty())
        continue;
      auto type = cast<MemRefType>(buffer.getType());
      if (hasGroups && type.getElementType().isInteger(8))
        bytes = llvm::alignTo(bytes, simt::MultiplyGroupOp::kAlignment);
      if (!memory)
        memory = mlir::gpu::DynamicSharedMemoryOp::create(
            b, loc,
            MemRefType::get(ShapedType::kDynamic, b.getI8Type(), AffineMap(),
                            type.getMemorySpace()));
      Value offset = arith::ConstantIndexOp::create(b, loc, bytes);
      buffer.replaceAllUsesWith(memref::ViewOp::create(
          b, loc, type, memory, offset, /*sizes=*/ValueRange()));
      int64_t size = type.getNumElements() * type.getElementTypeBitWidth() / 8;
      bytes += llvm::alignTo(size, kAlignment);
    }
    unsigned first = kernel.getNumArguments();
    kernel.getBody().front().eraseArguments(
        first, kernel.getNumWorkgroupAttributions());
    kernel->removeAttr(kernel.getNumWorkgroupAttributionsAttrName());
    kernel->setAttr(simt::kSharedBytesAttrName, b.getI64IntegerAttr(bytes));
  }
};

} // namespace
