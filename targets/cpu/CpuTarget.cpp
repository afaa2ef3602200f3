//===- CpuTarget.cpp - x86-64 and AArch64 through LLVM --------------------===//
//
// The target machine is given to the optimiser as well as to the code
// generator: without it the optimiser would assume 128-bit vectors.
//
//===----------------------------------------------------------------------===//

#include "targets/cpu/CpuTarget.h"

#include "dialects/Tile/TileDialect.h"
#include "targets/cpu/CpuDescription.h"
#include "targets/cpu/CpuPasses.h"
#include "targets/cpu/EmitModule.h"

#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Target/LLVMIR/Dialect/All.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Host.h"

using namespace mlir;
using namespace hone;

void hone::buildCpuLoweringPipeline(OpPassManager &pm,
                                    const CpuDescription &cpu) {
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
  pm.addPass(createOutlineParallel());
  // From here on no parallel loop remains, and scratch sizes are known.
  pm.addPass(createLowerTiles({cpu.vectorBits, cpu.vectorRegisters,
                               cpu.maskedMemory, cpu.bfloat16Dots}));
  // From here on vectors are final: canonicalising would take shuffle networks
  // apart.
  pm.addPass(createApproximateMath());
  pm.addPass(createSCFToControlFlowPass());
  pm.addPass(createConvertToLLVM());
  // Only the LLVM dialect remains.
}

namespace {

class CpuTarget : public Target {
public:
  CpuTarget(std::unique_ptr<llvm::TargetMachine> machine)
      : machine(std::move(machine)) {
    const llvm::MCSubtargetInfo &subtarget =
        *this->machine->getMCSubtargetInfo();
    cpu = describeCpu(this->machine->getTargetTriple().getArch(),
                      [&](StringRef feature) {
                        return subtarget.checkFeatures(("+" + feature).str());
                      });
  }

  std::string describe() const override {
    return machine->getTargetTriple().str() + ":" +
           machine->getTargetCPU().str();
  }
  StringRef triple() const override { return machine->getTargetTriple().str(); }
  std::vector<std::string> features() const override {
    std::vector<std::string> names;
    for (const llvm::SubtargetFeatureKV &feature :
         machine->getMCSubtargetInfo()->getEnabledProcessorFeatures())
      names.push_back(feature.Key);
    return names; // LLVM's tables are sorted
  }
  unsigned panelWidth(Type element) const override {
    return cpu.panelWidth(element.getIntOrFloatBitWidth());
  }
  bool hasBFloat16Products() const override { return cpu.bfloat16Dots; }
  void buildLoweringPipeline(OpPassManager &pm) const override {
    buildCpuLoweringPipeline(pm, cpu);
  }
  llvm::Error emit(ModuleOp module, const ModuleDescription &description,
                   EmitKind kind, StringRef path) const override;

private:
  llvm::Expected<std::unique_ptr<llvm::Module>>
  translate(ModuleOp module, llvm::LLVMContext &context,
            ModuleDescription description) const;
  void optimize(llvm::Module &module) const;
  llvm::Error write(llvm::Module &module, EmitKind kind,
                    llvm::raw_pwrite_stream &out) const;

  std::unique_ptr<llvm::TargetMachine> machine;
  CpuDescription cpu;
};

} // namespace

//===----------------------------------------------------------------------===//
// Emission
//===----------------------------------------------------------------------===//

/// Calls `write` on a file beside `path`, which then takes its place.
static llvm::Error
writeWhole(StringRef path,
           llvm::function_ref<llvm::Error(llvm::raw_pwrite_stream &)> write) {
  if (path == "-") {
    // Object files need to seek, which standard output may not.
    llvm::SmallString<0> text;
    llvm::raw_svector_ostream buffer(text);
    if (llvm::Error error = write(buffer))
      return error;
    llvm::outs() << text;
    return llvm::Error::success();
  }
  llvm::Expected<llvm::sys::fs::TempFile> file =
      llvm::sys::fs::TempFile::create(path + ".%%%%%%");
  if (!file)
    return llvm::createStringError("cannot write '" + path +
                                   "': " + llvm::toString(file.takeError()));
  llvm::Error failed = llvm::Error::success();
  {
    llvm::raw_fd_ostream out(file->FD, /*shouldClose=*/false);
    failed = write(out);
    out.flush();
    if (!failed && out.has_error())
      failed =
          llvm::createStringError(out.error(), "cannot write '" + path + "'");
    out.clear_error();
  }
  if (failed)
    return llvm::joinErrors(std::move(failed), file->discard());
  return file->keep(path);
}

llvm::Expected<std::unique_ptr<llvm::Module>>
CpuTarget::translate(ModuleOp module, llvm::LLVMContext &context,
                     ModuleDescription description) const {
  DialectRegistry registry;
  registerAllToLLVMIRTranslations(registry);
  module.getContext()->appendDialectRegistry(registry);
  std::unique_ptr<llvm::Module> translated =
      translateModuleToLLVMIR(module, context, "hone");
  if (!translated)
    return llvm::createStringError(
        "the module is not wholly in the LLVM dialect");
  translated->setTargetTriple(machine->getTargetTriple());
  translated->setDataLayout(machine->createDataLayout());
  if (auto bytes = module->getAttrOfType<IntegerAttr>(
          tile::TileDialect::kThreadBytesAttrName))
    description.threadBytes = bytes.getInt();
  if (llvm::Error error = emitModuleTables(*translated, description))
    return error;
  return translated;
}

