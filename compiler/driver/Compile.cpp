//===- Compile.cpp - From a spec to a training binary ---------------------===//
//
// compile() at the end reads as the table of contents. The plan and the
// description are taken from the placed module: lowering erases what they read.
//
//===----------------------------------------------------------------------===//

#include "compiler/driver/Compile.h"
#include "base/MappedFile.h"
#include "base/OutputFile.h"
#include "base/Process.h"
#include "chat/ChatModel.h"
#include "compiler/driver/CommandLine.h"
#include "compiler/driver/PassRun.h"
#include "compiler/driver/PhaseTimes.h"
#include "compiler/driver/PlanStep.h"
#include "compiler/driver/Registration.h"
#include "compiler/driver/StepRequest.h"
#include "compiler/driver/TargetOfSpec.h"
#include "compiler/emit/ModuleSummary.h"
#include "compiler/emit/RenameTogether.h"
#include "compiler/emit/RuntimeArchives.h"
#include "compiler/import/ModelImport.h"
#include "compiler/import/Regularization.h"
#include "compiler/import/StorageAssignment.h"
#include "compiler/rules/GenerateRules.h"
#include "compiler/rules/ModelRules.h"
#include "compiler/rules/RequestRules.h"
#include "compiler/rules/SpecRules.h"
#include "compiler/selfcheck/CheckModel.h"
#include "compiler/selfcheck/SelfCheck.h"
#include "compiler/spec/MachineProfileFile.h"
#include "compiler/text/ChatBuilder.h"
#include "compiler/text/TokenizerBuilder.h"
#include "compiler/weights/ModelBlocks.h"
#include "compiler/weights/WeightWriter.h"
#include "dialects/Tile/TileDialect.h"
#include "module/Module.h"
#include "module/Streaming.h"
#include "module/WeightDigests.h"
#include "passes/Passes.h"
#include "passes/methods/Methods.h"
#include "passes/module/Schedule.h"
#include "text/TokenizerTable.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Support/FileUtilities.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/Threading.h"
#include "llvm/Support/raw_ostream.h"

using namespace hone;
using namespace mlir;
using rt::ErrorCode;
using rt::Result;
using rt::Status;

namespace {

/// One run of the compiler. Each method is a step that needs the ones before.
class Compilation {
public:
  explicit Compilation(const CompileRequest &request);
  ~Compilation() {
    if (request.timing)
      llvm::errs() << times.finish();
  }

  Status readSpec();
  Status checkInputsStay() const {
    return hone::checkInputsStay(request, spec);
  }
  Status createTarget();
  Status importModel();
  Status checkPositions() const {
    return checkTables(*module, spec,
                       generates() ? spec.generate.max_length
                                   : spec.train.max_seq_length);
  }
  /// How long a text of Program::Generate may be; the rest of the spec becomes
  /// that of a model without training.
  Status settleGeneration();
  /// That methods suit the model, and --step-options them.
  Status checkStep();
  /// What `residuals: planned` stands for.
  Status planStep();
  /// Checks a small model of the imported one, which is used up by that.
  Status selfCheck();
  /// Passes of `phase`, with its dump.
  Status run(CompilerPhase phase);
  /// What a run's identity needs of the module as it is now.
  void noteMathematics() { identity.mathematics = describeModel(*module); }
  /// Of bfloat16 nothing is rounded to be kept, so the plan changes no bit.
  void noteRounding() {
    identity.rounding = spec.train.compute_dtype == "bfloat16"
                            ? "bfloat16"
                            : describeRounding(*module);
  }
  /// The parameter table, the plan and the description of the placed module.
  Status summarize();
  /// What the program is linked with, if there will be one.
  Status findRuntime();
  /// That a model has the weights that its config.json names: every later phase
  /// does work for each layer of it. Nothing for an .mlir model, which is
  /// trusted and itself says what it needs.
  Status findWeights();
  Status openWeights();
  /// run(CompilerPhase::Lower), after which the scratch of a thread is known.
  Status lower();
  Status printModule();
  void printPlan();
  /// One file: LLVM IR, assembly or an object.
  Status emitFile(EmitKind kind, const std::string &path);
  /// The program and OUTDIR/weights.hone.safetensors.
  Status emitBinary();
  /// Says that the program will not start on this machine, if so.
  void noteOtherMachine() const;

