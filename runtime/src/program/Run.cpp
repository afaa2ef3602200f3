//===- Run.cpp - A training run from its checkpoint to its adapter --------===//
//
// A resumed run ends with the bits of an uninterrupted one. That promise is
// why an option that changes the numbers may not change between the runs of
// one output folder.
//
//===----------------------------------------------------------------------===//

#include "program/Run.h"

#include "base/Counted.h"
#include "formats/RunName.h"
#include "platform/Files.h"
#include "program/Signals.h"
#include "program/StandardOutput.h"

#include <algorithm>
#include <cinttypes>
#include <cmath>
#include <cstdio>

namespace hone::rt {

SampleOrder orderOf(const Options &options, uint64_t samples) {
  const TrainSettings &train = options.settings.train;
  return {samples, uint64_t(train.batch_size),
          uint64_t(train.gradient_accumulation_steps), uint64_t(train.seed),
          train.shuffle};
}

Run::Run(Inputs inputs, Trainer &trainer, CheckpointStore store)
    : inputs(inputs), trainer(trainer), store(std::move(store)) {
  const Options &options = inputs.options;
  const TrainSettings &train = options.settings.train;
  order = orderOf(options, follows() ? 1 : inputs.data.sampleCount());
  uint64_t epochs = std::min<uint64_t>(train.epochs, mostEpochs());
  settle(train.steps ? train.steps : epochs * order.stepsPerEpoch());
  // Checkpoints that all have go once all have a newer one.
  this->store.keep(inputs.others ? 0 : uint64_t(train.save_total_limit));
  if (keepsBest())
    bestSoFar = {options.metricForBestModel, inputs.evalData->name()};
}

void Run::settle(uint64_t stepsOfRun) {
  const Options &options = inputs.options;
  steps = stepsOfRun;
  hyperparameters = {options.settings, steps};
  identity =
      identityOf(inputs.module, options.settings, options.changed(),
                 follows() ? "another program's" : inputs.data.name(), steps);
}

std::string Run::logPath() const {
  const Options &options = inputs.options;
  return options.log.empty() ? options.output + "/" + LogName
                             : std::string(options.log);
}

uint64_t Run::mostEpochs() const {
  return uint64_t(counts.most) / order.stepsPerEpoch();
}

/// The error for a checkpoint of another run. A run that did not come to its
/// end has no adapter yet.
static Status otherRun(ErrorCode code, const std::string &output,
                       const std::string &problem, const std::string &remedy) {
  const bool hasResult = platform::exists(output + "/adapter_config.json") ||
                         platform::exists(output + "/config.json");
  return Status(code, output, problem,
                remedy + ", or give another --output" +
                    (hasResult ? "; --adapter " + output +
                                     " starts a new run from its adapter"
                               : ""));
}

Status Run::compare(const CheckpointIdentity &saved,
                    std::string &otherNumerics) const {
  const std::string &output = inputs.options.output;
  std::string differences = describeDifferences(saved.run, identity.run);
  if (!differences.empty())
    return otherRun(ErrorCode::OtherRun, output,
                    "the run in this folder is another: " + differences,
                    "to resume it, repeat the options of its first start");
  otherNumerics = describeDifferences(saved.numerics, identity.numerics);
  if (otherNumerics.empty() || inputs.options.allowOtherNumerics)
    return Status::ok();
  return otherRun(
      ErrorCode::OtherNumerics, output,
      "the run in this folder is computed with other instructions or rounding, "
      "so it would not end with the bits of an uninterrupted one: " +
          otherNumerics,
      "compile as for that run, or continue with --allow-other-numerics");
}

Status Run::initialize() {
  const Options &options = inputs.options;
  if (options.adapter.empty()) {
    trainer.trainables().initialize(options.settings.train.seed);
    return Status::ok();
  }
  HONE_TRY(trainer.trainables().load(options.adapter, AdapterUse::Train));
  printf("starting from the adapter in %s\n", options.adapter.c_str());
  return Status::ok();
}

Status Run::checkSteps(const std::string &place) const {
  if (completed <= steps)
    return Status::ok();
  return Status(ErrorCode::BeyondLastStep, place,
                "the run has already made " + counted(completed, "step") +
                    ", more than the " + std::to_string(steps) + " asked for",
                "ask for at least as many --steps, or give another --output");
}

Status Run::start() {
  const Options &options = inputs.options;
  const TrainSettings &train = options.settings.train;
  if (train.steps == 0 && uint64_t(train.epochs) > mostEpochs())
    return Status(ErrorCode::WrongOption, "--epochs",
                  "expects at most " + std::to_string(mostEpochs()) + ", of " +
                      counted(order.stepsPerEpoch(), "step") +
                      " each, but got " + train.epochs.text(),
                  "give fewer, or --steps");
  if (inputs.others)
    return startTogether();
  HONE_ASSIGN(CheckpointStore::Found newest, store.newest());
  const CheckpointStore::Found &found = newest;
  for (const std::string &note : found.notes)
    printWarning(ErrorCode::DamagedCheckpoint, note);
  std::string otherNumerics;
  HONE_TRY(findSuspended(found));
  resumed = goesOn || !found.directory.empty();
  if (goesOn)
    HONE_TRY(resumeInStep(found));
  else if (!found.directory.empty())
    HONE_TRY(resumeAfter(found, otherNumerics));
  else
    HONE_TRY(initialize());
  fflush(stdout);
  HONE_TRY(
      startReplay(found.directory.empty() && !goesOn && !found.notes.empty()));
  inputs.peak.sample(); // with the checkpoint's or the adapter's pages
  HONE_ASSIGN(log,
              StepLog::open(logPath(), inputs.folder.runName(), completed));
  if (inputs.module.compares()) {
    HONE_ASSIGN(comparisons,
                ComparisonLog::open(options.output, inputs.folder.runName(),
                                    completed, inputs.module));
    comparison.emplace(inputs.module);
  }
  if (otherNumerics.empty())
    return Status::ok();
  printWarning(
      ErrorCode::OtherNumerics,
      found.directory +
          ": from here on the run is computed differently: " + otherNumerics);
  return log.otherNumerics(completed, otherNumerics);
}

Status Run::resumeInStep(const CheckpointStore::Found &before) {
  const Options &options = inputs.options;
  completed = goesOn->step.completed;
  if (!before.directory.empty())
    savedAt = uint64_t(before.step);
  if (completed >= steps)
    return Status(ErrorCode::BeyondLastStep, goesOn->path(),
                  "the run is in step " + std::to_string(completed + 1) +
                      ", after the " + std::to_string(steps) + " asked for",
                  "ask for more --steps, or give another --output");
  printf("resuming in %s from %s\n", goesOn->step.describe().c_str(),
         goesOn->path().c_str());
  // Until the step is read the parameters are those of the start, which a
  // replay's log names; drawing those of a large adapter takes a while.
  const bool isNamed = completed == 0 && inputs.module.canReplay();
  if (isNamed && !options.adapter.empty())
    HONE_TRY(trainer.trainables().load(options.adapter, AdapterUse::Train));
  else if (isNamed)
    trainer.trainables().initialize(options.settings.train.seed);
  CheckpointStore::Found state;
  state.directory = goesOn->path();
  state.evaluation = goesOn->step.evaluation;
  return takeUpBest(state);
}

Status Run::resumeAfter(const CheckpointStore::Found &found,
                        std::string &otherNumerics) {
  HONE_TRY(compare(found.identity, otherNumerics));
  completed = savedAt = uint64_t(found.step);
  HONE_TRY(checkSteps(found.directory));
  HONE_TRY(readParameters(found));
  printf("resuming after step %" PRIu64 " from %s\n", completed,
         found.directory.c_str());
  return takeUpBest(found);
}

Status Run::takeUpBest(const CheckpointStore::Found &found) {
  if (!keepsBest()) {
    otherEvaluation = found.evaluation;
    return Status::ok();
  }
  bool isSame = true;
  Status status = bestSoFar.restore(found.evaluation, found.directory, isSame);
  if (!isSame)
    puts("evaluations use other data or another metric than before, so the "
         "search for the best one begins again");
  return status;
}

std::optional<uint64_t> Run::bestStep() const {
  if (keepsBest())
    return bestSoFar.exists() ? std::optional(bestSoFar.step()) : std::nullopt;
  auto told = otherEvaluation.find(CheckpointStore::BestStep);
  if (!follows() || told == otherEvaluation.end())
    return std::nullopt;
  return strtoull(told->second.c_str(), nullptr, 10);
}

std::string Run::bestFolder() const { return inputs.options.output + "/best"; }

bool Run::stopsEarly() const {
  const int64_t patience = inputs.options.earlyStop;
  return patience > 0 && completed < steps &&
         bestSoFar.waited() >= uint64_t(patience);
}

Status Run::startReplay(bool lostCheckpoints) {
  if (!inputs.module.canReplay())
    return Status::ok();
  const std::string path = inputs.options.output + "/" + ReplayWriter::FileName;
  if (lostCheckpoints && platform::exists(path))
    return Status(
        ErrorCode::DamagedCheckpoint, path,
        "no checkpoint of this run is whole, and a new start would replace its "
        "log",
        "make its adapter with --replay in another --output, or move it "
        "away");
  Result<ReplayWriter> opened = ReplayWriter();
  if (completed > 0) {
    opened = ReplayWriter::resume(path, completed, identity.run);
  } else {
    HONE_ASSIGN(std::string start, trainer.trainables().digest());
    opened = ReplayWriter::create(
        path, {identity.run, start, trainer.coefficientCount()});
  }
  if (!opened.isOk())
    return opened.status();
  replay = std::move(opened.value());
  return Status::ok();
}

Status Run::step(Progress &progress) {
  stepBegan = steadySeconds() - (goesOn ? goesOn->step.seconds : 0);
  Trainer::StepResult result;
  Status status = trainer.step(
      inputs.data, order, order.rangeOf(completed), hyperparameters, completed,
      result,
      {pause ? &*pause : nullptr, goesOn ? &goesOn->step.state : nullptr});
  goesOn.reset();
  if (pause)
    HONE_TRY(pause->status);
  if (!status.isOk() || result.isSuspended)
    return status;
  return record(result, stepBegan, progress);
}

Status Run::record(const Trainer::StepResult &result, double began,
                   Progress &progress) {
  const double after = steadySeconds(), took = std::max(after - began, 1e-9);
  ++completed;
  ++ran;
  tokens += double(result.tokens);
  seconds += took;
  inputs.peak.sample();
  // A step's figures are known when its update is made.
  const uint64_t late = stepsLate();
  if (completed <= late || completed - late > steps)
    return Status::ok();
  StepRecord record{completed - late,
                    result.loss,
                    result.learningRate,
                    result.gradientNorm,
                    double(result.tokens) / took,
                    inputs.peak.anonymous(),
                    inputs.peak.resident(),
                    result.partRates,
                    result.selectedLayers,
                    /*traffic=*/{},
                    offloadedInStep()};
  offloadedBefore = offloadedBytes();
  offloadedElsewhere = 0;
  noteTraffic(record);
  StepRecord shown = record;
  shown.peakAnonymousBytes = inputs.peak.budgeted();
  progress.step(shown, after, took);
  inputs.report.step(record, result.tokens);
  if (result.coefficients)
    HONE_TRY(replay.append(result.coefficients));
  return log.step(record);
}

Status Run::compareGradients(Progress &progress) {
  uint64_t every = uint64_t(inputs.options.settings.train.compare_every);
  if (!comparison || completed % every != 0)
    return Status::ok();
  Status status = trainer.compare(inputs.data, order, hyperparameters,
                                  completed, *comparison);
  if (!status.isOk())
    return status;
  inputs.peak.sample();
  if (comparison->all.notFinite > 0) {
    char line[128];
    snprintf(line, sizeof(line),
             "step %" PRIu64 "  in compared gradients %s not finite",
             completed + 1,
             (counted(comparison->all.notFinite, "element") +
              plural(comparison->all.notFinite, " is", " are"))
                 .c_str());
    progress.note(line);
  }
  return comparisons.add(completed + 1, *comparison);
}

std::string Run::textOf(const Evaluation &found) const {
  char line[160];
  int size = snprintf(line, sizeof(line),
                      "step %" PRIu64 "  eval loss %.6f  perplexity %.4g",
                      completed, found.loss, found.perplexity());
  if (found.hasAccuracy())
    snprintf(line + size, sizeof(line) - size_t(size), "  accuracy %.4f",
             found.accuracy());
  return line;
}

Result<Evaluation> Run::finiteEvaluation() {
  HONE_ASSIGN(Evaluation found,
              trainer.evaluate(*inputs.evalData, order.batchSize, completed));
  if (std::isfinite(found.loss))
    return found;
  return Status(ErrorCode::Diverged, "step " + std::to_string(completed),
                "expects a finite loss of the evaluation data but got " +
                    formatShort(found.loss),
                completed == 0 ? "check the adapter and the weights"
                               : "lower --learning-rate; the checkpoints from "
                                 "before are kept");
}

Status Run::evaluate(Progress &progress, bool &isBest) {
  HONE_ASSIGN(Evaluation found, finiteEvaluation());
  evaluated = found;
  progress.note(textOf(found).c_str());
  isBest = keepsBest() && bestSoFar.add(completed, *evaluated);
  report(*evaluated, isBest);
  return log.evaluation(completed, *evaluated);
}

void Run::report(const Evaluation &found, bool isBest) {
  inputs.report.evaluation(completed, found.loss,
                           found.hasAccuracy() ? found.accuracy()
                                               : std::nan(""),
                           found.tokens, isBest);
}

Status Run::evaluateStart(Progress &progress) {
  if (!inputs.evalData || completed > 0)
    return Status::ok();
  HONE_ASSIGN(started, finiteEvaluation());
  progress.note(textOf(*started).c_str());
  report(*started, /*isBest=*/false);
  return Status::ok();
}

Status Run::syncLogs() {
  HONE_TRY(log.sync());
  HONE_TRY(replay.sync());
  HONE_TRY(comparisons.sync());
  inputs.report.flush();
  return Status::ok();
}

CheckpointFields Run::evaluationFields() const {
  return keepsBest() ? bestSoFar.fields() : otherEvaluation;
}

Status Run::save() {
  Ensemble *const followers = follows() ? nullptr : inputs.others;
  if (followers) {
    HONE_TRY(leadBest());
    HONE_TRY(followers->lead({Command::Kind::Save, completed}));
  }
  // Never replace a sound checkpoint by one that cannot go on.
  HONE_TRY(trainer.validate(completed));
  if (inputs.ranks)
    HONE_TRY(inputs.ranks->leadSave(trainer.trainables(), completed));
  HONE_TRY(saveOwn());
  if (!followers)
    return Status::ok();
  HONE_TRY(followers->awaitAnswers());
  HONE_TRY(forgetOld()); // the mark of the leader is there first
  return followers->lead({Command::Kind::Durable, completed});
}

Status Run::saveOwn() {
  HONE_TRY(inputs.folder.checkIsOurs());
  HONE_TRY(syncLogs());
  savedAt = completed;
  Status status =
      store.save(int64_t(completed), identity,
                 trainer.trainables().checkpointVectors(), evaluationFields());
  inputs.peak.sample();
  if (status.isOk() && hasSuspended)
    hasSuspended = !platform::removeFile(suspendedPath().c_str());
  return status;
}

//===----------------------------------------------------------------------===//
// In the middle of a step
//===----------------------------------------------------------------------===//

std::string Run::suspendedPath() const {
  return SuspendedFile::pathIn(inputs.options.output);
}

Status Run::findSuspended(const CheckpointStore::Found &newest) {
  const std::string path = suspendedPath();
  Result<std::optional<SuspendedFile>> opened = SuspendedFile::open(path);
  if (opened.status().errorCode() == ErrorCode::DamagedSuspended) {
    printWarning(ErrorCode::DamagedSuspended,
                 path + ": " + opened.status().message().problem);
    hasSuspended = true;
    return Status::ok();
  }
  if (!opened.isOk() || !opened.value())
    return opened.status();
  const SuspendedStep &step = opened.value()->step;
  hasSuspended = true;
  // A process that died between the step's checkpoint and its removal.
  if (!newest.directory.empty() && step.completed < uint64_t(newest.step)) {
    hasSuspended = !platform::removeFile(path.c_str());
    return Status::ok();
  }
  HONE_TRY(step.check(path, identity, inputs.module.abi().program_digest));
  goesOn = std::move(opened.value());
  offloadedElsewhere = goesOn->step.offloaded;
  return Status::ok();
}

Status Run::preparePauses() {
  const Options &options = inputs.options;
  if (goesOn)
    HONE_TRY(goesOn->read(trainer.memory()));
  if (!options.pauses())
    return Status::ok();
  PauseRule::Limits limits;
  limits.launch = goesOn ? goesOn->step.longest
                         : inputs.module.config().longestLaunchSeconds;
  if (options.timeLimit)
    limits.deadline = inputs.started + options.timeLimit.seconds();
  if (options.suspendEvery)
    limits.every = options.suspendEvery.seconds();
  HONE_ASSIGN(limits.writing,
              SuspendedFile::timeWriting(suspendedPath(), trainer.memory()));
  const double now = steadySeconds();
  const PauseRule rule(limits, inputs.module.abi().kernel_count, now);
  pause.emplace(
      rule,
      [asks = bool(options.suspend)] {
        return asks && stopRequested() != ExitCode::Success;
      },
      [this] { return suspend(); });
  if (!rule.isTimeUp(now))
    return Status::ok();
  char problem[256], remedy[64];
  snprintf(problem, sizeof(problem),
           "the start took %.2f s, a kernel takes up to %.2f s and writing the "
           "step %.2f s, which is more than %s",
           now - inputs.started, rule.longest(), rule.reserve(),
           options.timeLimit.text().c_str());
  snprintf(remedy, sizeof(remedy), "give --for %.0fs or more",
           std::ceil(1.1 * rule.leastFrom(inputs.started, now) + 0.1));
  return Status(ErrorCode::TooShort, "--for", problem, remedy);
}

Status Run::suspend() {
  HONE_TRY(syncLogs());
  SuspendedStep step;
  step.completed = completed;
  step.state = trainer.suspended();
  step.seconds = steadySeconds() - stepBegan;
  step.longest = pause->times().longest();
  step.offloaded = offloadedInStep();
  step.program = inputs.module.abi().program_digest;
  step.identity = identity;
  step.evaluation = evaluationFields();
  HONE_TRY(SuspendedFile::write(suspendedPath(), step, trainer.memory()));
  hasSuspended = true;
  suspended = step.describe();
  inputs.peak.sample();
  return Status::ok();
}

Status Run::train(uint64_t plannedBytes, ExitCode &outcome) {
  Progress progress(platform::StandardOutput,
                    platform::takesEscapes(platform::StandardOutput),
                    completed + 1, steps, plannedBytes);
  for (;;) {
    // The result was written before the mark of the end.
    if (isEnded && inputs.module.config().stepsAfterLast() > 0) {
      outcome = ExitCode::Success;
      return Status::ok();
    }
    Status status =
        follows() ? follow(progress, outcome) : trainOwn(progress, outcome);
    if (status.isOk() || !inputs.others)
      return status;
    const bool isAsked = stopRequested() != ExitCode::Success;
    if (isAsked || !inputs.others->isInterrupted())
      return leaveSaved(std::move(status), progress);
    // All have the last checkpoint that all saved; one that was stopped by a
    // signal has the step that this one has now.
    progress.note(printable(status.message().problem).c_str());
    if (savedAt != completed && completed <= steps)
      HONE_TRY(saveOwn());
    if (Status met = startTogether(); !met.isOk())
      return leaveSaved(std::move(met), progress);
  }
}

Status Run::trainOwn(Progress &progress, ExitCode &outcome) {
  const Options &options = inputs.options;
  if (!inputs.others && !goesOn)
    HONE_TRY(evaluateStart(progress));
  outcome = stopRequested();
  bool isBest = false;
  HONE_TRY(preparePauses());
  if (stopsEarly())
    puts("the run has stopped early already; a larger --early-stop continues "
         "it");
  while (completed < steps && !stopsEarly() && outcome == ExitCode::Success) {
    const uint64_t before = completed;
    Status status = goesOn ? Status::ok() : compareGradients(progress);
    if (status.isOk())
      status = step(progress);
    if (status.isOk() && completed == before) {
      progress.finish();
      outcome = stopRequested();
      if (outcome == ExitCode::Success)
        outcome = ExitCode::TimeUp;
      return Status::ok();
    }
    suspended.clear();
    bool last = completed == steps;
    isBest = false;
    if (status.isOk() && inputs.evalData &&
        (last || (options.evalEvery && completed % options.evalEvery == 0)))
      status = evaluate(progress, isBest);
    outcome = stopRequested();
    if (outcome == ExitCode::Success && !last && pause &&
        pause->times().isTimeUp(steadySeconds()))
      outcome = ExitCode::TimeUp;
    uint64_t every = options.settings.train.save_every;
    bool due = hasSuspended || (every && completed % every == 0);
    if (status.isOk() &&
        (last || due || isBest || stopsEarly() || outcome != ExitCode::Success))
      status = save();
    if (status.isOk() && isBest) {
      status = saveBest(completed);
      inputs.peak.sample();
    }
    if (!status.isOk()) {
      progress.finish();
      return status;
    }
  }
  progress.finish();
  // A run whose last process died between checkpoint and adapter has both
  // after this.
  if (savedAt != completed)
    HONE_TRY(save());
  if (inputs.others && outcome == ExitCode::Success)
    HONE_TRY(updateAfterLast(progress));
  Status status = writeAdapters(outcome == ExitCode::Success);
  inputs.peak.sample();
  if (status.isOk() && inputs.others && outcome == ExitCode::Success)
    status = endTogether();
  return status;
}

Status Run::readParameters(const CheckpointStore::Found &found) {
  return store.read(found, trainer.trainables().checkpointTargets());
}

Status Run::saveBest(uint64_t step) {
  HONE_TRY(trainer.trainables().save(bestFolder()));
  bestWritten = step;
  return inputs.others ? writeRunName(bestFolder(), runName) : Status::ok();
}

Status Run::writeAdapters(bool isDone) {
  const Options &options = inputs.options;
  Trainables &trainables = trainer.trainables();
  const std::optional<uint64_t> kept = bestStep();
  if (!kept)
    return trainables.save(options.output);
  const bool leavesBest = isDone && (options.loadBestModelAtEnd ||
                                     otherEvaluation.count(LeftField));
  const bool isLast = *kept == completed;
  // A process that died after the checkpoint left an adapter from before.
  const bool isWritten = bestWritten == *kept;
  const bool readsBest = !isLast && (leavesBest || !isWritten);
  Result<CheckpointStore::Found> best =
      readsBest ? store.at(int64_t(*kept),
                           {"the best evaluation",
                            "the newest checkpoint is sound, and --output has "
                            "the adapter of the last step; start again in "
                            "another --output for the best one"})
                : Result<CheckpointStore::Found>(CheckpointStore::Found());
  if (!leavesBest || !best.isOk())
    HONE_TRY(trainables.save(options.output));
  if (!best.isOk() && leavesBest)
    return best.status();
  if (!best.isOk()) {
    printWarning(ErrorCode::DamagedCheckpoint,
                 best.status().message().place +
                     ": the best evaluation's checkpoint is gone or damaged; " +
                     bestFolder() + " is left as it is");
    return Status::ok();
  }
  if (readsBest)
    HONE_TRY(readParameters(best.value()));
  if (!isWritten)
    HONE_TRY(saveBest(*kept));
  if (leavesBest)
    return trainables.save(options.output);
  if (!readsBest)
    return Status::ok();
  // The parameters are again those that the run ends with.
  Result<CheckpointStore::Found> last = store.at(
      int64_t(completed),
      {"the last step", "--output has the adapter of the last step, and best/ "
                        "that of the best evaluation"});
  return last.isOk() ? readParameters(last.value()) : last.status();
}

} // namespace hone::rt
