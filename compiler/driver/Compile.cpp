//===- Compile.cpp - From a spec to a training binary ---------------------===//
//
// compile() at the end reads as the table of contents: the programs, the phases
// of each (CompilePhases.h), and the files that are written.
//
//===----------------------------------------------------------------------===//

#include "compiler/driver/Compile.h"

#include "compiler/driver/CompilePhases.h"
#include "compiler/emit/ModelLibrary.h"
#include "compiler/emit/ProgramFolder.h"
#include "compiler/emit/RuntimeArchives.h"
#include "compiler/rules/RequestRules.h"
#include "compiler/weights/ModelBlocks.h"
#include "compiler/weights/ModelSources.h"
#include "compiler/weights/WeightManifest.h"
#include "module/Module.h"
#include "passes/methods/StepSettings.h"
#include "passes/module/Layers.h"
#include "passes/parts/ModuleCuts.h"
#include "passes/plan/CostEstimate.h"
#include "passes/plan/StepFloor.h"
#include "targets/host/LinkBinary.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace hone;
using namespace mlir;

//===----------------------------------------------------------------------===//
// Output
//===----------------------------------------------------------------------===//

static void printPlan(const CompileRequest &request, const Compiled &program) {
  const MemoryPlan &plan = program.placed.plan;
  int64_t threads = program.planned.spec.target.threads;
  llvm::outs() << (request.plan == PlanFormat::Json ? plan.json(threads) + "\n"
                                                    : plan.table(threads));
  const Spec &spec = program.planned.spec;
  if (request.plan == PlanFormat::Table && !spec.target.profile.empty())
    llvm::outs() << StepFloor::of(plan.kernels, program.settled.costs,
                                  spec.roundsProducts())
                        .table();
}

/// All that `program` says of itself, but for its weights file.
static ModuleDescription describe(const Compiled &program,
                                  const std::string &sourceHash) {
  const Placed &placed = program.placed;
  ModuleDescription description = placed.description;
  description.config = moduleConfigJson(
      settleProgram(program.planned.spec, *program.settled.target,
                    program.rounding),
      program.identity, placed.parameters, placed.plan, sourceHash);
  description.threadBytes = placed.plan.threadBytes;
  return description;
}

static Status emitFile(CompileSession &session, const Compiled &program,
                       const std::string &sourceHash, EmitKind kind) {
  session.times.begin(phaseName(CompilerPhase::Emit));
  const std::string &output = session.request.output;
  const std::string path = output.empty() ? "-" : output;
  if (llvm::Error error = program.settled.target->emit(
          *program.placed.module, describe(program, sourceHash), kind, path))
    return cannotWrite(path, llvm::toString(std::move(error)));
  return Status::ok();
}

/// The blocks from which a program writes its result, if that is a model.
static Result<std::vector<WeightBlock>>
modelBlocks(const Compiled &program, const WeightIndex &tensors) {
  const Spec &spec = program.planned.spec;
  if (!spec.lora.none || program.planned.program == Program::Generate)
    return std::vector<WeightBlock>();
  const ParameterTable &parameters = program.placed.parameters;
  return collectModelBlocks(tensors, parameters.trainable(),
                            spec.isMlir() ? std::string() : spec.model.text(),
                            parameters.thetaElement());
}

static Status emitFolder(CompileSession &session,
                         const std::vector<Compiled> &programs,
                         const ModelSources &sources,
                         std::vector<std::string> archives,
                         const std::string *manifest) {
  const CompileRequest &request = session.request;
  const Compiled &first = programs.front();
  const std::vector<Parameter> loaded = first.placed.parameters.loaded();
  HONE_ASSIGN(std::vector<WeightBlock> blocks,
              modelBlocks(first, sources.tensors));
  ProgramFolder folder{request.output,
                       {},
                       {loaded, sources.tokenizer, sources.chat, sources.hash,
                        std::move(blocks)},
                       sources.tensors,
                       *first.settled.target,
                       std::move(archives),
                       request.linker,
                       request.quantization,
                       manifest,
                       request.library};
  if (!first.planned.spec.program.empty() ||
      first.planned.spec.train.data_parallel)
    folder.engines =
        findEngines(request.runtimeDir, first.settled.target->toolchain());
  for (const Compiled &program : programs)
    folder.programs.push_back({nameOf(program.planned.program),
                               *program.placed.module,
                               describe(program, sources.hash)});
  return writeFolder(std::move(folder), session.times);
}

