//===- Compile.cpp - From a spec to a training binary ---------------------===//
//
// compile() at the end reads as the table of contents: each stage is a function
// of what the stages before it returned. The plan and the description are taken
// from the placed module: lowering erases what they read.
//
//===----------------------------------------------------------------------===//

#include "compiler/driver/Compile.h"
#include "base/OutputFile.h"
#include "compiler/driver/PassRun.h"
#include "compiler/driver/PhaseTimes.h"
#include "compiler/driver/PlanStep.h"
#include "compiler/driver/Registration.h"
#include "compiler/driver/SettledSpec.h"
#include "compiler/emit/ModelLibrary.h"
#include "compiler/emit/ModuleSummary.h"
#include "compiler/emit/ProgramFolder.h"
#include "compiler/emit/RuntimeArchives.h"
#include "compiler/import/ModelImport.h"
#include "compiler/import/Regularization.h"
#include "compiler/import/StorageAssignment.h"
#include "compiler/rules/ModelRules.h"
#include "compiler/rules/RequestRules.h"
#include "compiler/selfcheck/CheckModel.h"
#include "compiler/selfcheck/SelfCheck.h"
#include "compiler/weights/ModelBlocks.h"
#include "compiler/weights/ModelSources.h"
#include "compiler/weights/WeightManifest.h"
#include "dialects/Tile/TileDialect.h"
#include "module/Module.h"
#include "passes/methods/Methods.h"
#include "passes/methods/StepSettings.h"
#include "passes/module/Layers.h"
#include "passes/parts/ModuleCuts.h"
#include "passes/plan/CostEstimate.h"
#include "passes/plan/RowTiling.h"
#include "passes/plan/StepFloor.h"
#include "targets/host/LinkBinary.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/raw_ostream.h"

#include <limits>
#include <set>

using namespace hone;
using namespace mlir;

/// A program has placements for all of its rows, 1/2, 1/4 and 1/8 of them.
static constexpr int64_t placementHalvings = 3;

static DialectRegistry dialects() {
  DialectRegistry registry;
  registerDialects(registry);
  return registry;
}

namespace {

/// The exchanges that were verified, by all that decides them. A seam is over
/// all programs at once, so those that are derived alike need it once.
using Seams = std::set<std::string>;

/// What all stages of one run of the compiler share.
struct Session {
  Session(const CompileRequest &request, Seams &seams)
      : request(request), seams(seams), context(dialects()),
        diagnostics(sources, &context) {
    times.begin("import");
    context.loadAllAvailableDialects();
    context.printOpOnDiagnostic(false);
  }
  ~Session() {
    if (request.timing)
      llvm::errs() << times.finish();
  }

  const CompileRequest &request;
  Seams &seams;
  PhaseTimes times;
  MLIRContext context;
  llvm::SourceMgr sources; ///< so that diagnostics show lines of an .mlir file
  SourceMgrDiagnosticHandler diagnostics;
};

/// A model and its loss, after phase Import.
struct Imported {
  Spec spec; ///< with what the model decided
  ModelIdentity identity;
  OwningOpRef<ModuleOp> module;
  std::optional<WeightIndex> tensors; ///< if they were to be found
};

/// What the passes from phase Derive on do.
struct Planned {
  Program program;
  Spec spec; ///< with what the plan decided
  std::optional<PlannedStep> step;
};

/// After phase Derive.
struct Derived {
  OwningOpRef<ModuleOp> module;
  std::string rounding; ///< describeRounding
};

/// After phase Place.
struct Placed {
  OwningOpRef<ModuleOp> module;
  ParameterTable parameters;
  MemoryPlan plan;
  ModuleDescription description;
};

/// A program of the request, before it is lowered and after that.
struct Compiled {
  SettledSpec settled;
  ModelIdentity identity;
  Planned planned;
  std::string rounding;
  Placed placed;
  std::optional<WeightIndex> tensors;
};

} // namespace

