//===- HostTarget.cpp - Objects and programs for an operating system ------===//
//
// The target machine is given to the optimiser as well as to the code
// generator: without it the optimiser would assume 128-bit vectors.
//
//===----------------------------------------------------------------------===//

#include "targets/host/HostTarget.h"

#include "dialects/Tile/TileDialect.h"
#include "runtime/src/base/Process.h"
#include "targets/host/EmitModule.h"
#include "targets/host/LinkBinary.h"
#include "targets/host/NewFile.h"

#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Target/LLVMIR/Dialect/All.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/TargetParser/Host.h"

using namespace mlir;
using namespace hone;

HostTarget::HostTarget(std::unique_ptr<llvm::TargetMachine> machine)
    : machine(std::move(machine)) {}

HostTarget::~HostTarget() = default;

void HostTarget::buildLlvmPipeline(OpPassManager &pm) {
  // Each loop splits the block of its entry. A record of the moves, for a
  // rollback, grows with the square of the number of layers.
  pm.addPass(createSCFToControlFlowPass({.allowPatternRollback = false}));
  pm.addPass(createConvertToLLVM());
  // From here on a step may stop between any two launches.
  pm.addPass(createVerifyLaunches());
}

TargetRequest HostTarget::request() const {
  return {machine->getTargetTriple().str(), machine->getTargetCPU().str(),
          machine->getTargetFeatureString().str()};
}

std::string HostTarget::toolchain() const {
  StringRef triple = machine->getTargetTriple().str();
  return isHostTriple(triple) ? "" : toolchainTriple(triple);
}

std::vector<std::string> HostTarget::features() const {
  std::vector<std::string> names;
  for (const llvm::SubtargetFeatureKV &feature :
       machine->getMCSubtargetInfo()->getEnabledProcessorFeatures())
    names.push_back(feature.Key);
  return names; // LLVM's tables are sorted
}

bool HostTarget::hasFeature(StringRef feature) const {
  return machine->getMCSubtargetInfo()->checkFeatures(("+" + feature).str());
}

llvm::Triple::ArchType HostTarget::architecture() const {
  return machine->getTargetTriple().getArch();
}

bool HostTarget::hasSharedLibraries() const {
  return !needsZig(machine->getTargetTriple().str());
}

llvm::Error HostTarget::link(const LinkRequest &request) const {
  return linkBinary(request, machine->getTargetTriple().str());
}

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
  auto cannot = [&](std::error_code why) {
    return llvm::createStringError(why, "cannot write '" + path +
                                            "': " + why.message());
  };
  llvm::Expected<std::string> created = createNewFile((path + ".").str());
  if (!created)
    return cannot(llvm::errorToErrorCode(created.takeError()));
  rt::TemporaryFile file(*created);
  std::error_code error;
  llvm::raw_fd_ostream out(file.path, error);
  if (error)
    return cannot(error);
  llvm::Error failed = write(out);
  out.close();
  error = out.error();
  out.clear_error(); // which would end the process as a bug
  if (failed)
    return failed;
  if (!error)
    error = llvm::sys::fs::rename(file.path, path);
  return error ? cannot(error) : llvm::Error::success();
}

llvm::Error HostTarget::writeText(llvm::StringRef text, llvm::StringRef path) {
  return writeWhole(path, [&](llvm::raw_pwrite_stream &out) {
    out << text;
    return llvm::Error::success();
  });
}

/// Describes the kernels and entries, from attributes that lowering has left.
static void describeKernels(ModuleOp module, ModuleDescription &description) {
  if (auto kernels =
          module->getAttrOfType<ArrayAttr>(tile::TileDialect::kKernelsAttrName))
    for (auto kernel : kernels.getAsRange<tile::KernelAttr>()) {
      KernelDescription &described = description.kernels.emplace_back();
      bool isTask = kernel.getThreads() == 0;
      (isTask ? described.task : described.symbol) = kernel.getSymbol().str();
      described.block = kernel.getBlock().str();
      described.name = kernel.getKernelName().str();
      described.threads = kernel.getThreads();
      described.sharedBytes = kernel.getSharedBytes();
      for (tile::FieldAttr field : kernel.getFields())
        described.fields.push_back(
            {field.getOffset(), field.getBytes(), uint32_t(field.getAccess())});
    }
  SymbolTable symbols(module);
  for (ScheduleDescription &schedule : description.schedules)
    for (ItemDescription &item : schedule.items) {
      if (item.kind != HONE_RUN)
        continue;
      item.sides.resize(item.values.size());
      for (const std::string &symbol : {item.run, item.otherwise}) {
        Operation *entry = symbol.empty() ? nullptr : symbols.lookup(symbol);
        auto sides = entry ? entry->getAttrOfType<DenseI8ArrayAttr>(
                                 tile::TileDialect::kSidesAttrName)
                           : nullptr;
        if (!sides)
          continue;
        size_t known = std::min<size_t>(sides.size(), item.sides.size());
        for (size_t i = 0; i < known; ++i)
          item.sides[i] |= uint8_t(sides[i]);
      }
    }
}