/// Why this machine cannot run programs for `target`; empty: it can.
static std::string whyNotHere(const Target &target) {
  if (std::string other = target.toolchain();
      !other.empty() && !runsHere(other))
    return "is for " + other;
  if (std::string missing = rt::missingCpuFeature(target.features());
      !missing.empty())
    return "needs a CPU with " + missing;
  return "";
}

/// Says that the programs will not start on this machine, if so.
static void noteOtherMachine(const CompileRequest &request,
                             const Target &target) {
  const std::string why = whyNotHere(target);
  if (why.empty())
    return;
  std::vector<std::string> files;
  for (Program program : request.programs)
    files.push_back(request.programPath(program));
  if (request.library)
    files = {request.output + "/" +
             ModelLibrary::inFolder(request.output).archive()};
  for (const std::string &file : files)
    llvm::errs() << "note: " << file << " " << why
                 << "; copy its folder to such a machine: this one cannot run "
                    "it\n";
}

//===----------------------------------------------------------------------===//
// The stages in order
//===----------------------------------------------------------------------===//

namespace {
/// The inputs of a model's programs beside its IR.
struct ModelInputs {
  std::vector<std::string> archives; ///< to link with
  ModelSources sources;
  std::optional<WeightManifest> manifest; ///< in place of weights
};
} // namespace

static Result<WeightManifest> describeManifest(const Spec &spec,
                                               const Compiled &program) {
  if (spec.lora.none)
    return Status(ErrorCode::OptionsDisagree, "--weights-manifest",
                  "with lora: none the weights say which files the model has",
                  "leave one of both out");
  const HuggingFaceModel *model = program.settled.model.get();
  return describeWeights(program.placed.parameters.loaded(),
                         model ? model->initializerRange : 0.02);
}

/// Missing and wrong inputs are reported before the expensive part.
static Result<ModelInputs> findInputs(CompileSession &session, const Spec &spec,
                                      Compiled &first) {
  const CompileRequest &request = session.request;
  ModelInputs inputs;
  if (request.writesBinary()) {
    HONE_ASSIGN(inputs.archives,
                findRuntimeArchives(
                    request.runtimeDir, first.settled.target->toolchain(),
                    request.library  ? RuntimeUse::Library
                    : spec.hasTask() ? RuntimeUse::ProgramWithTasks
                                     : RuntimeUse::Program));
  }
  if (request.manifest) {
    HONE_ASSIGN(inputs.manifest, describeManifest(spec, first));
    inputs.sources.hash = inputs.manifest->sourceHash;
  }
  if (request.needsWeights()) {
    if (!first.tensors) {
      HONE_ASSIGN(first.tensors,
                  findTensors(spec, /*model=*/nullptr,
                              first.placed.parameters.pretrained()));
    }
    HONE_ASSIGN(inputs.sources, findSources(std::move(*first.tensors), spec,
                                            first.identity.vocabSize));
    session.times.begin("hash");
    inputs.sources.hash = inputs.sources.tensors.contentHash();
  }
  return inputs;
}

/// Lowers `program`, and prints its plan or IR if asked to.
static Status lowerAndPrint(CompileSession &session, Compiled &program) {
  const CompileRequest &request = session.request;
  HONE_TRY(lowerProgram(session, program));
  if (request.plan != PlanFormat::None)
    printPlan(request, program);
  if (!request.printsPlanOnly() && (request.stopAfter == CompilerPhase::Lower ||
                                    request.artifact == Artifact::Mlir))
    return writeModule(request.output, *program.placed.module);
  return Status::ok();
}

/// All programs of a request, of one model or of one part of it.
static Status compileModel(const CompileRequest &request, const Spec &spec,
                           Seams &seams) {
  CompileSession session(request, seams);
  HONE_TRY(checkInputsStay(request, spec));
  std::vector<Compiled> programs;
  for (Program program : request.programs) {
    HONE_ASSIGN(std::optional<Compiled> compiled,
                placeProgram(session, spec, program));
    if (compiled)
      programs.push_back(std::move(*compiled));
  }
  if (programs.empty())
    return Status::ok();
  Compiled &first = programs.front();
  HONE_ASSIGN(ModelInputs inputs, findInputs(session, spec, first));
  for (Compiled &program : programs)
    HONE_TRY(lowerAndPrint(session, program));
  if (request.planJson)
    *request.planJson =
        first.placed.plan.json(first.planned.spec.target.threads);
  if (!request.writesCode())
    return Status::ok();

  const std::string &hash = inputs.sources.hash;
  switch (request.artifact) {
  case Artifact::Llvm:
    return emitFile(session, first, hash, EmitKind::llvm);
  case Artifact::Assembly:
    return emitFile(session, first, hash, EmitKind::assembly);
  case Artifact::Object:
    return emitFile(session, first, hash, EmitKind::object);
  default:
    HONE_TRY(emitFolder(session, programs, inputs.sources,
                        std::move(inputs.archives),
                        inputs.manifest ? &inputs.manifest->json : nullptr));
    noteOtherMachine(request, *first.settled.target);
    return Status::ok();
  }
}

