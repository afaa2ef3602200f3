//===- honec.cpp - The compiler's command line ----------------------------===//
//
// Flags become a CompileRequest; there is no other logic here.
//
//===----------------------------------------------------------------------===//

#include "compiler/driver/CommandLine.h"
#include "compiler/driver/Compile.h"
#include "compiler/driver/Explanation.h"
#include "compiler/driver/SpecOptions.h"
#include "compiler/emit/RuntimeArchives.h"
#include "compiler/hone/LongSamples.h"
#include "compiler/spec/KeyReference.h"
#include "compiler/spec/Spec.h"

#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/raw_ostream.h"

using namespace hone;
namespace cl = llvm::cl;

namespace {

enum class Emit {
  Mlir,
  Llvm,
  Assembly,
  Object,
  Train,
  Generate,
  Both,
  Library,
  GeneratingLibrary
};

struct Options {
  cl::OptionCategory category{"honec options"};
  cl::opt<std::string> spec{cl::Positional, cl::desc("SPEC.yaml"),
                            cl::cat(category)};
  cl::opt<std::string> output{
      "o", cl::value_desc("path"), cl::cat(category),
      cl::desc("folder for programs and weights.hone.safetensors; a file for "
               "the other kinds of --emit")};
  SpecOptions onSpec{category};
  cl::opt<std::string> memoryBudget{
      "memory-budget", cl::value_desc("size | none"), cl::cat(category),
      cl::desc("short for --set train.residuals=planned and --set "
               "train.memory_budget=...")};
  cl::opt<std::string> residentBudget{
      "resident-budget", cl::value_desc("size | none"), cl::cat(category),
      cl::desc("short for --set train.residuals=planned and --set "
               "train.resident_budget=...")};
  cl::opt<CompilerPhase> stopAfter{
      "stop-after", cl::desc("print the IR after a phase"), cl::cat(category),
      cl::values(
          clEnumValN(CompilerPhase::Import, "import", "the model"),
          clEnumValN(CompilerPhase::Derive, "derive", "the training step"),
          clEnumValN(CompilerPhase::Place, "place",
                     "the step with a place for every buffer"),
          clEnumValN(CompilerPhase::Lower, "lower", "the target's dialect"))};
  cl::opt<Emit> emit{
      "emit", cl::desc("what to write"), cl::cat(category),
      cl::init(Emit::Train),
      cl::values(clEnumValN(Emit::Mlir, "mlir", "MLIR after lowering"),
                 clEnumValN(Emit::Llvm, "llvm", "LLVM IR"),
                 clEnumValN(Emit::Assembly, "asm", "assembly"),
                 clEnumValN(Emit::Object, "object", "an object file"),
                 clEnumValN(Emit::Train, "train",
                            "the program that trains, and weights"),
                 clEnumValN(Emit::Train, "binary", "the same"),
                 clEnumValN(Emit::Generate, "generate",
                            "the program that generates text, and weights"),
                 clEnumValN(Emit::Both, "train,generate", "both"),
                 clEnumValN(Emit::Library, "library",
                            "a library that trains, for programs that call "
                            "hone.h, and weights"),
                 clEnumValN(Emit::GeneratingLibrary, "library,generate",
                            "one that also generates text"))};
  cl::opt<PlanFormat> plan{
      "print-plan",
      cl::desc("print the memory plan; without -o, do nothing else"),
      cl::ValueOptional,
      cl::cat(category),
      cl::init(PlanFormat::None),
      cl::values(clEnumValN(PlanFormat::Table, "", "for a person"),
                 clEnumValN(PlanFormat::Json, "json", "for a program"))};
  cl::opt<std::string> data{
      "data", cl::value_desc("file"), cl::cat(category),
      cl::desc("before compiling, print how many samples of this data are "
               "longer than train.max_seq_length")};
  cl::opt<bool> helpSpec{"help-spec", cl::cat(category),
                         cl::desc("list the keys of the spec")};
  cl::opt<std::string> explain{
      "explain", cl::value_desc("code | all"), cl::cat(category),
      cl::desc("explain the code of an error and its remedy")};
  cl::opt<std::string> linker{
      "linker", cl::value_desc("driver"), cl::cat(category),
      cl::desc("compiler driver that links the training binary")};
  cl::opt<std::string> stepOptions{
      "step-options", cl::value_desc("options"), cl::cat(category),
      cl::desc(
          "options of the phases' passes, as hone-opt's pipelines take them"),
      cl::Hidden};
  cl::opt<std::string> runtimeDir{
      "runtime-dir", cl::value_desc("folder"), cl::cat(category),
      cl::desc("folder of libhone_core.a; archives for other machines are in "
               "its folders named after their triples; default: ../lib")};
  cl::opt<bool> selfCheck{
      "self-check", cl::cat(category),
      cl::desc(
          "check the derivatives of the model and its spec on this "
          "machine, within a minute; writes nothing and needs no weights")};
  cl::opt<bool> timing{
      "timing", cl::cat(category),
      cl::desc("report the time of each phase and its passes")};
  cl::opt<bool> reportQuantization{
      "report-quantization", cl::cat(category),
      cl::desc("print the relative error of each quantised tensor")};
  cl::opt<bool> manifest{
      "weights-manifest", cl::cat(category),
      cl::desc("compile from config.json alone, and write "
               "weights.manifest.json in place of the weights")};
  cl::opt<std::string> dumpDir{
      "dump-dir", cl::value_desc("folder"), cl::cat(category),
      cl::desc("write the IR after each phase: 01-import.mlir, ...")};
};

} // namespace