void CpuTarget::optimize(llvm::Module &module) const {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager callGraph;
  llvm::ModuleAnalysisManager modules;
  llvm::PipelineTuningOptions tuning;
  // Loops that gain from vectors have them already.
  tuning.SLPVectorization = false;
  // Unrolled, the loops of products need more addresses than there are integer
  // registers.
  tuning.LoopUnrolling = false;
  llvm::PassBuilder builder(machine.get(), tuning);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(callGraph);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, callGraph, modules);
  builder.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O3)
      .run(module, modules);
}

llvm::Error CpuTarget::write(llvm::Module &module, EmitKind kind,
                             llvm::raw_pwrite_stream &out) const {
  if (kind == EmitKind::llvm) {
    module.print(out, nullptr);
    return llvm::Error::success();
  }
  llvm::CodeGenFileType type = kind == EmitKind::assembly
                                   ? llvm::CodeGenFileType::AssemblyFile
                                   : llvm::CodeGenFileType::ObjectFile;
  llvm::legacy::PassManager passes;
  if (machine->addPassesToEmitFile(passes, out, nullptr, type))
    return llvm::createStringError("'" + describe() +
                                   "' cannot write this kind of file");
  passes.run(module);
  return llvm::Error::success();
}

llvm::Error CpuTarget::emit(ModuleOp module,
                            const ModuleDescription &description, EmitKind kind,
                            StringRef path) const {
  llvm::LLVMContext context;
  llvm::Expected<std::unique_ptr<llvm::Module>> translated =
      translate(module, context, description);
  if (!translated)
    return translated.takeError();
  optimize(**translated);
  return writeWhole(path, [&](llvm::raw_pwrite_stream &out) {
    return write(**translated, kind, out);
  });
}

//===----------------------------------------------------------------------===//
// Creation
//===----------------------------------------------------------------------===//

static void initializeCodeGenerators() {
  LLVMInitializeX86TargetInfo();
  LLVMInitializeX86Target();
  LLVMInitializeX86TargetMC();
  LLVMInitializeX86AsmPrinter();
  LLVMInitializeX86AsmParser();
  LLVMInitializeAArch64TargetInfo();
  LLVMInitializeAArch64Target();
  LLVMInitializeAArch64TargetMC();
  LLVMInitializeAArch64AsmPrinter();
  LLVMInitializeAArch64AsmParser();
}

/// This machine's features, as in -mattr.
static std::string hostFeatures() {
  std::string features;
  for (auto &feature : llvm::sys::getHostCPUFeatures()) {
    if (!features.empty())
      features += ",";
    features += (feature.second ? "+" : "-") + feature.first().str();
  }
  return features;
}

llvm::Expected<std::unique_ptr<Target>>
hone::createCpuTarget(const TargetRequest &request) {
  initializeCodeGenerators();
  bool native = request.triple == "native" || request.triple.empty();
  llvm::Triple triple(llvm::Triple::normalize(
      native ? llvm::sys::getDefaultTargetTriple() : request.triple));
  std::string cpu = request.cpu, features = request.features;
  if (native && cpu.empty())
    cpu = llvm::sys::getHostCPUName().str();
  if (native && features.empty())
    features = hostFeatures();
  if (triple.isAArch64() && cpu.empty())
    cpu = "generic";
  if (triple.getArch() == llvm::Triple::x86_64 && cpu.empty())
    cpu = "x86-64";

  std::string reason;
  const llvm::Target *backend =
      llvm::TargetRegistry::lookupTarget(triple, reason);
  if (!backend)
    return llvm::createStringError(
        "target '" + request.triple +
        "' is not supported; use native, x86-64-v3, x86-64-v4 or "
        "aarch64-linux-gnu");
  if (!triple.isOSLinux())
    return llvm::createStringError("target '" + request.triple +
                                   "' is not supported: Hone has no runtime "
                                   "for it; use a triple of Linux");
  std::unique_ptr<llvm::MCSubtargetInfo> subtarget(
      backend->createMCSubtargetInfo(triple, "", ""));
  if (!subtarget->isCPUStringValid(cpu))
    return llvm::createStringError("target '" + triple.str() +
                                   "' has no CPU called '" + cpu + "'");
  for (llvm::StringRef feature : llvm::split(request.features, ','))
    if (!feature.empty() &&
        llvm::none_of(subtarget->getAllProcessorFeatures(),
                      [&](const llvm::SubtargetFeatureKV &known) {
                        return feature.ltrim("+-") == known.Key;
                      }))
      return llvm::createStringError("target '" + triple.str() +
                                     "' has no feature called '" +
                                     feature.str() + "'");
  std::unique_ptr<llvm::TargetMachine> machine(backend->createTargetMachine(
      triple, cpu, features, llvm::TargetOptions(), llvm::Reloc::PIC_,
      /*CM=*/std::nullopt, llvm::CodeGenOptLevel::Aggressive));
  return std::make_unique<CpuTarget>(std::move(machine));
}