/// Where the model is cut into the modules of `spec`, by the estimated time of
/// a derivative.
static Result<std::vector<std::string>>
cutModules(const CompileRequest &request, const Spec &spec) {
  CompileRequest quiet = request;
  quiet.timing = false;
  Seams seams;
  CompileSession session(quiet, seams);
  Spec whole = spec;
  whole.train.modules = 1;
  whole.train.residuals = "mesp"; // which plans nothing
  HONE_ASSIGN(SettledSpec settled, settleSpec(whole, Program::Train));
  HONE_ASSIGN(Imported imported,
              importProgram(session, settled, Program::Train));
  const Layers layers = Layers::of(*imported.module);
  if (layers.count() < spec.train.modules)
    return Status(
        ErrorCode::BadSpecValue, spec.placeOf(spec.train.modules.key()),
        "expected at most " + std::to_string(layers.count()) +
            ", as the model has layers, but found " + spec.train.modules.text(),
        "lower it");
  HONE_ASSIGN(Derived derived,
              deriveProgram(session, *settled.target,
                            {Program::Train, imported.spec, {}},
                            std::move(imported.module)));
  std::vector<double> seconds;
  for (const FamilyCounts &layer : countLayers(*derived.module, layers))
    seconds.push_back(
        settled.costs.seconds(layer, imported.spec.roundsProducts()));
  std::vector<std::string> cuts;
  for (int64_t below : cutEvenly(seconds, size_t(spec.train.modules)))
    cuts.push_back(std::to_string(below));
  return cuts;
}

/// Where the programs of `spec` are cut from each other.
static std::vector<std::string> endsOf(const Spec &spec) {
  if (!spec.hasParts())
    return spec.train.module_cuts;
  std::vector<std::string> ends;
  for (int64_t below : cutsOf(spec))
    ends.push_back(std::to_string(below));
  return ends;
}

/// A request for each program: its folder, and how the model is cut.
static std::vector<CompileRequest>
requestsOfPrograms(const CompileRequest &request, const Spec &spec) {
  std::vector<CompileRequest> parts;
  const std::vector<std::string> names = spec.programs();
  const std::string cut = "split-after=" + llvm::join(endsOf(spec), ",") +
                          " parts=" + llvm::join(names, ",");
  for (const std::string &name : names) {
    CompileRequest own = request;
    if (request.writesBinary())
      own.output += "/" + name;
    own.stepOptions = cut + " part=" + name +
                      " exchange-dtype=" + spec.exchange.dtype +
                      " in-flight=" + spec.exchange.in_flight.text();
    parts.push_back(std::move(own));
  }
  return parts;
}

/// `word` as a shell reads it back.
static std::string inShell(llvm::StringRef word) {
  if (word.find_first_of(" \t\n'\"\\$`;&|<>()[]{}*?!#~") ==
      llvm::StringRef::npos)
    return word.str();
  std::string out = "'";
  for (char c : word)
    out += c == '\'' ? "'\\''" : std::string(1, c);
  return out + "'";
}

/// The program in `folder` as the word of a command that has options.
static std::string programInShell(const std::string &folder) {
  const char *here = llvm::StringRef(folder).starts_with("-") ? "./" : "";
  return inShell(here + folder + "/train");
}

/// How the programs are started on machines of one's own.
static std::string launchLine(const std::string &folder,
                              const std::vector<std::string> &names) {
  std::string line = "run: mpirun";
  for (const std::string &name : names)
    line += std::string(name == names.front() ? "" : " :") + " -np 1 " +
            programInShell(folder + "/" + name) +
            " --exchange mpi --output run/" + name +
            (name == names.front() ? " --data DATA" : "");
  return line;
}

/// A program with a target of its own takes only `threads` of the spec's
/// `target`.
static void takeOwnTarget(Spec &program) {
  const rt::PartSettings *part = program.ownTarget();
  if (!part)
    return;
  rt::TargetSettings own;
  own.triple = part->target.text();
  own.threads = int64_t(program.target.threads);
  program.target = own;
}