static Status missing(const std::string &what) {
  return Status(ErrorCode::MissingOption, "honec", "expected " + what,
                "write honec SPEC.yaml -o OUTDIR");
}

static Artifact artifactOf(Emit emit) {
  switch (emit) {
  case Emit::Mlir:
    return Artifact::Mlir;
  case Emit::Llvm:
    return Artifact::Llvm;
  case Emit::Assembly:
    return Artifact::Assembly;
  case Emit::Object:
    return Artifact::Object;
  default:
    return Artifact::Binary;
  }
}

/// Sets which programs are written, and in which form.
static void setEmission(CompileRequest &request, Emit emit) {
  request.artifact = artifactOf(emit);
  request.library = emit == Emit::Library || emit == Emit::GeneratingLibrary;
  if (emit == Emit::Generate)
    request.programs = {Program::Generate};
  if (emit == Emit::Both || emit == Emit::GeneratingLibrary)
    request.programs = {Program::Train, Program::Generate};
}

/// The options that are short for keys of the spec.
static Status addBudgets(CompileRequest &request, const Options &options) {
  const bool hasMemory = options.memoryBudget.getNumOccurrences() > 0,
             hasResident = options.residentBudget.getNumOccurrences() > 0;
  if (!hasMemory && !hasResident)
    return Status::ok();
  const std::string planned = "train.residuals=planned";
  for (const std::string &set : options.onSpec.set)
    if (llvm::StringRef(set).starts_with("train.residuals=") && set != planned)
      return Status(ErrorCode::OptionsDisagree, "--set " + set,
                    "only residuals planned has a budget",
                    "leave out one of the two");
  if (!llvm::is_contained(options.onSpec.set, planned))
    request.overrides.emplace_back(planned);
  if (hasMemory)
    request.overrides.emplace_back("train.memory_budget", "--memory-budget",
                                   options.memoryBudget);
  if (hasResident)
    request.overrides.emplace_back("train.resident_budget", "--resident-budget",
                                   options.residentBudget);
  return Status::ok();
}

static Result<CompileRequest> requestOf(const Options &options,
                                        const char *program) {
  CompileRequest request;
  request.specPath = options.spec;
  request.overrides = options.onSpec.overrides();
  HONE_TRY(addBudgets(request, options));
  request.output = options.output;
  if (options.stopAfter.getNumOccurrences())
    request.stopAfter = options.stopAfter;
  setEmission(request, options.emit);
  request.plan = options.plan;
  request.linker = options.linker;
  request.stepOptions = options.stepOptions;
  request.runtimeDir = options.runtimeDir;
  if (request.runtimeDir.empty())
    request.runtimeDir = runtimeFolderOf(llvm::sys::fs::getMainExecutable(
        program, reinterpret_cast<void *>(artifactOf)));
  request.dumpDir = options.dumpDir;
  request.selfCheck = options.selfCheck;
  request.timing = options.timing;
  request.quantization = options.reportQuantization;
  request.manifest = options.manifest;
  return request;
}

static Status run(const Options &options, const char *program) {
  HONE_ASSIGN(const CompileRequest request, requestOf(options, program));
  if (request.writesBinary() && request.output.empty())
    return missing("-o OUTDIR");
  if (!options.data.empty())
    HONE_TRY(sayLongSamples(request.specPath, request.overrides,
                            {"", /*skipUnusable=*/true}, options.data));
  return compile(request);
}

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  beginTool();
  Options options;
  cl::HideUnrelatedOptions(options.category);
  if (Status status = parseCommandLine(
          argc, argv, "Compiles a model and a spec into a training binary\n");
      !status.isOk())
    return reportStatus(status);
  if (options.helpSpec) {
    llvm::outs() << describeSpecKeys();
    return 0;
  }
  if (options.explain.getNumOccurrences()) {
    Result<std::string> text = explain(options.explain);
    llvm::outs() << text.value();
    return reportStatus(text.status());
  }
  return reportStatus(options.spec.empty() ? missing("a spec file")
                                           : run(options, argv[0]));
}
