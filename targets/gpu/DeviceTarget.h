//===- DeviceTarget.h - Kernels as text, entries as code of a host --------===//
//
// The base of targets whose kernels run on a device: the program holds their
// text, which a driver compiles, and entries that launch them.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "targets/gpu/GpuKernels.h"
#include "targets/host/HostTarget.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"

namespace hone {

namespace simt {

/// Puts `text` in the place of a device half: the attribute `tile.device_code`
/// of the module around it.
void replaceByText(mlir::gpu::GPUModuleOp device, llvm::StringRef text);

} // namespace simt

class DeviceTarget : public HostTarget {
public:
  DeviceTarget(std::unique_ptr<llvm::TargetMachine> host,
               const simt::DeviceFeatures &features)
      : HostTarget(std::move(host)), device(features), ownKernels(features) {}

  bool hasHostKernels() const override { return false; }
  const TargetKernels *kernels() const override { return &ownKernels; }
  /// The logits of a tile are work for many workgroups, and launches are few.
  int64_t lossColumns() const override { return 4096; }
  tile::Blocks blocks() const override;
  void buildLoweringPipeline(mlir::OpPassManager &pm) const override;
  void buildSizingPipeline(mlir::OpPassManager &pm) const override;
  llvm::Error emit(mlir::ModuleOp module, const ModuleDescription &description,
                   EmitKind kind, llvm::StringRef path) const override;

protected:
  /// From kernels to their text, see replaceByText.
  virtual void buildTextPipeline(mlir::OpPassManager &pm) const = 0;

private:
  const simt::DeviceFeatures device;
  const GpuKernels ownKernels;
};

/// The machine beside a device. Errors: one that Hone does not know, and
/// features, since a device has none to choose.
llvm::Expected<std::unique_ptr<llvm::TargetMachine>>
createDeviceHost(const TargetRequest &request);

} // namespace hone