//===----------------------------------------------------------------------===//
// Phases
//===----------------------------------------------------------------------===//

/// Text to a file, whole or not at all, or to standard output.
static Status writeText(const std::string &output,
                        llvm::function_ref<void(llvm::raw_ostream &)> print) {
  if (output.empty() || output == "-") {
    print(llvm::outs());
    return Status::ok();
  }
  std::string text;
  llvm::raw_string_ostream stream(text);
  print(stream);
  return rt::writeFile(output, text);
}

static Status writeModule(const std::string &output, ModuleOp module) {
  return writeText(output,
                   [&](llvm::raw_ostream &out) { out << *module << "\n"; });
}

static Status bug(const std::string &phase, const std::string &problem) {
  return Status(ErrorCode::Bug, phase, problem,
                "please report this with the spec");
}

static void setOptions(StepOptions &options, const CompileRequest &request,
                       const Planned &planned) {
  const Spec &spec = planned.spec;
  if (planned.program == Program::Generate) {
    options.generationRows = spec.generate.prompt_rows;
    options.generationPositions = spec.generate.max_length;
    options.streamWeights = spec.weights.streaming == "true";
    return;
  }
  options.residuals = spec.train.residuals;
  options.streamWeights = spec.weights.streaming == "true";
  options.accumulates = spec.train.gradient_accumulation_steps > 1;
  options.halvings = placementHalvings;
  if (spec.train.activation_offloading == "true")
    options.offloadedInputs = std::numeric_limits<int64_t>::max();
  if (planned.step)
    applyPlan(*planned.step, options);
  (void)options.parseFromString(
      request.stepOptions); // which says what is wrong
}

/// What decides what crosses between programs: not the program itself, nor
/// tiles.
static std::string seamOf(const StepOptions &options, const Planned &planned) {
  StepOptions own;
  own.copyOptionValuesFrom(options);
  own.part = "";
  own.tileRows = own.forwardTileRows = 0;
  std::string text = planned.spec.train.selection_ratio.text();
  llvm::raw_string_ostream stream(text);
  own.print(stream);
  return text;
}

/// Passes of `phase`, with its dump.
static Status run(Session &session, CompilerPhase phase, ModuleOp module,
                  const Target &target, const Planned &planned) {
  const CompileRequest &request = session.request;
  if (phase != CompilerPhase::Import) // which begins with reading the spec
    session.times.begin(phaseName(phase));
  StepOptions options;
  setOptions(options, request, planned);
  if (phase == CompilerPhase::Derive)
    options.verifiesExchanges =
        session.seams.insert(seamOf(options, planned)).second;
  PassManager pm(&session.context, ModuleOp::getOperationName());
  if (request.timing)
    pm.enableTiming();
  buildPhase(pm, phase, options, &target);
  HONE_TRY(runPasses(pm, module, "phase " + phaseName(phase).str(),
                     !request.stepOptions.empty() ? "--step-options"
                     : planned.spec.isMlir()      ? planned.spec.model.text()
                                                  : ""));
  if (request.dumpDir.empty())
    return Status::ok();

  if (std::error_code error = createFolder(request.dumpDir))
    return Status(ErrorCode::CannotCreate, request.dumpDir,
                  "cannot be created: " + error.message(),
                  "give --dump-dir a folder that you may write to");
  llvm::SmallString<128> path(request.dumpDir);
  llvm::sys::path::append(path, llvm::formatv("{0:d2}-{1}.mlir",
                                              static_cast<int>(phase) + 1,
                                              phaseName(phase)));
  return writeModule(path.str().str(), module);
}

