//===- Program.cpp - The training program without its main() --------------===//
//
// Reads and checks everything before the arena is made, so that a mistake in
// a command line costs a second and not a minute.
//
//===----------------------------------------------------------------------===//

#include "program/Program.h"

#include "base/Counted.h"
#include "base/MappedFile.h"
#include "base/Process.h"
#include "data/Dataset.h"
#include "device/HostDevice.h"
#include "device/OpenDevice.h"
#include "formats/OutputFolder.h"
#include "platform/Files.h"
#include "platform/System.h"
#include "program/GenerateProgram.h"
#include "program/GivenFiles.h"
#include "program/Launch.h"
#include "program/ModelCard.h"
#include "program/ModelFiles.h"
#include "program/PlanRun.h"
#include "program/Predictions.h"
#include "program/Profile.h"
#include "program/RankGroup.h"
#include "program/ReplayRun.h"
#include "program/Run.h"
#include "program/RunReport.h"
#include "program/SampleDisplay.h"
#include "program/Signals.h"
#include "program/StandardOutput.h"
#include "program/Summary.h"

#include <cerrno>
#include <cinttypes>
#include <cmath>
#include <cstdio>

namespace hone::rt {

namespace {

/// The objects of every mode of the program, in the order in which they are
/// made.
struct Setup {
  const double started = steadySeconds();
  PeakMeter peak;
  Module module;
  Options options;
  std::unique_ptr<CandidateFormat> task;
  ModelFiles model;
  OutputFolder output;
  std::unique_ptr<Pool> pool;
  std::unique_ptr<Device> device;
  std::unique_ptr<Ensemble> others; ///< null: it trains alone
  std::unique_ptr<RankGroup> ranks; ///< null: it has all batches
  std::unique_ptr<Trainer> trainer;
  Dataset data;     ///< of --data, unless only evaluating
  Dataset evalData; ///< of --eval-data
};

} // namespace

static TooLong tooLongOf(const Options &options) {
  return options.tooLong == "leave-out" ? TooLong::LeaveOut
         : options.tooLong == "refuse"  ? TooLong::Refuse
         : options.tooLong == "cut"     ? TooLong::Cut
         : options.tooLong == "split"   ? TooLong::Split
                                        : TooLong::ByKind;
}

/// How data at `path` is tokenised: into --output, or into a file without a
/// name.
static DatasetOptions datasetOptions(Setup &setup, const std::string &path) {
  const ModuleConfig &config = setup.module.config();
  DatasetOptions options{
      path, int64_t(setup.options.settings.train.max_seq_length),
      setup.options.output.empty() ? std::string() : setup.output.dataPath(),
      int64_t(config.vocabSize)};
  options.tooLong = tooLongOf(setup.options);
  options.parseSpecialTokens = setup.options.specialTokens == "parse";
  options.task = setup.task.get();
  options.mapText = setup.options.map.text();
  options.map = KeyMap::parse(options.mapText).value(); // it was checked
  options.skipUnusable = setup.options.skipUnusable;
  options.chat = setup.model.chat;
  options.chatPlace = setup.model.chatPlace();
  if (!setup.options.chatDate.empty())
    parseDate(setup.options.chatDate, options.date);
  options.onProgress = [&setup, path] {
    setup.peak.sample();
    if (stopRequested() == ExitCode::Success)
      return Status::ok();
    return Status(ErrorCode::Stopped, path,
                  "stopped while the data was prepared",
                  "the same command starts again");
  };
  return options;
}

static void printNotes(std::string_view notes) {
  while (!notes.empty()) {
    size_t end = std::min(notes.find('\n'), notes.size());
    if (end > 0)
      printf("             %.*s\n", int(end), notes.data());
    notes.remove_prefix(std::min(end + 1, notes.size()));
  }
}

static Status openData(Setup &setup, const std::string &path, Dataset &out) {
  if (path.empty())
    return Status::ok();
  HONE_ASSIGN(Dataset data,
              Dataset::prepare(datasetOptions(setup, path),
                               setup.model.tokenizer ? &*setup.model.tokenizer
                                                     : nullptr));
  out = std::move(data);
  printf("data         %s\n", path.c_str());
  printNotes(out.notes());
  return Status::ok();
}

/// Divides --data into training samples and those that are held out.
static Status divideData(Setup &setup) {
  const Options &given = setup.options;
  SampleSelection selection{given.evalSplit, /*isHeldOut=*/true, 0,
                            uint64_t(given.settings.train.seed)};
  const DatasetOptions options = datasetOptions(setup, given.data);
  if (given.evalSplit > 0) {
    HONE_ASSIGN(setup.evalData, setup.data.select(selection, options));
  }
  selection.isHeldOut = false;
  selection.perLabel = uint64_t(given.kShot);
  if (!selection.isNeeded(options.task))
    return Status::ok();
  HONE_ASSIGN(setup.data, setup.data.select(selection, options));
  printNotes(setup.data.notes()); // of held-out samples, too
  return Status::ok();
}

static Status makePool(Setup &setup) {
  HONE_ASSIGN(setup.pool, Pool::create(unsigned(setup.options.threads)));
  return Status::ok();
}

/// The processor, or the device that the program's kernels are for.
static Status makeDevice(Setup &setup) {
  const hone_module &module = setup.module.abi();
  const int64_t number = setup.options.device;
  if (module.device_target) {
    setup.peak.beginDriver();
    HONE_ASSIGN(setup.device,
                openDevice(module, number,
                           {setup.module.arenaBytes(extentOf(setup.options)),
                            setup.module.config().smallestBytes}));
    return Status::ok();
  }
  if (number != 0)
    return Status(ErrorCode::NoSuchDevice, "--device",
                  "the program was compiled for the processor, which has no "
                  "number",
                  "leave it out, or compile for a GPU");
  setup.device = std::make_unique<HostDevice>(*setup.pool);
  return Status::ok();
}

/// Where values of a step rest: beside the run's output, which is on a disk.
static std::string offloadFolder(const Options &options) {
  if (!options.dumpGradients.empty())
    return platform::parentDirectory(options.dumpGradients);
  return options.output.empty() ? platform::temporaryFolder()
                                : options.output.text();
}

static Status makeTrainer(Setup &setup) {
  HONE_ASSIGN(setup.trainer,
              Trainer::create(setup.module, setup.model.weights, *setup.device,
                              extentOf(setup.options), setup.others.get(),
                              offloadFolder(setup.options)));
  if (setup.module.abi().device_target)
    setup.peak.noteDevice(setup.device->allocatedBytes(),
                          setup.trainer->hostBytes() +
                              setup.device->hostBytes());
  return Status::ok();
}

/// Theta of a mode that has no run to resume.
static Status startFresh(Setup &setup) {
  const Options &options = setup.options;
  Trainables &trainables = setup.trainer->trainables();
  if (!options.adapter.empty())
    return trainables.load(options.adapter, options.evalOnly
                                                ? AdapterUse::Evaluate
                                                : AdapterUse::Train);
  trainables.initialize(options.settings.train.seed);
  return Status::ok();
}

static Status evaluateOnly(Setup &setup) {
  HONE_TRY(startFresh(setup));
  const Dataset &data = setup.evalData;
  HONE_ASSIGN(Predictions opened,
              Predictions::open(setup.options.predictions, setup.task.get()));
  Predictions &predictions = opened;
  Result<Evaluation> found = setup.trainer->evaluate(
      data, setup.options.settings.train.batch_size, /*completed=*/0,
      [&](const ScoredExample &example) { predictions.add(example); });
  if (!found.isOk())
    return found.status();
  const Evaluation &evaluation = found.value();
  if (!std::isfinite(evaluation.loss))
    return Status(ErrorCode::Diverged, setup.options.evalData,
                  "expects a finite loss but got " +
                      formatShort(evaluation.loss),
                  "check the adapter and the weights; if the run that made the "
                  "adapter diverged, train again with a lower "
                  "--learning-rate");
  HONE_TRY(predictions.commit());
  printf("eval loss    %.9f over %s\n"
         "perplexity   %.6g\n",
         evaluation.loss, counted(evaluation.tokens, "token").c_str(),
         evaluation.perplexity());
  if (evaluation.hasAccuracy())
    printf("accuracy     %.6f, %" PRIu64 " of %s\n", evaluation.accuracy(),
           evaluation.correct, counted(evaluation.examples, "example").c_str());
  return flushOutput();
}

/// Always the file's first batch: a reference must be able to name it.
static Status dumpGradients(Setup &setup) {
  HONE_TRY(startFresh(setup));
  const std::string &path = setup.options.dumpGradients;
  SampleOrder order{setup.data.sampleCount(),
                    uint64_t(setup.options.settings.train.batch_size), 1,
                    uint64_t(setup.options.settings.train.seed), false};
  HONE_ASSIGN(Trainer::StepResult computed,
              setup.trainer->gradient(setup.data, order, order.rangeOf(0),
                                      {setup.options.settings, /*steps=*/1}));
  const Trainer::StepResult &result = computed;
  const std::string loss = formatExact(result.loss);
  Status status = setup.trainer->trainables().dumpGradients(
      path, {{"format", "pt"},
             {"loss", loss},
             {"targets", std::to_string(result.targets)},
             {"tokens", std::to_string(result.tokens)}});
  if (status.isOk())
    printf("gradients    %s, loss %s over %s\n", path.c_str(), loss.c_str(),
           counted(result.targets, "token").c_str());
  return status;
}

/// How many samples the report shows.
static constexpr uint64_t reportedSamples = 3;

/// Tells the report the first samples of the evaluation data, or else of the
/// training data, with their losses now.
static void reportSamples(Setup &setup, RunReport &report, uint64_t step) {
  const Options &options = setup.options;
  const bool isEval = options.evaluates();
  const Dataset &data = isEval ? setup.evalData : setup.data;
  // Candidates of a task are samples of one example.
  const uint64_t count =
      data.hasCandidates() ? 1 : std::min(data.sampleCount(), reportedSamples);
  const Tokenizer *tokenizer =
      setup.model.tokenizer ? &*setup.model.tokenizer : nullptr;
  for (uint64_t i = 0; i < count; ++i) {
    const std::string &from =
        isEval && !options.evalData.empty() ? options.evalData : options.data;
    const Result<double> found = setup.trainer->lossOf(data, i);
    const double loss = found.isOk() ? found.value() : std::nan("");
    report.sample(step, i, from, data.sample(i), tokenizer, loss);
    // No step follows that would find that the last one was too large.
    if (i == 0 && step > 0 && found.isOk() && !std::isfinite(loss))
      printWarning(
          ErrorCode::Diverged,
          options.output + ": after the last step the first sample of " + from +
              " has the loss " + formatShort(loss) + "; lower --learning-rate");
  }
  data.release();
}

/// Prints the summary of a run that is over, and writes the file of --profile.
static Status sayOutcome(Setup &setup, const RunPlan &plan, const Run &run,
                         const std::string &launches, const Profile &profile) {
  const Options &options = setup.options;
  fputs(describeOutcome(setup.module, options, run, plan).c_str(), stdout);
  if (!launches.empty())
    printf("launches     %s\n", launches.c_str());
  if (setup.ranks)
    printf("ranks        %" PRIu32 ", and this one sent %" PRIu64 " bytes\n",
           setup.ranks->shared().count(), setup.ranks->shared().sent());
  if (options.profile.empty())
    return Status::ok();
  fputs(profile.render().c_str(), stdout);
  return profile.write(options.profile);
}

static Status train(Setup &setup, const RunPlan &plan, ExitCode &outcome) {
  const Options &options = setup.options;
  HONE_ASSIGN(CheckpointStore store, CheckpointStore::open(options.output));
  RunReport report;
  Run run({setup.module, options, setup.data,
           options.evaluates() ? &setup.evalData : nullptr, setup.output,
           setup.peak, report, setup.started, setup.others.get(),
           setup.ranks.get()},
          *setup.trainer, std::move(store));
  if (setup.others && setup.others->leads())
    setup.trainer->setLead(
        [&](Command command) { return setup.others->lead(command); });
  if (!run.follows())
    fputs(describeRun(setup.module, options, run).c_str(), stdout);
  fputs(plan.render().c_str(), stdout);
  if (options.pauses())
    fputs(describePauses(setup.module, options).c_str(), stdout);
  HONE_TRY(run.start());
  if (setup.ranks)
    HONE_TRY(setup.ranks->lead(*setup.trainer, run.completedSteps(),
                               run.totalSteps()));
  report.start(
      {setup.module, options, plan, setup.output.runName(),
       options.data.empty() ? std::string() : std::string(setup.data.notes())},
      run);
  // Losses for the report take forwards, for which no time may be left.
  const bool shows = options.showSamples > 0 && !options.timeLimit &&
                     !setup.others && !setup.ranks;
  if (run.completedSteps() == 0 && !run.isInMidStep() && shows)
    reportSamples(setup, report, 0);
  Profile profile(setup.module.abi());
  if (!options.profile.empty())
    setup.device->observe(&profile);
  auto waited = [&] {
    return setup.others  ? setup.others->traffic().waited
           : setup.ranks ? setup.ranks->traffic().waited
                         : 0;
  };
  const double waitedBefore = waited();
  profile.start(run.completedSteps());
  HONE_TRY(run.train(plan.budgeted(), outcome));
  if (setup.ranks)
    HONE_TRY(setup.ranks->leadEnd(run.completedSteps()));
  // The report's sample is no part of the run.
  setup.device->observe(nullptr);
  const std::string launches = setup.device->launchesSoFar();
  profile.stop(run.completedSteps(), waited() - waitedBefore);
  if (!run.suspension().empty()) {
    report.end(run.completedSteps(), "stopped", setup.peak);
    printf("suspended in %s, in %s\n"
           "written in %.3f s; the same command resumes\n",
           run.suspension().c_str(),
           SuspendedFile::pathIn(options.output).c_str(),
           run.suspensionSeconds());
    return Status::ok();
  }
  if (outcome == ExitCode::Success && shows)
    reportSamples(setup, report, run.completedSteps());
  if (!setup.module.config().lora.none)
    ModelCard::write(setup.module, options, run);
  report.compared(run.completedSteps(), run.compared());
  setup.peak.sample();
  report.end(run.completedSteps(),
             outcome == ExitCode::Success ? "finished" : "stopped", setup.peak);
  HONE_TRY(sayOutcome(setup, plan, run, launches, profile));
  if (outcome != ExitCode::Success)
    puts("stopped and saved; the same command resumes");
  return Status::ok();
}

/// A run that writes a model replaces none that no run made, above all not the
/// one that it came from. A run's model has a checkpoint beside it, and one of
/// another run is refused later; a replay's has its mark. The folder is
/// claimed.
static Status checkModelStays(const Setup &setup) {
  const Options &options = setup.options;
  if (!setup.model.weights.layout() || !options.writesResult())
    return Status::ok();
  for (const std::string &path :
       resultFiles(options, setup.model.weights.layout())) {
    if (!platform::exists(path))
      continue;
    if (!options.replay.empty()) {
      Result<bool> isOwn = isOfReplay(options);
      if (!isOwn.isOk() || isOwn.value())
        return isOwn.status();
    }
    HONE_ASSIGN(CheckpointStore store, CheckpointStore::open(options.output));
    Result<CheckpointStore::Found> newest = store.newest();
    if (!newest.isOk() || !newest.value().directory.empty())
      return newest.status();
    return Status(ErrorCode::OptionsDisagree, "--output",
                  options.output + " has a model already, whose " + path +
                      " would be replaced, and " +
                      (options.replay.empty()
                           ? "no checkpoint of a run that made it"
                           : "is no replay of this run"),
                  "give a new folder");
  }
  return Status::ok();
}

/// A rank that only computes: the first one speaks and writes.
static void becomeFollower(Options &options) {
  options.output = "";
  options.showSamples = 0;
  (void)!freopen("/dev/null", "w", stdout);
}

static Status followRanks(Setup &setup) {
  return setup.ranks->follow(
      {*setup.trainer, setup.options, setup.data,
       setup.options.evaluates() ? &setup.evalData : nullptr, setup.peak});
}

/// Answers --help, --version and --list-devices; false: none was given.
static Result<bool> answer(const Options &options, const Options &defaults,
                           const Module &module) {
  if (options.help)
    HONE_TRY(printUsage(Options::usage(defaults)));
  else if (options.version)
    HONE_TRY(printVersion("train", module));
  else if (options.listDevices) {
    HONE_ASSIGN(std::string devices, listDevices(module.abi()));
    fputs(devices.c_str(), stdout);
    HONE_TRY(flushOutput());
  } else
    return false;
  return true;
}

/// Checks that the program supports the options.
static Status checkOptions(const Options &options, const Module &module) {
  if (options.pauses() && module.abi().device_target)
    return Status(ErrorCode::OptionsDisagree, options.pauseOption(),
                  "a step on a GPU runs to its end",
                  "leave it out; a signal saves after the step");
  if (options.replay.empty() || module.canReplay())
    return Status::ok();
  if (module.config().hasParts())
    return Status(ErrorCode::OptionsDisagree, "--replay",
                  "runs of parts with methods of their own have no replay.hone",
                  "train again, or start from the run with --adapter");
  return Status(ErrorCode::OptionsDisagree, "--replay",
                "this program's method, " + module.config().train.method +
                    ", has gradients that a few numbers cannot reproduce",
                "use the program that made the run");
}

/// Opens the weights and checks them.
static Status openModel(Setup &setup) {
  const Options &options = setup.options;
  HONE_ASSIGN(setup.model, openModelFiles(setup.module, options.weights));
  HONE_TRY(checkGivenFiles(options, weightsPath(options.weights),
                           setup.model.weights.layout()));
  fputs(describeModel(setup.module).c_str(), stdout);
  HONE_TRY(makePool(setup));
  std::string verified;
  HONE_TRY(checkWeights(setup.model, setup.module, *setup.pool,
                        options.noVerify, verified));
  fputs(verified.c_str(), stdout);
  return Status::ok();
}

/// Makes tokens of all data that the run reads.
static Status openAllData(Setup &setup) {
  const Options &options = setup.options;
  const bool trains = !options.evalOnly && options.replay.empty();
  if (trains) {
    HONE_TRY(openData(setup, options.data, setup.data));
    if (!options.data.empty())
      HONE_TRY(divideData(setup));
  }
  HONE_TRY(openData(setup, options.evalData, setup.evalData));
  if (trains && options.dumpGradients.empty() && !options.data.empty())
    showSamples(setup.data,
                setup.model.tokenizer ? &*setup.model.tokenizer : nullptr,
                uint64_t(options.showSamples),
                platform::takesColours(platform::StandardOutput),
                [](const std::string &text) { fputs(text.c_str(), stdout); });
  return Status::ok();
}

/// Trains, or does the work of an option in place of it.
static Status work(Setup &setup, const RunPlan &plan, ExitCode &outcome) {
  const Options &options = setup.options;
  if (setup.ranks && !setup.ranks->leads())
    return followRanks(setup);
  if (options.evalOnly)
    return evaluateOnly(setup);
  if (!options.dumpGradients.empty())
    return dumpGradients(setup);
  if (!options.replay.empty())
    return replayRun(setup.module, options,
                     setup.model.weights.layout().has_value(), *setup.trainer);
  return train(setup, plan, outcome);
}

static Status execute(const hone_module &compiled,
                      const std::vector<std::string> &arguments, ProcessUse use,
                      FindTask *findTask, ExitCode &outcome) {
  Setup setup;
  HONE_ASSIGN(setup.module, Module::open(compiled));
  const ModuleConfig &config = setup.module.config();
  Options defaults = Options::defaults(config);
  defaults.after = config.neighboursOf(config.program).after;
  HONE_ASSIGN(setup.options, Options::parse(arguments, defaults));
  const Options &options = setup.options;
  if (findTask)
    setup.task = findTask(options.settings.train.task);

  HONE_ASSIGN(const bool isAnswered, answer(options, defaults, setup.module));
  if (isAnswered)
    return Status::ok();
  HONE_TRY(checkOptions(options, setup.module));
  const TrainSettings &shape = options.settings.train;
  setup.module.place(shape.batch_size * shape.max_seq_length);
  HONE_ASSIGN(EnginePlace place, placeOf(options));
  if (place.rank > 0)
    becomeFollower(setup.options);
  HONE_ASSIGN(const RunPlan plan, planRun(setup.module, setup.options, place));
  if (options.plan) {
    fputs(plan.render().c_str(), stdout);
    fputs(describePauses(setup.module, options).c_str(), stdout);
    return flushOutput();
  }
  if (use == ProcessUse::Alone)
    setup.peak = PeakMeter(plan);

  HONE_TRY(checkTogether(setup.module, options));
  HONE_TRY(openModel(setup));
  // Before anything is written.
  HONE_ASSIGN(setup.others, openTogether(setup.module, options));
  HONE_TRY(Trainer::checkPeers(setup.module, setup.others.get()));
  HONE_TRY(makeDevice(setup));
  if (!options.output.empty()) {
    HONE_TRY(setup.output.claim(options.output));
    HONE_TRY(checkModelStays(setup));
  }
  HONE_TRY(openAllData(setup));
  HONE_ASSIGN(setup.ranks,
              RankGroup::open(
                  setup.module, options, place,
                  {{"data", setup.data.name()},
                   {"evaluation data",
                    options.evaluates() ? setup.evalData.name() : "none"}}));
  setup.model.releaseText(); // data is tokens from here on
  setup.peak.count();
  platform::trimHeap(); // memory that tokenising freed must not stay resident
  if (Status made = makeTrainer(setup); !made.isOk()) {
    setup.output.discardData();
    return made;
  }
  if (setup.ranks)
    setup.trainer->shareWith(setup.ranks->shared());
  if (Status worked = work(setup, plan, outcome); !worked.isOk()) {
    const std::optional<ErrorCode> code = worked.errorCode();
    // A program that the others refused keeps nothing new.
    if (code == ErrorCode::PeerBusy || code == ErrorCode::NotAdmitted)
      setup.output.discardData();
    return worked;
  }
  return setup.peak.verdict();
}

/// Apart from startProcess(), which refuses a stack that this does not fit on.
[[gnu::noinline]] static int runStarted(const hone_module &compiled, int argc,
                                        char **argv, ProcessUse use,
                                        FindTask *findTask) {
  installSigbusHandler();
  installSignalHandlers();
  // Memory that is resident at the end of a phase is then its peak, which
  // makes a sample there the truth.
  platform::keepHeap();
  std::vector<std::string> arguments(argv + (argc > 0), argv + argc);
  ExitCode outcome = ExitCode::Success;
  // execute() refuses a module of another version before it reads more.
  const bool generates = compiled.abi_version == HONE_ABI_VERSION &&
                         compiled.struct_size == sizeof(hone_module) &&
                         compiled.schedule_count == 1 &&
                         compiled.schedules[0].purpose == HONE_GENERATE;
  Status status = generates
                      ? runGeneration(compiled, arguments, use, outcome)
                      : execute(compiled, arguments, use, findTask, outcome);
  if (!status.isOk()) {
    fflush(stdout);
    printError(status);
    if (status.errorCode() == ErrorCode::Stopped ||
        status.errorCode() == ErrorCode::StoppedWaiting)
      outcome = stopRequested();
    // Of a run that a signal stopped, the code says that it can be resumed.
    else if (status.errorCode() != ErrorCode::PlanExceeded ||
             outcome == ExitCode::Success)
      outcome = status.exitCode();
  }
  return int(outcome);
}

int runProgram(const hone_module &compiled, int argc, char **argv,
               ProcessUse use, FindTask *findTask) {
  startProcess();
  return runStarted(compiled, argc, argv, use, findTask);
}

} // namespace hone::rt
