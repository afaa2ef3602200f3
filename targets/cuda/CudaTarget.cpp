//===- CudaTarget.cpp - NVIDIA GPUs, as PTX text --------------------------===//
//
// See CudaTarget.h.
//
//===----------------------------------------------------------------------===//

#include "targets/cuda/CudaTarget.h"

#include "targets/cuda/CudaArchitecture.h"
#include "targets/cuda/CudaPasses.h"
#include "targets/gpu/DeviceTarget.h"
#include "targets/gpu/GpuDialect.h"

#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/GPU/GPUToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/NVVM/NVVMToLLVMIRTranslation.h"

using namespace mlir;
using namespace hone;

static constexpr llvm::StringLiteral kTriple = "nvptx64-nvidia-cuda";
/// The first with all that is emitted.
static constexpr llvm::StringLiteral kDefaultArchitecture = "sm_80";

namespace {

class CudaTarget : public DeviceTarget {
public:
  CudaTarget(std::unique_ptr<llvm::TargetMachine> host,
             const CudaArchitecture &architecture)
      : DeviceTarget(std::move(host),
                     {architecture.sharedBytes, architecture.copiesInFlight,
                      architecture.bfloat16Products, architecture.groupProducts,
                      architecture.spillsWideKeys,
                      architecture.multiprocessorBytes}),
        architecture(architecture) {}

  TargetRequest request() const override {
    TargetRequest wanted;
    wanted.triple = kTriple.str();
    wanted.cpu = architecture.name.str();
    return wanted;
  }
  MachineProfile profile() const override { return architecture.profile; }
  bool hasBFloat16Products() const override {
    return architecture.bfloat16Products;
  }
  bool prefersBFloat16Products() const override {
    return architecture.bfloat16Products;
  }

protected:
  void buildTextPipeline(OpPassManager &pm) const override;

private:
  const CudaArchitecture &architecture;
};

} // namespace

void CudaTarget::buildTextPipeline(OpPassManager &pm) const {
  OpPassManager &device = pm.nest<mlir::gpu::GPUModuleOp>();
  device.addPass(createSCFToControlFlowPass());
  device.addPass(createConvertToNvvm());
  pm.addPass(createWritePtx({architecture.name.str()}));
}

llvm::Expected<std::unique_ptr<Target>>
hone::createCudaTarget(const TargetRequest &request) {
  if (request.triple != kTriple)
    return nullptr;
  StringRef name = request.cpu.empty() ? StringRef(kDefaultArchitecture)
                                       : StringRef(request.cpu);
  const CudaArchitecture *architecture = findCudaArchitecture(name);
  if (!architecture) {
    std::string message =
        ("target '" + kTriple + "' has no architecture called '" + name +
         "'; there are: " + knownCudaArchitectures())
            .str();
    if (const CudaArchitecture *earlier = newestCudaArchitectureFor(name))
      message += ("; programs for " + earlier->name + " run on " + name).str();
    return llvm::createStringError(message);
  }
  auto host = createDeviceHost(request);
  if (!host)
    return host.takeError();
  return std::make_unique<CudaTarget>(std::move(*host), *architecture);
}

void hone::registerCudaTargetPasses() { registerCudaPasses(); }

void hone::registerCudaDialects(DialectRegistry &registry) {
  registry
      .insert<simt::SimtDialect, mlir::gpu::GPUDialect, NVVM::NVVMDialect>();
  registerBuiltinDialectTranslation(registry);
  registerGPUDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
  registerNVVMDialectTranslation(registry);
}