static Result<Imported>
importModel(Session &session, const SettledSpec &settled, Program program) {
  const Spec &spec = settled.spec;
  const CompileRequest &request = session.request;
  const HuggingFaceModel *model = settled.model.get();
  HONE_ASSIGN(ImportedModel read,
              model ? hone::importModel(session.context, *model, spec)
                    : parseModel(session.context, spec));
  ModuleOp module = *read.module;
  const bool trainsAll = read.lora.none;
  if (program == Program::Train)
    HONE_TRY(addRegularization(module, spec, read.lora));
  // Beside a program that trains, text is of the model that its run writes.
  else if (trainsAll && request.programs.size() == 1)
    freeze(module);
  if (spec.roundsProducts())
    module->setAttr(HoneDialect::getRoundedProductsAttrName(),
                    UnitAttr::get(&session.context));
  settled.target->setNumerics(module);
  HONE_ASSIGN(rt::WeightSettings stored, assignStorage(module, spec, model));
  HONE_TRY(checkTables(module, spec,
                       program == Program::Generate
                           ? spec.generate.max_length
                           : spec.train.max_seq_length));

  Imported imported;
  imported.spec = settleModel(spec, std::move(read.lora), std::move(stored));
  imported.identity.name = spec.modelName();
  imported.identity.modelType = model ? model->modelType : "mlir";
  imported.identity.vocabSize = vocabularySize(module);
  imported.identity.stopTokens = settled.stopTokens;
  // Every later phase does work for each layer that config.json names. An .mlir
  // file is trusted.
  if (request.needsWeights() && model) {
    FailureOr<ParameterTable> table = ParameterTable::build(module);
    if (failed(table))
      return bug("import", "the imported module has no parameters");
    HONE_ASSIGN(imported.tensors,
                findTensors(spec, model, table->pretrained()));
  }
  HONE_TRY(run(session, CompilerPhase::Import, module, *settled.target,
               {program, spec, {}}));
  imported.identity.mathematics = describeModel(module);
  imported.module = std::move(read.module);
  return std::move(imported);
}

/// That methods suit the model, and --step-options them.
static Status checkStep(const Session &session, const Imported &imported) {
  HONE_TRY(checkLayers(*imported.module, imported.spec));
  for (const std::string &note : notesOnLayers(*imported.module, imported.spec))
    llvm::errs() << "note: " << note << "\n";
  StepOptions options;
  setOptions(options, session.request, {Program::Train, imported.spec, {}});
  return checkStepOptions(options, imported.spec, *imported.module);
}

/// Checks a small model of the imported one.
static Status selfCheck(Session &session, const Imported &imported,
                        const Target &target) {
  session.times.begin("self-check");
  HONE_ASSIGN(selfcheck::Report report,
              hone::selfCheck(*imported.module, imported.spec, target));
  llvm::outs() << imported.identity.name << " on " << target.describe() << ": "
               << selfcheck::describeModel() << "\n"
               << report.table();
  return report.status(imported.spec.model);
}

/// What `residuals: planned` stands for.
static Result<Planned> plan(Session &session, const SettledSpec &settled,
                            const Imported &imported, Program program) {
  Planned planned{program, imported.spec, {}};
  if (program == Program::Generate)
    return std::move(planned);
  planned.spec =
      settleParts(imported.spec, Layers::of(*imported.module).count());
  if (imported.spec.train.residuals != "planned")
    return std::move(planned);
  session.times.begin("plan");
  StepOptions options;
  setOptions(options, session.request, planned);
  HONE_ASSIGN(planned.step,
              planStep(*imported.module, PlanRequest::of(planned.spec), options,
                       *settled.target, settled.costs,
                       planned.spec.target.threads));
  planned.spec = settlePlan(planned.spec, planned.step->selectionRatio);
  if (session.request.timing)
    llvm::errs() << planned.step->placed << " plans placed, "
                 << planned.step->sized << " sized\n";
  return std::move(planned);
}