  bool stopsAfter(CompilerPhase phase) const {
    return request.stopAfter == phase;
  }

private:
  void setOptions(StepOptions &options);
  bool isHuggingFace() const { return !spec.isMlir(); }
  bool generates() const { return request.program == Program::Generate; }
  std::string weightsPath() const;
  Status findTensors(const std::vector<ExpectedTensor> &expected);
  Status link(const std::string &program);
  /// Whether another request has written the weights, so that none need be.
  bool isPacked() const { return request.shared && request.shared->bytes; }
  Status packWeights(const std::string &path);
  /// What the program writes a model with, if its result is one.
  Result<std::vector<WeightBlock>> modelFiles() const;
  /// What the program will know of the weights file that was written.
  Status digestWeights(const std::string &path);

  const CompileRequest &request;
  PhaseTimes times;
  MLIRContext context;
  llvm::SourceMgr sources; ///< so that diagnostics show lines of an .mlir file
  SourceMgrDiagnosticHandler diagnostics;
  Spec spec;
  std::unique_ptr<Target> target;
  ModelIdentity identity;
  std::unique_ptr<HuggingFaceModel> model; ///< null for an .mlir model
  OwningOpRef<ModuleOp> module;
  std::optional<ParameterTable> parameters;
  MachineProfile profile;
  std::optional<PlannedStep> planned;
  MemoryPlan plan;
  ModuleDescription description;
  std::optional<WeightIndex> weights;
  std::string tokenizer, chat, sourceHash;
  std::vector<std::string> runtimeArchives;
};

} // namespace

static DialectRegistry dialects() {
  DialectRegistry registry;
  registerDialects(registry);
  return registry;
}

Compilation::Compilation(const CompileRequest &request)
    : request(request), context(dialects()), diagnostics(sources, &context) {
  times.begin("import");
  context.loadAllAvailableDialects();
  context.printOpOnDiagnostic(false);
}

Status Compilation::readSpec() {
  Result<Spec> result = hone::readSpec(request.specPath, request.overrides);
  if (!result.isOk())
    return result.status();
  spec = std::move(result.value());
  if (spec.target.threads == 0)
    spec.target.threads = llvm::hardware_concurrency().compute_thread_count();
  Status fits = generates() ? Status::ok() : checkTrainedWeights(spec);
  if (!fits.isOk() || spec.target.profile.empty())
    return fits;
  Result<MachineProfile> read = readProfile(spec.target.profile);
  if (!read.isOk())
    return read.status();
  profile = read.value();
  return Status::ok();
}

Status Compilation::createTarget() {
  Result<std::unique_ptr<Target>> created = targetOf(spec);
  if (!created.isOk())
    return created.status();
  target = std::move(created.value());
  return Status::ok();
}

//===----------------------------------------------------------------------===//
// Phases
//===----------------------------------------------------------------------===//

Status Compilation::importModel() {
  if (isHuggingFace()) {
    Result<std::unique_ptr<HuggingFaceModel>> opened =
        HuggingFaceModel::open(spec.model);
    if (!opened.isOk())
      return opened.status();
    model = std::move(opened.value());
    for (const std::string &note : model->notes)
      llvm::errs() << "note: " << note << "\n";
  }
  if (generates())
    if (Status status = settleGeneration(); !status.isOk())
      return status;
  Result<ImportedModel> imported =
      model ? hone::importModel(context, *model, spec)
            : parseModel(context, spec);
  if (!imported.isOk())
    return imported.status();
  module = std::move(imported.value().module);
  if (generates() && imported.value().lora.none)
    freeze(*module);
  if (!generates())
    if (Status status = addRegularization(*module, spec, imported.value().lora);
        !status.isOk())
      return status;
  if (spec.roundsProducts())
    (*module)->setAttr(HoneDialect::getRoundedProductsAttrName(),
                       UnitAttr::get(&context));
  Result<rt::WeightSettings> stored = assignStorage(*module, spec, model.get());
  if (!stored.isOk())
    return stored.status();

  identity.name =
      llvm::sys::path::filename(StringRef(spec.model).rtrim('/')).str();
  identity.modelType = model ? model->modelType : "mlir";
  identity.vocabSize = vocabularySize(*module);
  identity.lora = std::move(imported.value().lora);
  identity.weights = stored.value();
  if (request.shared && identity.lora.none)
    return Status::error(
        ErrorCode::OptionsDisagree,
        {"--emit",
         "expected one program of a model that trains as a whole, "
         "since text comes from the model that a run writes",
         "write --emit=train, and --emit=generate with that model"});
  return Status::ok();
}

