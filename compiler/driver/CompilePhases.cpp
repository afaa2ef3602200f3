//===- CompilePhases.cpp - One program through the phases -----------------===//

#include "compiler/driver/CompilePhases.h"

#include "base/OutputFile.h"
#include "compiler/driver/PassRun.h"
#include "compiler/driver/Registration.h"
#include "compiler/emit/ProgramFolder.h"
#include "compiler/import/ModelImport.h"
#include "compiler/import/Regularization.h"
#include "compiler/import/StorageAssignment.h"
#include "compiler/rules/ModelRules.h"
#include "compiler/rules/RequestRules.h"
#include "compiler/selfcheck/CheckModel.h"
#include "compiler/selfcheck/SelfCheck.h"
#include "compiler/weights/ModelSources.h"
#include "passes/methods/Methods.h"
#include "passes/methods/StepSettings.h"
#include "passes/module/Layers.h"
#include "passes/plan/CostEstimate.h"
#include "passes/plan/RowTiling.h"

#include "mlir/Pass/PassManager.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

#include <limits>

using namespace hone;
using namespace mlir;

/// A program has placements for all of its rows, 1/2, 1/4 and 1/8 of them.
static constexpr int64_t placementHalvings = 3;

static DialectRegistry dialects() {
  DialectRegistry registry;
  registerDialects(registry);
  return registry;
}

CompileSession::CompileSession(const CompileRequest &request, Seams &seams)
    : request(request), seams(seams), context(dialects()),
      diagnostics(sources, &context) {
  times.begin("import");
  context.loadAllAvailableDialects();
  context.printOpOnDiagnostic(false);
}

CompileSession::~CompileSession() {
  if (request.timing)
    llvm::errs() << times.finish();
}

Status hone::writeModule(const std::string &output, ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream(text) << *module << "\n";
  if (!output.empty() && output != "-")
    return rt::writeFile(output, text);
  llvm::outs() << text;
  return Status::ok();
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

/// The options that decide which values cross between programs: not the program
/// itself, nor tiles.
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
static Status run(CompileSession &session, CompilerPhase phase, ModuleOp module,
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

Result<Imported> hone::importProgram(CompileSession &session,
                                     const SettledSpec &settled,
                                     Program program) {
  const Spec &spec = settled.spec;
  const CompileRequest &request = session.request;
  const HuggingFaceModel *model = settled.model.get();
  HONE_ASSIGN(ImportedModel read,
              model ? importModel(session.context, *model, spec)
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
static Status checkStep(const CompileSession &session,
                        const Imported &imported) {
  HONE_TRY(checkLayers(*imported.module, imported.spec));
  for (const std::string &note : notesOnLayers(*imported.module, imported.spec))
    llvm::errs() << "note: " << note << "\n";
  StepOptions options;
  setOptions(options, session.request, {Program::Train, imported.spec, {}});
  return checkStepOptions(options, imported.spec, *imported.module);
}

/// Checks a small model of the imported one.
static Status checkDerivatives(CompileSession &session,
                               const Imported &imported, const Target &target) {
  session.times.begin("self-check");
  HONE_ASSIGN(selfcheck::Report report,
              selfCheck(*imported.module, imported.spec, target));
  llvm::outs() << imported.identity.name << " on " << target.describe() << ": "
               << selfcheck::describeModel() << "\n"
               << report.table();
  return report.status(imported.spec.model);
}

/// Settles `residuals: planned`.
static Result<Planned> plan(CompileSession &session, const SettledSpec &settled,
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

Result<Derived> hone::deriveProgram(CompileSession &session,
                                    const Target &target,
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

/// Reads the parameter table, the plan and the description from `placed`.
static Result<Placed> describe(const CompileRequest &request,
                               const SettledSpec &settled,
                               const Planned &planned,
                               OwningOpRef<ModuleOp> placed) {
  FailureOr<ParameterTable> table = ParameterTable::build(*placed);
  FailureOr<MemoryPlan> read = MemoryPlan::read(
      *placed, domainOf(*settled.target), planned.spec.parts.size());
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

Status hone::lowerProgram(CompileSession &session, Compiled &program) {
  ModuleOp module = *program.placed.module;
  HONE_TRY(run(session, CompilerPhase::Lower, module, *program.settled.target,
               program.planned));
  program.placed.plan.setSizes(LoweredSizes::of(module));
  return Status::ok();
}

Result<std::optional<Compiled>> hone::placeProgram(CompileSession &session,
                                                   const Spec &given,
                                                   Program program) {
  const CompileRequest &request = session.request;
  auto end = [&](ModuleOp module) -> Result<std::optional<Compiled>> {
    HONE_TRY(writeModule(request.output, module));
    return std::optional<Compiled>();
  };
  HONE_ASSIGN(SettledSpec settled, settleSpec(given, program));
  HONE_TRY(checkDevice(request, settled.spec, program, *settled.target));
  HONE_ASSIGN(Imported imported, importProgram(session, settled, program));
  if (request.stopAfter == CompilerPhase::Import)
    return end(*imported.module);

  if (program == Program::Train)
    HONE_TRY(checkStep(session, imported));
  if (request.selfCheck) {
    HONE_TRY(checkDerivatives(session, imported, *settled.target));
    return std::optional<Compiled>();
  }
  HONE_ASSIGN(Planned planned, plan(session, settled, imported, program));
  HONE_ASSIGN(Derived derived, deriveProgram(session, *settled.target, planned,
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