static Result<Derived> derive(Session &session, const Target &target,
                              const Planned &planned,
                              OwningOpRef<ModuleOp> module) {
  if (planned.program == Program::Train)
    StepSettings::write(planned.spec, *module);
  HONE_TRY(run(session, CompilerPhase::Derive, *module, target, planned));
  // Of bfloat16 nothing is rounded to be kept, so the plan changes no bit.
  std::string rounding = planned.spec.train.compute_dtype == "bfloat16"
                             ? "bfloat16"
                             : describeRounding(*module);
  return Derived{std::move(module), std::move(rounding)};
}

/// Reads what `placed` says: the parameter table, the plan, the description.
static Result<Placed> describe(const CompileRequest &request,
                               const SettledSpec &settled,
                               const Planned &planned,
                               OwningOpRef<ModuleOp> placed) {
  FailureOr<ParameterTable> table = ParameterTable::build(*placed);
  FailureOr<MemoryPlan> read = MemoryPlan::read(
      *placed, /*threadBytes=*/0, /*tableBytes=*/0, domainOf(*settled.target));
  if (failed(table) || failed(read))
    return bug("phase place", "the placed module has no plan");
  if (planned.program == Program::Train) {
    const bool rounds = planned.spec.roundsProducts();
    read->seconds =
        settled.costs.seconds(read->families, rounds, read->offloaded.perBatch);
    read->profileDigest = settled.costs.digest;
    read->longestLaunch = longestLaunch(*placed, settled.costs, rounds);
    if (request.plan != PlanFormat::None)
      read->kernels = countKernels(*placed);
  }
  if (planned.step) {
    StepOptions options;
    setOptions(options, request, planned);
    // Tiles of sequences may be lower than the height that was tried.
    if (int64_t rows = sequenceTileRows(*placed))
      options.forwardTileRows = rows;
    read->choice = {hasBackward(planned.spec) ? options.residuals
                                              : std::string(),
                    options.recomputedInputs,
                    options.roundedInputs,
                    options.tileRows,
                    options.forwardTileRows,
                    options.streamWeights,
                    planned.step->selectionRatio,
                    planned.step->smallestBytes};
  }
  FailureOr<ModuleDescription> description = describeModule(*placed, *table);
  if (failed(description))
    return bug("phase place", "the placed module lacks a region");
  return Placed{std::move(placed), std::move(*table), std::move(*read),
                std::move(*description)};
}

/// Phase Lower, after which the plan knows the scratch of a thread.
static Status lower(Session &session, Compiled &program) {
  ModuleOp module = *program.placed.module;
  HONE_TRY(run(session, CompilerPhase::Lower, module, *program.settled.target,
               program.planned));
  auto read = [&](llvm::StringRef name, int64_t &bytes) {
    if (auto found = module->getAttrOfType<IntegerAttr>(name))
      bytes = found.getInt();
  };
  MemoryPlan &plan = program.placed.plan;
  read(tile::TileDialect::kThreadBytesAttrName, plan.threadBytes);
  read(tile::TileDialect::kTableBytesAttrName, plan.tableBytes);
  return Status::ok();
}

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

static Status emitFile(Session &session, const Compiled &program,
                       const std::string &sourceHash, EmitKind kind) {
  session.times.begin(phaseName(CompilerPhase::Emit));
  const std::string &output = session.request.output;
  const std::string path = output.empty() ? "-" : output;
  if (llvm::Error error = program.settled.target->emit(
          *program.placed.module, describe(program, sourceHash), kind, path))
    return cannotWrite(path, llvm::toString(std::move(error)));
  return Status::ok();
}

/// What a program writes a model with, if its result is one.
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