Status Compilation::settleGeneration() {
  Result<rt::GenerateSettings> settled =
      settleGenerateSettings(spec, model ? model->maxPositionEmbeddings : 0);
  if (!settled.isOk())
    return settled.status();
  spec.generate = settled.value();
  Result<std::vector<int64_t>> stops =
      model ? readStopTokens(spec.model) : std::vector<int64_t>();
  if (!stops.isOk())
    return stops.status();
  identity.stopTokens = stops.value();
  spec.train.compare = "none";
  spec.train.residuals = "mesp"; // which plans nothing
  if (model) { // an .mlir file may say how many rows it is for
    spec.train.batch_size = 1;
    spec.train.max_seq_length = std::max<int64_t>(spec.generate.max_length, 2);
  }
  return Status::ok();
}

Status Compilation::checkStep() {
  if (generates())
    return Status::ok();
  if (Status status = checkLayers(*module, spec); !status.isOk())
    return status;
  StepOptions options;
  setOptions(options);
  return checkStepOptions(options, spec);
}

/// mkdir -p with the mode of the umask.
static std::error_code createFolder(const std::string &path) {
  return llvm::sys::fs::create_directories(path, /*IgnoreExisting=*/true,
                                           llvm::sys::fs::all_all);
}

void Compilation::setOptions(StepOptions &options) {
  if (generates()) {
    options.generationRows = spec.generate.prompt_rows;
    options.generationPositions = spec.generate.max_length;
    options.streamWeights = spec.weights.streaming == "true";
    return;
  }
  setMethods(options, spec);
  options.residuals = spec.train.residuals;
  options.streamWeights =
      planned ? planned->streams : spec.weights.streaming == "true";
  options.optimizerInBackward = spec.train.optimizer_in_backward;
  options.accumulates = spec.train.gradient_accumulation_steps > 1;
  if (planned)
    applyPlan(*planned, options);
  (void)options.parseFromString(
      request.stepOptions); // which says what is wrong
}

Status Compilation::planStep() {
  if (spec.train.residuals != "planned" || generates())
    return Status::ok();
  times.begin("plan");
  StepOptions options;
  setOptions(options);
  Result<PlannedStep> found =
      hone::planStep(*module, PlanRequest::of(spec), options, *target, profile,
                     spec.target.threads);
  if (!found.isOk())
    return found.status();
  planned = found.value();
  if (planned->selectionRatio)
    spec.train.selection_ratio = *planned->selectionRatio;
  if (request.timing)
    llvm::errs() << planned->placed << " plans placed, " << planned->sized
                 << " sized\n";
  return Status::ok();
}

Status Compilation::selfCheck() {
  times.begin("self-check");
  Result<selfcheck::Report> report = hone::selfCheck(*module, spec, *target);
  if (!report.isOk())
    return report.status();
  llvm::outs() << identity.name << " on " << target->describe() << ": "
               << selfcheck::describeModel() << "\n"
               << report.value().table();
  return report.value().status(spec.model);
}

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

Status Compilation::run(CompilerPhase phase) {
  if (phase != CompilerPhase::Import) // which begins with reading the spec
    times.begin(phaseName(phase));
  StepOptions options;
  setOptions(options);
  PassManager pm(&context, ModuleOp::getOperationName());
  if (request.timing)
    pm.enableTiming();
  buildPhase(pm, phase, options, target.get());
  Status status = runPasses(pm, *module, "phase " + phaseName(phase).str(),
                            !request.stepOptions.empty() ? "--step-options"
                            : isHuggingFace()            ? ""
                                                         : spec.model.text());
  if (!status.isOk())
    return status;
  if (request.dumpDir.empty())
    return Status::ok();

  if (std::error_code error = createFolder(request.dumpDir))
    return Status::error(ErrorCode::CannotCreate,
                         {request.dumpDir,
                          "cannot be created: " + error.message(),
                          "give --dump-dir a folder that you may write to"});
  llvm::SmallString<128> path(request.dumpDir);
  llvm::sys::path::append(path, llvm::formatv("{0:d2}-{1}.mlir",
                                              static_cast<int>(phase) + 1,
                                              phaseName(phase)));
  return writeText(path.str().str(),
                   [&](llvm::raw_ostream &out) { out << **module << "\n"; });
}

