//===- CudaTarget.cpp - NVIDIA GPUs, as PTX text --------------------------===//
//
// See CudaTarget.h.
//
//===----------------------------------------------------------------------===//

#include "targets/cuda/CudaTarget.h"

#include "targets/cuda/CudaArchitecture.h"
#include "targets/cuda/CudaPasses.h"
#include "targets/gpu/GpuKernels.h"
#include "targets/gpu/GpuPasses.h"
#include "targets/host/HostTarget.h"

#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/GPU/GPUToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/NVVM/NVVMToLLVMIRTranslation.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace hone;

static constexpr llvm::StringLiteral kTriple = "nvptx64-nvidia-cuda";
/// The first with all that is emitted.
static constexpr llvm::StringLiteral kDefaultArchitecture = "sm_80";

namespace {

class CudaTarget : public HostTarget {
public:
  CudaTarget(std::unique_ptr<llvm::TargetMachine> host,
             const CudaArchitecture &architecture)
      : HostTarget(std::move(host)), architecture(architecture),
        ownKernels(architecture.sharedBytes) {}

  TargetRequest request() const override {
    TargetRequest wanted;
    wanted.triple = kTriple.str();
    wanted.cpu = architecture.name.str();
    return wanted;
  }
  bool hasHostKernels() const override { return false; }
  const TargetKernels *kernels() const override { return &ownKernels; }
  /// What a workgroup computes in registers and shared memory.
  tile::Blocks blocks() const override {
    tile::Blocks blocks{/*columns=*/64, /*rows=*/64};
    // A row for each subgroup, and a workgroup for each multiprocessor.
    blocks.rowGroup = 8;
    blocks.updateElements = 4096;
    return blocks;
  }
  void buildLoweringPipeline(OpPassManager &pm) const override;
  void buildSizingPipeline(OpPassManager &pm) const override;
  llvm::Error emit(ModuleOp module, const ModuleDescription &description,
                   EmitKind kind, StringRef path) const override;

private:
  const CudaArchitecture &architecture;
  GpuKernels ownKernels;
};

} // namespace

void CudaTarget::buildSizingPipeline(OpPassManager &pm) const {
  // Private buffers are shared memory of the device.
}

void CudaTarget::buildLoweringPipeline(OpPassManager &pm) const {
  buildGpuPipeline(pm, architecture.sharedBytes);
  // From here on there are kernels, and entries that launch them.
  OpPassManager &device = pm.nest<mlir::gpu::GPUModuleOp>();
  device.addPass(createSCFToControlFlowPass());
  device.addPass(createConvertToNvvm());
  pm.addPass(createWritePtx({architecture.name.str()}));
  // From here on kernels are text, and what launches them is a host's.
  buildLlvmPipeline(pm);
}

llvm::Error CudaTarget::emit(ModuleOp module,
                             const ModuleDescription &description,
                             EmitKind kind, StringRef path) const {
  OwningOpRef<ModuleOp> host = module.clone();
  ModuleDescription whole = description;
  whole.deviceTarget = describe();
  for (auto binary :
       llvm::make_early_inc_range(host->getOps<mlir::gpu::BinaryOp>())) {
    for (auto object : binary.getObjects().getAsRange<mlir::gpu::ObjectAttr>())
      whole.deviceCode += object.getObject().getValue();
    binary.erase();
  }
  if (kind == EmitKind::assembly)
    return writeText(whole.deviceCode, path);
  (*host)->removeAttr(mlir::gpu::GPUDialect::getContainerModuleAttrName());
  return HostTarget::emit(*host, whole, kind, path);
}

llvm::Expected<std::unique_ptr<Target>>
hone::createCudaTarget(const TargetRequest &request) {
  if (request.triple != kTriple)
    return nullptr;
  StringRef name = request.cpu.empty() ? StringRef(kDefaultArchitecture)
                                       : StringRef(request.cpu);
  const CudaArchitecture *architecture = findCudaArchitecture(name);
  if (!architecture)
    return llvm::createStringError("target '" + kTriple +
                                   "' has no architecture called '" + name +
                                   "'; there are: " + knownCudaArchitectures());
  if (!request.features.empty())
    return llvm::createStringError("target '" + kTriple +
                                   "' has no features to choose: an "
                                   "architecture has all of its own");
  auto host = createHostMachine(TargetRequest::parse(request.host));
  if (!host)
    return host.takeError();
  if (!*host)
    return llvm::createStringError("there is no host called '" + request.host +
                                   "'");
  return std::make_unique<CudaTarget>(std::move(*host), *architecture);
}

void hone::registerCudaTargetPasses() {
  registerGpuPasses();
  registerCudaPasses();
}

void hone::registerCudaDialects(DialectRegistry &registry) {
  registry.insert<mlir::gpu::GPUDialect, NVVM::NVVMDialect>();
  registerBuiltinDialectTranslation(registry);
  registerGPUDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
  registerNVVMDialectTranslation(registry);
}