static Status emitFolder(Session &session,
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

/// Up to phase Place; nothing if the request ends before.
static Result<std::optional<Compiled>>
compileProgram(Session &session, const Spec &given, Program program) {
  const CompileRequest &request = session.request;
  auto end = [&](ModuleOp module) -> Result<std::optional<Compiled>> {
    HONE_TRY(writeModule(request.output, module));
    return std::optional<Compiled>();
  };
  HONE_ASSIGN(SettledSpec settled, settleSpec(given, program));
  HONE_TRY(checkDevice(request, settled.spec, program, *settled.target));
  HONE_ASSIGN(Imported imported, importModel(session, settled, program));
  if (request.stopAfter == CompilerPhase::Import)
    return end(*imported.module);

  if (program == Program::Train)
    HONE_TRY(checkStep(session, imported));
  if (request.selfCheck) {
    HONE_TRY(selfCheck(session, imported, *settled.target));
    return std::optional<Compiled>();
  }
  HONE_ASSIGN(Planned planned, plan(session, settled, imported, program));
  HONE_ASSIGN(Derived derived, derive(session, *settled.target, planned,
                                      std::move(imported.module)));
  if (request.stopAfter == CompilerPhase::Derive)
    return end(*derived.module);

  HONE_TRY(checkKernels(*derived.module, settled.spec, *settled.target));
  HONE_TRY(run(session, CompilerPhase::Place, *derived.module, *settled.target,
               planned));
  if (request.stopAfter == CompilerPhase::Place)
    return end(*derived.module);
  HONE_ASSIGN(Placed placed,
              describe(request, settled, planned, std::move(derived.module)));
  return std::optional<Compiled>(
      Compiled{std::move(settled), std::move(imported.identity),
               std::move(planned), std::move(derived.rounding),
               std::move(placed), std::move(imported.tensors)});
}

/// All programs of a request, of one model or of one part of it.
static Status compileModel(const CompileRequest &request, const Spec &spec,
                           Seams &seams) {
  Session session(request, seams);
  HONE_TRY(checkInputsStay(request, spec));
  std::vector<Compiled> programs;
  for (Program program : request.programs) {
    HONE_ASSIGN(std::optional<Compiled> compiled,
                compileProgram(session, spec, program));
    if (compiled)
      programs.push_back(std::move(*compiled));
  }
  if (programs.empty())
    return Status::ok();

  // Missing and wrong inputs are reported before the expensive part.
  Compiled &first = programs.front();
  std::vector<std::string> archives;
  ModelSources sources;
  if (request.writesBinary()) {
    HONE_ASSIGN(archives,
                findRuntimeArchives(
                    request.runtimeDir, first.settled.target->toolchain(),
                    request.library  ? RuntimeUse::Library
                    : spec.hasTask() ? RuntimeUse::ProgramWithTasks
                                     : RuntimeUse::Program));
  }
  std::optional<WeightManifest> manifest;
  if (request.manifest) {
    if (spec.lora.none)
      return Status(ErrorCode::OptionsDisagree, "--weights-manifest",
                    "with lora: none the weights say which files the model has",
                    "leave one of both out");
    const HuggingFaceModel *model = first.settled.model.get();
    manifest = describeWeights(first.placed.parameters.loaded(),
                               model ? model->initializerRange : 0.02);
    sources.hash = manifest->sourceHash;
  }
  if (request.needsWeights()) {
    if (!first.tensors) {
      HONE_ASSIGN(first.tensors,
                  findTensors(spec, /*model=*/nullptr,
                              first.placed.parameters.pretrained()));
    }
    HONE_ASSIGN(sources, findSources(std::move(*first.tensors), spec,
                                     first.identity.vocabSize));
    session.times.begin("hash");
    sources.hash = sources.tensors.contentHash();
  }

  for (Compiled &program : programs) {
    HONE_TRY(lower(session, program));
    if (request.planJson && &program == &first)
      *request.planJson =
          program.placed.plan.json(program.planned.spec.target.threads);
    if (request.plan != PlanFormat::None)
      printPlan(request, program);
    if (request.printsPlanOnly())
      continue;
    if (request.stopAfter == CompilerPhase::Lower ||
        request.artifact == Artifact::Mlir)
      HONE_TRY(writeModule(request.output, *program.placed.module));
  }
  if (!request.writesCode())
    return Status::ok();

  switch (request.artifact) {
  case Artifact::Llvm:
    return emitFile(session, first, sources.hash, EmitKind::llvm);
  case Artifact::Assembly:
    return emitFile(session, first, sources.hash, EmitKind::assembly);
  case Artifact::Object:
    return emitFile(session, first, sources.hash, EmitKind::object);
  default:
    HONE_TRY(emitFolder(session, programs, sources, std::move(archives),
                        manifest ? &manifest->json : nullptr));
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
  Session session(quiet, seams);
  Spec whole = spec;
  whole.train.modules = 1;
  whole.train.residuals = "mesp"; // which plans nothing
  HONE_ASSIGN(SettledSpec settled, settleSpec(whole, Program::Train));
  HONE_ASSIGN(Imported imported, importModel(session, settled, Program::Train));
  const Layers layers = Layers::of(*imported.module);
  if (layers.count() < spec.train.modules)
    return Status(
        ErrorCode::BadSpecValue, spec.placeOf(spec.train.modules.key()),
        "expected at most " + std::to_string(layers.count()) +
            ", as the model has layers, but found " + spec.train.modules.text(),
        "lower it");
  HONE_ASSIGN(Derived derived, derive(session, *settled.target,
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

/// What makes each program: its folder, and how the model is cut.
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

/// How the programs are started on machines of one's own.
static std::string launchLine(const std::string &folder,
                              const std::vector<std::string> &names) {
  std::string line = "run: mpirun";
  for (const std::string &name : names)
    line += (name == names.front() ? "" : " :") + (" -np 1 " + folder) + "/" +
            name + "/train --exchange mpi --output run/" + name +
            (name == names.front() ? " --data DATA" : "");
  return line;
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
    spec.train.modules = 1; // what is checked is of the whole model
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
  Session session(request, seams);
  HONE_ASSIGN(std::optional<Compiled> compiled,
              compileProgram(session, spec, Program::Train));
  const Target &target = *compiled->settled.target;
  constexpr const char *remedy =
      "give --target=native: times of another machine come from its profiles";
  // Its code has relocations that a loader for this machine cannot apply.
  if (const std::string why = whyNotHere(target); !why.empty())
    return Status(ErrorCode::OtherProcessor, spec.placeOf("target.triple"),
                  "expected a target that this machine can run, since the "
                  "program's steps run here, but " +
                      target.describe() + " " + why,
                  remedy);
  HONE_TRY(lower(session, *compiled));
  ModuleOp module = *compiled->placed.module;
  emptyTasks(module);
  LoadedProgram loaded;
  loaded.name = spec.program;
  auto made = LoadedModule::load(module, target, describe(*compiled, ""));
  if (!made)
    return Status(ErrorCode::OptionsDisagree, spec.placeOf("target"),
                  llvm::toString(made.takeError()), remedy);
  loaded.module = std::move(*made);
  const bool rounds = compiled->planned.spec.roundsProducts();
  for (const KernelCounts &kernel : compiled->placed.plan.kernels)
    loaded.blockSeconds[kernel.block] +=
        compiled->settled.costs.seconds(kernel.family, kernel.counts, rounds);
  return std::move(loaded);
}

Result<std::vector<LoadedProgram>> hone::loadPrograms(CompileRequest request) {
  // Kernels are counted for a plan, and a plan needs no weights.
  request.plan = PlanFormat::Table;
  request.output.clear();
  HONE_ASSIGN(Spec spec, readSpec(request.specPath, request.overrides));
  HONE_ASSIGN(auto programs, separatePrograms(request, std::move(spec)));
  std::vector<LoadedProgram> loaded;
  Seams seams;
  for (const auto &[own, program] : programs) {
    HONE_ASSIGN(LoadedProgram each, loadProgram(own, program, seams));
    loaded.push_back(std::move(each));
  }
  return std::move(loaded);
}