Status Compilation::summarize() {
  FailureOr<ParameterTable> table = ParameterTable::build(*module);
  FailureOr<MemoryPlan> read = MemoryPlan::read(*module, /*threadBytes=*/0);
  if (failed(table) || failed(read))
    return Status::error(ErrorCode::Bug,
                         {"phase place", "the placed module has no plan",
                          "please report this with the spec"});
  parameters = std::move(*table);
  plan = std::move(*read);
  plan.seconds =
      generates() ? 0 : plan.counts.seconds(profile, spec.roundsProducts());
  if (planned) {
    StepOptions options;
    setOptions(options);
    plan.choice = {hasBackward(options) ? options.residuals : std::string(),
                   options.recomputedInputs,
                   options.roundedInputs,
                   options.tileRows,
                   options.forwardTileRows,
                   options.streamWeights,
                   planned->selectionRatio};
  }
  description = describeModule(*module, *parameters, spec);
  return Status::ok();
}

Status Compilation::findRuntime() {
  if (request.artifact != Artifact::Binary)
    return Status::ok();
  Result<std::vector<std::string>> found =
      findRuntimeArchives(request.runtimeDir, target->toolchain());
  if (!found.isOk())
    return found.status();
  runtimeArchives = std::move(found.value());
  return Status::ok();
}

/// The folder or file that the weights are in.
std::string Compilation::weightsPath() const {
  if (isHuggingFace())
    return spec.model;
  if (!spec.weights.path.empty())
    return spec.weights.path;
  llvm::SmallString<128> beside(llvm::sys::path::parent_path(spec.model));
  llvm::sys::path::append(beside, "model.safetensors");
  return beside.str().str();
}

Status Compilation::findTensors(const std::vector<ExpectedTensor> &expected) {
  Result<WeightIndex> opened = WeightIndex::open(weightsPath());
  if (!opened.isOk())
    return opened.status();
  weights.emplace(std::move(opened.value()));
  if (model) {
    weights->setBasePrefix(model->baseModelPrefix);
    if (model->tiesEmbeddings)
      weights->setSource(headModule, model->embeddingModule);
  }
  Status status =
      weights->require(expected, model ? "config.json" : identity.name);
  if (status.isOk() && model)
    status = weights->refuseUnused(expected, model->redundantTensors);
  return status;
}

Status Compilation::findWeights() {
  if (!model)
    return Status::ok();
  FailureOr<ParameterTable> table = ParameterTable::build(*module);
  if (failed(table))
    return Status::error(ErrorCode::Bug,
                         {"import", "the imported module has no parameters",
                          "please report this with the spec"});
  return findTensors(
      expectedTensors(table->pretrained(), model->quantization.has_value()));
}

Status Compilation::openWeights() {
  if (!model)
    if (Status status = findTensors(
            expectedTensors(parameters->pretrained(), /*isPacked=*/false));
        !status.isOk())
      return status;

  std::string folder =
      model ? spec.model : llvm::sys::path::parent_path(weightsPath()).str();
  Result<std::string> table = rt::buildTokenizerTable(folder);
  if (!table.isOk())
    return table.status();
  tokenizer = std::move(table.value());
  if (!tokenizer.empty()) {
    Result<rt::TokenizerTable> opened =
        rt::TokenizerTable::open(tokenizer, folder);
    if (!opened.isOk())
      return opened.status();
    if (identity.vocabSize && opened.value().tokenCount() > identity.vocabSize)
      return Status::error(
          ErrorCode::TokenizerMisfit,
          {folder + "/tokenizer.json",
           "expected ids below vocab_size, " +
               std::to_string(identity.vocabSize) + ", but the tokenizer has " +
               std::to_string(opened.value().tokenCount()) + " tokens",
           "take the tokenizer from the same place as the weights"});
    Result<std::string> block = rt::buildChatBlock(folder);
    if (!block.isOk())
      return block.status();
    chat = std::move(block.value());
  }
  times.begin("hash");
  sourceHash = isPacked() ? request.shared->sourceHash : weights->contentHash();
  return Status::ok();
}

