//===- WritePtx.cpp - Kernels as PTX text ---------------------------------===//
//
// LLVM in this process, and no toolkit: the driver compiles the text where it
// runs.
//
//===----------------------------------------------------------------------===//

#include "targets/cuda/CudaArchitecture.h"
#include "targets/cuda/CudaPasses.h"
#include "targets/gpu/DeviceTarget.h"

#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"

namespace hone {
#define GEN_PASS_DEF_WRITEPTX
#include "targets/cuda/CudaPasses.h.inc"
} // namespace hone

using namespace mlir;
using namespace hone;

extern "C" {
void LLVMInitializeNVPTXTargetInfo(void);
void LLVMInitializeNVPTXTarget(void);
void LLVMInitializeNVPTXTargetMC(void);
void LLVMInitializeNVPTXAsmPrinter(void);
}

static std::unique_ptr<llvm::TargetMachine>
createMachine(const CudaArchitecture &architecture, std::string &reason) {
  LLVMInitializeNVPTXTargetInfo();
  LLVMInitializeNVPTXTarget();
  LLVMInitializeNVPTXTargetMC();
  LLVMInitializeNVPTXAsmPrinter();
  llvm::Triple triple("nvptx64-nvidia-cuda");
  const llvm::Target *backend =
      llvm::TargetRegistry::lookupTarget(triple, reason);
  if (!backend)
    return nullptr;
  // Without contraction each product and each sum is rounded by itself, as on
  // all other targets.
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Strict;
  return std::unique_ptr<llvm::TargetMachine>(backend->createTargetMachine(
      triple, architecture.name,
      "+ptx" + std::to_string(architecture.ptxVersion), options,
      llvm::Reloc::PIC_, std::nullopt, llvm::CodeGenOptLevel::Aggressive));
}

static void optimize(llvm::Module &module, llvm::TargetMachine &machine) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager callGraph;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder(&machine);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(callGraph);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, callGraph, modules);
  builder.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O3)
      .run(module, modules);
}

/// A function that is called and nowhere defined; null: none. Intrinsics are
/// instructions.
static llvm::Function *missingFunction(llvm::Module &module) {
  for (llvm::Function &function : module)
    if (function.isDeclaration() && !function.isIntrinsic() &&
        !function.use_empty())
      return &function;
  return nullptr;
}

namespace {

struct WritePtx : public hone::impl::WritePtxBase<WritePtx> {
  using WritePtxBase::WritePtxBase;

  LogicalResult write(mlir::gpu::GPUModuleOp device,
                      const CudaArchitecture &architecture);
  void runOnOperation() override {
    const CudaArchitecture *found = findCudaArchitecture(architecture);
    if (!found) {
      getOperation().emitError("expects an architecture of ")
          << knownCudaArchitectures() << " but got " << architecture;
      return signalPassFailure();
    }
    for (auto device : llvm::make_early_inc_range(
             getOperation().getOps<mlir::gpu::GPUModuleOp>()))
      if (failed(write(device, *found)))
        return signalPassFailure();
  }
};

} // namespace

LogicalResult WritePtx::write(mlir::gpu::GPUModuleOp device,
                              const CudaArchitecture &architecture) {
  std::string reason;
  std::unique_ptr<llvm::TargetMachine> machine =
      createMachine(architecture, reason);
  if (!machine)
    return device.emitError("this LLVM cannot write PTX: ") << reason;
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> module =
      translateModuleToLLVMIR(device, context, device.getName());
  if (!module)
    return device.emitError("the device half is not wholly in the LLVM "
                            "dialect");
  module->setTargetTriple(machine->getTargetTriple());
  module->setDataLayout(machine->createDataLayout());
  optimize(*module, *machine);
  if (llvm::Function *missing = missingFunction(*module))
    return device.emitError("calls '")
           << missing->getName() << "', for which a GPU has no code";
  llvm::SmallString<0> text;
  llvm::raw_svector_ostream out(text);
  llvm::legacy::PassManager passes;
  if (machine->addPassesToEmitFile(passes, out, nullptr,
                                   llvm::CodeGenFileType::AssemblyFile))
    return device.emitError("this LLVM cannot write PTX");
  passes.run(*module);

  simt::replaceByText(device, text);
  return success();
}