llvm::Expected<std::unique_ptr<llvm::Module>>
HostTarget::translate(ModuleOp module, llvm::LLVMContext &context,
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
  describeKernels(module, description);
  if (llvm::Error error = emitModuleTables(*translated, description))
    return error;
  sealModule(*translated,
             (machine->getTargetCPU() + " " + machine->getTargetFeatureString())
                 .str());
  return translated;
}

/// LLVM's passes at O3 take twice the time, much of it for choices that this
/// code has made before: inlining, and which loops are vectors or unrolled.
/// Unrolled further, the loops of products need more addresses than there are
/// integer registers.
static constexpr llvm::StringLiteral kPasses =
    "function(sroa,early-cse),mergefunc,ipsccp,globalopt,"
    "cgscc(inline,function(simplifycfg,instcombine<no-verify-fixpoint>,"
    "loop-mssa(licm,loop-rotate,licm),loop(loop-idiom,indvars,loop-deletion),"
    "gvn,instcombine<no-verify-fixpoint>,simplifycfg)),deadargelim,globaldce";

/// After them, for loops that are not vectors yet.
static constexpr llvm::StringLiteral kVectorizingPasses =
    "function(loop-vectorize,instcombine<no-verify-fixpoint>,loop-mssa(licm),"
    "simplifycfg)";

void HostTarget::optimize(llvm::Module &module) const {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager callGraph;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder(machine.get());
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(callGraph);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, callGraph, modules);
  llvm::ModulePassManager passes;
  llvm::cantFail(builder.parsePassPipeline(passes, kPasses));
  if (vectorizes())
    llvm::cantFail(builder.parsePassPipeline(passes, kVectorizingPasses));
  passes.run(module, modules);
}

llvm::Error HostTarget::write(llvm::Module &module, EmitKind kind,
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

llvm::Error HostTarget::emit(ModuleOp module,
                             const ModuleDescription &description,
                             EmitKind kind, StringRef path) const {
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
// Machines
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

/// Architectures that runtimes are made for, with pointers of 64 bits.
static bool isKnownArchitecture(const llvm::Triple &triple) {
  return (triple.getArch() == llvm::Triple::x86_64 && !triple.isX32()) ||
         (triple.getArch() == llvm::Triple::aarch64 &&
          triple.getEnvironment() != llvm::Triple::GNUILP32);
}

static bool isKnownSystem(const llvm::Triple &triple) {
  return triple.isOSLinux() || (triple.isMacOSX() && triple.isAArch64());
}

/// The feature that `subtarget` lacks for its system's calling convention, or
/// has against it; empty: none. LLVM would end the process for it.
static std::string brokenAbi(const llvm::Triple &triple,
                             const llvm::MCSubtargetInfo &subtarget) {
  auto has = [&](llvm::StringRef feature) {
    return subtarget.checkFeatures(("+" + feature).str());
  };
  if (triple.isAArch64())
    return !has("fp-armv8") ? "lacks fp-armv8"
           : !has("neon")   ? "lacks neon"
                            : "";
  for (llvm::StringRef needed : {"64bit", "cx8", "fxsr", "sse2", "x87"})
    if (!has(needed))
      return ("lacks " + needed).str();
  return has("soft-float") ? "has soft-float" : "";
}

llvm::Expected<std::unique_ptr<llvm::TargetMachine>>
hone::createHostMachine(const TargetRequest &request) {
  initializeCodeGenerators();
  bool native = request.triple == "native" || request.triple.empty();
  llvm::Triple triple(llvm::Triple::normalize(
      native ? llvm::sys::getDefaultTargetTriple() : request.triple));
  std::string cpu = request.cpu, features = request.features;
  if (native && cpu.empty())
    cpu = llvm::sys::getHostCPUName().str();
  // Given features add to this machine's, and take from them.
  if (native)
    features = hostFeatures() + (features.empty() ? "" : "," + features);
  if (triple.isAArch64() && cpu.empty())
    cpu = triple.isMacOSX() ? "apple-m1" : "generic"; // common to all of them
  if (triple.getArch() == llvm::Triple::x86_64 && cpu.empty())
    cpu = "x86-64";

  std::string reason;
  const llvm::Target *backend =
      llvm::TargetRegistry::lookupTarget(triple, reason);
  if (!backend || !isKnownArchitecture(triple))
    return nullptr;
  if (!isKnownSystem(triple))
    return llvm::createStringError(
        "target '" + request.triple +
        "' is not supported: Hone has no runtime for it; use a triple of "
        "Linux, or arm64-apple-macosx");
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
    else if (!feature.empty() && feature[0] != '+' && feature[0] != '-')
      return llvm::createStringError("expected '+" + feature.str() + "' or '-" +
                                     feature.str() + "' but found no sign");
  subtarget.reset(backend->createMCSubtargetInfo(triple, cpu, features));
  if (std::string wrong = brokenAbi(triple, *subtarget); !wrong.empty())
    return llvm::createStringError("target '" + triple.str() + "' " + wrong +
                                   ", which its programs cannot do without");
  return std::unique_ptr<llvm::TargetMachine>(backend->createTargetMachine(
      triple, cpu, features, llvm::TargetOptions(), llvm::Reloc::PIC_,
      /*CM=*/std::nullopt, llvm::CodeGenOptLevel::Aggressive));
}