Status Compilation::lower() {
  Status status = run(CompilerPhase::Lower);
  auto read = [&](llvm::StringRef name, int64_t &bytes) {
    if (auto found = (*module)->getAttrOfType<IntegerAttr>(name))
      bytes = found.getInt();
  };
  read(tile::TileDialect::kThreadBytesAttrName, plan.threadBytes);
  read(tile::TileDialect::kTableBytesAttrName, plan.tableBytes);
  return status;
}

//===----------------------------------------------------------------------===//
// Output
//===----------------------------------------------------------------------===//

Status Compilation::printModule() {
  return writeText(request.output,
                   [&](llvm::raw_ostream &out) { out << **module << "\n"; });
}

void Compilation::printPlan() {
  int64_t threads = spec.target.threads;
  llvm::outs() << (request.plan == PlanFormat::Json ? plan.json(threads) + "\n"
                                                    : plan.table(threads));
}

Status Compilation::emitFile(EmitKind kind, const std::string &path) {
  times.begin(phaseName(CompilerPhase::Emit));
  description.config =
      moduleConfigJson(spec, identity, *parameters, plan, *target, sourceHash);
  description.threadBytes = plan.threadBytes;
  if (llvm::Error error = target->emit(*module, description, kind, path))
    return cannotWrite(path, llvm::toString(std::move(error)));
  return Status::ok();
}

Status Compilation::link(const std::string &program) {
  llvm::SmallString<128> object;
  if (std::error_code error =
          llvm::sys::fs::createTemporaryFile("hone", "o", object))
    return cannotWrite("a temporary file", error.message());
  rt::TemporaryFile removeObject(object.str().str());
  Status status = emitFile(EmitKind::object, object.str().str());
  if (!status.isOk())
    return status;

  times.begin("link");
  LinkRequest wanted;
  wanted.object = object.str().str();
  wanted.libraries = runtimeArchives;
  wanted.output = program;
  wanted.linker = request.linker;
  SignalsWait until; // the linker goes on without us
  if (llvm::Error error = target->link(wanted))
    return Status::error(ErrorCode::LinkFailed,
                         {request.programPath(),
                          "linking failed: " + llvm::toString(std::move(error)),
                          "install a C++ compiler, or name one with --linker; "
                          "check the free space and the limit on file size"});
  return Status::ok();
}

Status Compilation::digestWeights(const std::string &path) {
  times.begin("digest");
  Result<rt::MappedFile> file = rt::MappedFile::open(path);
  if (!file.isOk())
    return file.status();
  Result<std::unique_ptr<rt::Pool>> pool =
      rt::Pool::create(rt::Pool::availableCpus());
  if (!pool.isOk())
    return pool.status();
  rt::setStreamedMapping(file.value().bytes()); // lets go of what was hashed
  description.weightDigests =
      rt::digestParts(file.value().bytes(), *pool.value());
  rt::setStreamedMapping({});
  description.weightFileBytes = file.value().size();
  return Status::ok();
}

Result<std::vector<WeightBlock>> Compilation::modelFiles() const {
  if (!identity.lora.none || generates())
    return std::vector<WeightBlock>();
  return collectModelBlocks(*weights, parameters->trainable(),
                            isHuggingFace() ? spec.model.text() : std::string(),
                            parameters->thetaElement());
}

Status Compilation::packWeights(const std::string &path) {
  if (isPacked()) {
    description.weightDigests = request.shared->digests;
    description.weightFileBytes = request.shared->bytes;
    return Status::ok();
  }
  times.begin("pack");
  Result<std::vector<WeightBlock>> files = modelFiles();
  std::vector<QuantizationError> errors;
  const std::vector<Parameter> loaded = parameters->loaded();
  Status status = files.status();
  if (status.isOk())
    status = writeWeights(
        path, {loaded, tokenizer, chat, sourceHash, std::move(files.value())},
        *weights, request.quantization ? &errors : nullptr);
  if (status.isOk())
    status = digestWeights(path);
  if (status.isOk() && request.quantization)
    llvm::outs() << describeErrors(errors);
  return status;
}

