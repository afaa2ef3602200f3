//===- VerifyKernels.cpp - hone-gpu-verify --------------------------------===//
//
// Rules are numbered as in GpuPasses.td.
//
//===----------------------------------------------------------------------===//

#include "dialects/Tile/TileDialect.h"
#include "targets/gpu/GpuDialect.h"
#include "targets/gpu/GpuPasses.h"
#include "targets/gpu/Kernel.h"
#include "targets/gpu/Uniformity.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

namespace hone {
#define GEN_PASS_DEF_VERIFYKERNELS
#include "targets/gpu/GpuPasses.h.inc"
} // namespace hone

using namespace mlir;
using namespace hone;
using simt::Scope;

/// The threads that `op` waits for, or exchanges values with.
static std::optional<Scope> waitsFor(Operation *op) {
  if (isa<mlir::gpu::BarrierOp, simt::MultiplyGroupOp, simt::FinishGroupsOp,
          simt::GroupDotsOp, simt::GroupAddOp>(op))
    return Scope::Workgroup;
  if (isa<mlir::gpu::ShuffleOp, simt::LoadMatricesOp, NVVM::MmaOp,
          NVVM::SyncWarpOp>(op))
    return Scope::Subgroup;
  return std::nullopt;
}

static bool hasDeviceCode(Operation *op) {
  Dialect *dialect = op->getDialect();
  if (!dialect)
    return false; // an op that is not registered
  if (isa<math::MathDialect>(dialect))
    return isa<math::AbsFOp, math::CeilOp, math::FloorOp, math::FmaOp,
               math::RoundEvenOp, math::SqrtOp, math::TruncOp,
               math::CopySignOp>(op);
  return !isa<tile::TileDialect>(dialect) || isa<tile::ViewOp>(op);
}

static LogicalResult verifyOp(Operation *op, mlir::gpu::GPUFuncOp kernel,
                              const simt::Uniformity &uniformity) {
  // 1
  if (std::optional<Scope> scope = waitsFor(op))
    for (Operation *around = op->getParentOp(); around != kernel;
         around = around->getParentOp())
      if (uniformity.ofControl(around) > *scope) {
        InFlightDiagnostic diag =
            op->emitOpError("expects that all threads that it waits for reach "
                            "it");
        diag.attachNote(around->getLoc()) << "which depends on the thread here";
        return diag;
      }
  // 3
  if (!hasDeviceCode(op))
    return op->emitOpError("has no code for a GPU");
  // 4
  auto cast = dyn_cast<arith::IndexCastOp>(op);
  if (cast && cast.getIn().getType().isIndex())
    for (Operation *user : cast->getUsers())
      if (isa<memref::LoadOp, tile::ViewOp>(user))
        return op->emitOpError("makes an index narrower that memory is read "
                               "with");
  return success();
}

namespace {

struct VerifyKernels : public hone::impl::VerifyKernelsBase<VerifyKernels> {
  using VerifyKernelsBase::VerifyKernelsBase;

  void runOnOperation() override {
    mlir::gpu::GPUFuncOp kernel = getOperation();
    simt::Uniformity uniformity(kernel);
    WalkResult walked = kernel.walk([&](Operation *op) {
      return op != kernel && failed(verifyOp(op, kernel, uniformity))
                 ? WalkResult::interrupt()
                 : WalkResult::advance();
    });
    if (walked.wasInterrupted())
      return signalPassFailure();
    // 2
    auto bytes = kernel->getAttrOfType<IntegerAttr>(simt::kSharedBytesAttrName);
    if (bytes && bytes.getInt() > sharedBytes) {
      kernel.emitOpError("needs ")
          << bytes.getInt()
          << " bytes of shared memory but a workgroup has at most "
          << int64_t(sharedBytes);
      return signalPassFailure();
    }
    markAllAnalysesPreserved();
  }
};

} // namespace
