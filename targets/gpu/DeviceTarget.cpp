//===- DeviceTarget.cpp - Kernels as text, entries as code of a host ------===//
//
// See DeviceTarget.h.
//
//===----------------------------------------------------------------------===//

#include "targets/gpu/DeviceTarget.h"

#include "targets/gpu/GpuPasses.h"
#include "targets/gpu/Kernel.h"

using namespace mlir;
using namespace hone;

void hone::simt::replaceByText(mlir::gpu::GPUModuleOp device, StringRef text) {
  auto module = device->getParentOfType<ModuleOp>();
  module->setAttr(kDeviceCodeAttrName,
                  StringAttr::get(module.getContext(), text));
  device.erase();
}

tile::Blocks DeviceTarget::blocks() const {
  // A workgroup's tile, in registers and shared memory.
  tile::Blocks blocks{/*columns=*/64, /*rows=*/64};
  // A row for each subgroup, and a workgroup for each multiprocessor.
  blocks.rowGroup = 8;
  blocks.updateElements = 4096;
  // An adapter's h and u are long chains of few sums: the fewer in a workgroup,
  // the more run at a time. Below that, reading A and B again costs more.
  blocks.narrowRows = 16;
  // An adapter's h and u, of each projection.
  blocks.apartColumns = 64;
  return blocks;
}

void DeviceTarget::buildSizingPipeline(OpPassManager &pm) const {
  // Private buffers are shared memory of the device.
}

void DeviceTarget::buildLoweringPipeline(OpPassManager &pm) const {
  buildGpuPipeline(pm, device);
  // From here on there are kernels, and entries that launch them.
  buildTextPipeline(pm);
  // From here on kernels are text, and the code that launches them is a host's.
  buildLlvmPipeline(pm);
}

llvm::Error DeviceTarget::emit(ModuleOp module,
                               const ModuleDescription &description,
                               EmitKind kind, StringRef path) const {
  ModuleDescription whole = description;
  whole.deviceTarget = describe();
  if (auto text = module->getAttrOfType<StringAttr>(simt::kDeviceCodeAttrName))
    whole.deviceCode = text.getValue();
  if (kind == EmitKind::assembly)
    return writeText(whole.deviceCode, path);
  OwningOpRef<ModuleOp> host = module.clone();
  (*host)->removeAttr(simt::kDeviceCodeAttrName);
  (*host)->removeAttr(mlir::gpu::GPUDialect::getContainerModuleAttrName());
  return HostTarget::emit(*host, whole, kind, path);
}

llvm::Expected<std::unique_ptr<llvm::TargetMachine>>
hone::createDeviceHost(const TargetRequest &request) {
  if (!request.features.empty())
    return llvm::createStringError("target '" + request.triple +
                                   "' has no features to choose: an "
                                   "architecture has all of its own");
  auto host = createHostMachine(TargetRequest::parse(request.host));
  if (host && !*host)
    return llvm::createStringError("there is no host called '" + request.host +
                                   "'");
  return host;
}