Status Compilation::emitBinary() {
  const std::string &directory = request.output;
  bool isNew = !llvm::sys::fs::exists(directory);
  if (std::error_code error = createFolder(directory))
    return cannotWrite(directory, error.message());

  std::string suffix =
      ".tmp-" + std::to_string(llvm::sys::Process::getProcessId());
  std::string program = request.programPath();
  std::string data = directory + "/weights.hone.safetensors";
  rt::TemporaryFile newProgram(program + suffix), newData(data + suffix);
  const Rename renames[] = {{newData.path, data}, {newProgram.path, program}};
  Status status = packWeights(newData.path);
  if (status.isOk())
    status = link(newProgram.path);
  if (status.isOk())
    status = renameTogether(ArrayRef(renames).drop_front(isPacked()));
  if (status.isOk() && request.shared)
    *request.shared = {sourceHash, description.weightDigests,
                       description.weightFileBytes};
  if (status.isOk())
    return status;
  newProgram.remove();
  newData.remove();
  if (isNew)
    llvm::sys::fs::remove(directory); // only when it is empty
  return status;
}

void Compilation::noteOtherMachine() const {
  std::string why;
  if (std::string other = target->toolchain(); !other.empty())
    why = "is for " + other;
  else if (std::string missing = rt::missingCpuFeature(target->features());
           !missing.empty())
    why = "needs a CPU with " + missing;
  if (!why.empty())
    llvm::errs() << "note: " << request.programPath() << " " << why
                 << "; copy its folder to such a machine: this one cannot run "
                    "it\n";
}

//===----------------------------------------------------------------------===//
// The phases in order
//===----------------------------------------------------------------------===//

Status hone::compile(const CompileRequest &request) {
  Compilation c(request);
  HONE_TRY(checkRequest(request));
  HONE_TRY(checkOutput(request));
  HONE_TRY(c.readSpec());
  HONE_TRY(c.checkInputsStay());
  HONE_TRY(c.createTarget());
  HONE_TRY(c.importModel());
  HONE_TRY(c.checkPositions());
  bool needsWeights = !request.stopAfter && !request.printsPlanOnly() &&
                      !request.selfCheck && request.artifact != Artifact::Mlir;
  if (needsWeights)
    HONE_TRY(c.findWeights());
  HONE_TRY(c.run(CompilerPhase::Import));
  c.noteMathematics();
  if (c.stopsAfter(CompilerPhase::Import))
    return c.printModule();

  HONE_TRY(c.checkStep());
  if (request.selfCheck)
    return c.selfCheck();
  HONE_TRY(c.planStep());
  HONE_TRY(c.run(CompilerPhase::Derive));
  c.noteRounding();
  if (c.stopsAfter(CompilerPhase::Derive))
    return c.printModule();

  HONE_TRY(c.run(CompilerPhase::Place));
  if (c.stopsAfter(CompilerPhase::Place))
    return c.printModule();
  HONE_TRY(c.summarize());

  // What is missing or wrong is reported before the expensive part.
  if (needsWeights) {
    HONE_TRY(c.findRuntime());
    HONE_TRY(c.openWeights());
  }

  HONE_TRY(c.lower());
  if (request.plan != PlanFormat::None)
    c.printPlan();
  if (request.printsPlanOnly())
    return Status::ok();
  if (c.stopsAfter(CompilerPhase::Lower) || request.artifact == Artifact::Mlir)
    return c.printModule();

  std::string file = request.output.empty() ? "-" : request.output;
  switch (request.artifact) {
  case Artifact::Llvm:
    return c.emitFile(EmitKind::llvm, file);
  case Artifact::Assembly:
    return c.emitFile(EmitKind::assembly, file);
  case Artifact::Object:
    return c.emitFile(EmitKind::object, file);
  default:
    HONE_TRY(c.emitBinary());
    c.noteOtherMachine();
    return Status::ok();
  }
}