/// The programs of `spec`, each with its own request: one of the whole model,
/// or those of its parts.
static Result<std::vector<std::pair<CompileRequest, Spec>>>
separatePrograms(const CompileRequest &request, Spec spec) {
  std::vector<std::pair<CompileRequest, Spec>> programs;
  if (!spec.hasPrograms() || request.selfCheck) {
    programs.emplace_back(request, std::move(spec));
    return std::move(programs);
  }
  HONE_TRY(checkPrograms(request, spec));
  if (spec.train.modules > 1 && spec.train.module_cuts.empty()) {
    HONE_ASSIGN(std::vector<std::string> cuts, cutModules(request, spec));
    spec.train.module_cuts = std::move(cuts);
  }
  for (auto [name, own] :
       llvm::zip_equal(spec.programs(), requestsOfPrograms(request, spec))) {
    Spec program = spec;
    program.program = name;
    takeOwnTarget(program);
    // Before another one is compiled and written.
    HONE_TRY(checkTarget(program));
    programs.emplace_back(std::move(own), std::move(program));
  }
  return std::move(programs);
}

Status hone::compile(const CompileRequest &request) {
  HONE_TRY(checkRequest(request));
  HONE_TRY(checkOutput(request));
  HONE_ASSIGN(Spec spec, readSpec(request.specPath, request.overrides));
  for (const std::string &note : spec.notes)
    llvm::errs() << "note: " << note << "\n";
  if (request.selfCheck)
    spec.train.modules = 1; // the whole model is checked
  const bool isCut = spec.hasPrograms() && !request.selfCheck;
  const bool isPipeline = isCut && spec.train.modules > 1;
  const std::vector<std::string> names = spec.programs();
  HONE_ASSIGN(auto programs, separatePrograms(request, std::move(spec)));
  if (isCut && request.writesBinary())
    if (std::error_code error = createFolder(request.output))
      return cannotWrite(request.output, error.message());
  Seams seams;
  for (const auto &[own, program] : programs)
    HONE_TRY(compileModel(own, program, seams));
  if (isPipeline && request.writesBinary())
    llvm::outs() << launchLine(request.output, names) << "\n";
  return Status::ok();
}

static Result<LoadedProgram> loadProgram(const CompileRequest &request,
                                         const Spec &spec, Seams &seams) {
  CompileSession session(request, seams);
  HONE_ASSIGN(std::optional<Compiled> compiled,
              placeProgram(session, spec, Program::Train));
  const Target &target = *compiled->settled.target;
  const std::string remedy =
      "give " + (spec.ownTarget() ? "--set " + spec.targetKey() : "--target") +
      "=native: times of another machine come from its profiles";
  // Its code has relocations that a loader for this machine cannot apply.
  if (const std::string why = whyNotHere(target); !why.empty())
    return Status(ErrorCode::OtherProcessor, spec.placeOf(spec.targetKey()),
                  "expected a target that this machine can run, since the "
                  "program's steps run here, but " +
                      target.describe() + " " + why,
                  remedy);
  HONE_TRY(lowerProgram(session, *compiled));
  ModuleOp module = *compiled->placed.module;
  emptyTasks(module);
  LoadedProgram loaded;
  loaded.name = spec.program;
  auto made = LoadedModule::load(module, target, describe(*compiled, ""));
  if (!made)
    return cannotLoad(made.takeError(), [&](const std::string &why) {
      return Status(ErrorCode::OptionsDisagree, spec.placeOf(spec.targetKey()),
                    why, remedy);
    });
  loaded.module = std::move(*made);
  const bool rounds = compiled->planned.spec.roundsProducts();
  for (const KernelCounts &kernel : compiled->placed.plan.kernels)
    loaded.blockSeconds[kernel.block] +=
        compiled->settled.costs.seconds(kernel.family, kernel.counts, rounds);
  return std::move(loaded);
}

Result<std::vector<LoadedProgram>> hone::loadPrograms(Spec spec) {
  // Kernels are counted for a plan, and a plan needs no weights.
  CompileRequest request;
  request.plan = PlanFormat::Table;
  HONE_ASSIGN(auto programs, separatePrograms(request, std::move(spec)));
  std::vector<LoadedProgram> loaded;
  Seams seams;
  for (const auto &[own, program] : programs) {
    HONE_ASSIGN(LoadedProgram each, loadProgram(own, program, seams));
    loaded.push_back(std::move(each));
  }
  return std::move(loaded);
}
