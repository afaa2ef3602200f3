//===- Run.cpp - A training run from its checkpoint to its adapter --------===//
//
// A resumed run ends with the bits of an uninterrupted one. That promise is
// why an option that changes the numbers may not change between the runs of
// one output folder.
//
//===----------------------------------------------------------------------===//

#include "program/Run.h"

#include "platform/Files.h"
#include "program/Signals.h"

#include <algorithm>
#include <chrono>
#include <cinttypes>
#include <cmath>
#include <cstdio>

namespace hone::rt {

static double now() {
  return std::chrono::duration<double>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

Run::Run(Inputs inputs, Trainer &trainer, CheckpointStore store)
    : inputs(inputs), trainer(trainer), store(std::move(store)) {
  const Options &options = inputs.options;
  const TrainSettings &train = options.settings.train;
  order = {inputs.data.sampleCount(), uint64_t(train.batch_size),
           uint64_t(train.gradient_accumulation_steps), uint64_t(train.seed),
           train.shuffle};
  uint64_t epochs = std::min<uint64_t>(train.epochs, mostEpochs());
  steps = train.steps ? train.steps : epochs * order.stepsPerEpoch();
  hyperparameters = {options.settings, steps};
  identity = identityOf(inputs.module, options.settings, options.changed(),
                        inputs.data.name(), steps);
  this->store.keep(uint64_t(train.save_total_limit));
  if (keepsBest())
    bestSoFar = {options.metricForBestModel, inputs.evalData->name()};
}

std::string Run::logPath() const {
  const Options &options = inputs.options;
  return options.log.empty() ? options.output + "/" + LogName
                             : std::string(options.log);
}

uint64_t Run::mostEpochs() const {
  return uint64_t(counts.most) / order.stepsPerEpoch();
}

/// What a checkpoint of another run can be told.
static Status otherRun(ErrorCode code, const std::string &output,
                       const std::string &problem, const std::string &remedy) {
  return Status(code, output, problem,
                remedy + ", or give another --output; --adapter " + output +
                    " starts a new run from its adapter");
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

Status Run::start() {
  const Options &options = inputs.options;
  const TrainSettings &train = options.settings.train;
  if (train.steps == 0 && uint64_t(train.epochs) > mostEpochs())
    return Status(ErrorCode::WrongOption, "--epochs",
                  "expects at most " + std::to_string(mostEpochs()) + ", of " +
                      std::to_string(order.stepsPerEpoch()) +
                      " steps each, but got " + train.epochs.text(),
                  "give fewer, or --steps");
  HONE_ASSIGN(CheckpointStore::Found newest, store.newest());
  const CheckpointStore::Found &found = newest;
  for (const std::string &note : found.notes)
    fprintf(stderr, "%s: %s\n",
            label("warning", ErrorCode::DamagedCheckpoint).c_str(),
            note.c_str());
  std::string otherNumerics;
  if (!found.directory.empty()) {
    HONE_TRY(compare(found.identity, otherNumerics));
    completed = savedAt = uint64_t(found.step);
    if (completed > steps)
      return Status(ErrorCode::BeyondLastStep, found.directory,
                    "the run has already made " + std::to_string(completed) +
                        " steps, more than the " + std::to_string(steps) +
                        " asked for",
                    "ask for at least as many --steps, or give "
                    "another --output");
    HONE_TRY(readParameters(found));
    printf("resuming after step %" PRIu64 " from %s\n", completed,
           found.directory.c_str());
    HONE_TRY(takeUpBest(found));
  } else if (!options.adapter.empty()) {
    HONE_TRY(trainer.trainables().load(options.adapter, AdapterUse::Train));
    printf("starting from the adapter in %s\n", options.adapter.c_str());
  } else {
    trainer.trainables().initialize(options.settings.train.seed);
  }
  fflush(stdout);
  HONE_TRY(startReplay(found.directory.empty() && !found.notes.empty()));
  inputs.peak.sample(); // with the checkpoint's or the adapter's pages
  HONE_ASSIGN(log, StepLog::open(logPath(), inputs.name, completed));
  if (inputs.module.compares()) {
    HONE_ASSIGN(comparisons, ComparisonLog::open(options.output, inputs.name,
                                                 completed, inputs.module));
    comparison.emplace(inputs.module);
  }
  if (otherNumerics.empty())
    return Status::ok();
  fprintf(stderr, "%s: %s: from here on the run is computed differently: %s\n",
          label("warning", ErrorCode::OtherNumerics).c_str(),
          found.directory.c_str(), otherNumerics.c_str());
  return log.otherNumerics(completed, otherNumerics);
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
  double before = now();
  Trainer::StepResult result;
  Status status =
      trainer.step(inputs.data, order, hyperparameters, completed, result);
  if (!status.isOk())
    return status;
  double after = now(), took = std::max(after - before, 1e-9);
  ++completed;
  ++ran;
  tokens += double(result.tokens);
  seconds += took;
  inputs.peak.sample();
  StepRecord record{completed,
                    result.loss,
                    result.learningRate,
                    result.gradientNorm,
                    double(result.tokens) / took,
                    inputs.peak.anonymous(),
                    inputs.peak.resident(),
                    result.lowerLearningRate,
                    result.selectedLayers};
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
             "step %" PRIu64 "  %" PRIu64
             " elements of compared gradients are not finite",
             completed + 1, comparison->all.notFinite);
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

Status Run::evaluate(Progress &progress, bool &isBest) {
  HONE_ASSIGN(Evaluation found,
              trainer.evaluate(*inputs.evalData, order.batchSize, completed));
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
  HONE_ASSIGN(started,
              trainer.evaluate(*inputs.evalData, order.batchSize, completed));
  progress.note(textOf(*started).c_str());
  report(*started, /*isBest=*/false);
  return Status::ok();
}

Status Run::save() {
  // Never replace a sound checkpoint by one that cannot go on.
  HONE_TRY(trainer.validate(completed));
  HONE_TRY(log.sync());
  HONE_TRY(replay.sync());
  HONE_TRY(comparisons.sync());
  inputs.report.flush();
  savedAt = completed;
  Status status = store.save(
      int64_t(completed), identity, trainer.trainables().checkpointVectors(),
      keepsBest() ? bestSoFar.fields() : otherEvaluation);
  inputs.peak.sample();
  return status;
}

Status Run::train(uint64_t plannedBytes, ExitCode &outcome) {
  const Options &options = inputs.options;
  Progress progress(platform::StandardOutput,
                    platform::isTerminal(platform::StandardOutput),
                    completed + 1, steps, plannedBytes);
  HONE_TRY(evaluateStart(progress));
  outcome = stopRequested();
  bool isBest = false;
  if (stopsEarly())
    puts("the run has stopped early already; a larger --early-stop continues "
         "it");
  while (completed < steps && !stopsEarly() && outcome == ExitCode::Success) {
    Status status = compareGradients(progress);
    if (status.isOk())
      status = step(progress);
    bool last = completed == steps;
    isBest = false;
    if (status.isOk() && inputs.evalData &&
        (last || (options.evalEvery && completed % options.evalEvery == 0)))
      status = evaluate(progress, isBest);
    outcome = stopRequested();
    uint64_t every = options.settings.train.save_every;
    bool due = every && completed % every == 0;
    if (status.isOk() &&
        (last || due || isBest || stopsEarly() || outcome != ExitCode::Success))
      status = save();
    if (status.isOk() && isBest) {
      status = trainer.trainables().save(bestFolder());
      bestWritten = completed;
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
  Status status = writeAdapters(outcome == ExitCode::Success);
  inputs.peak.sample();
  return status;
}

Status Run::readParameters(const CheckpointStore::Found &found) {
  return store.read(found, trainer.trainables().checkpointTargets());
}

Status Run::writeAdapters(bool isDone) {
  const Options &options = inputs.options;
  Trainables &trainables = trainer.trainables();
  if (!keepsBest() || !bestSoFar.exists())
    return trainables.save(options.output);
  const bool leavesBest = isDone && options.loadBestModelAtEnd;
  const bool isLast = bestSoFar.step() == completed;
  // A process that died after the checkpoint left an adapter from before.
  const bool isWritten = bestWritten == bestSoFar.step();
  const bool readsBest = !isLast && (leavesBest || !isWritten);
  Result<CheckpointStore::Found> best =
      readsBest ? store.at(int64_t(bestSoFar.step()))
                : Result<CheckpointStore::Found>(CheckpointStore::Found());
  if (!leavesBest || !best.isOk())
    HONE_TRY(trainables.save(options.output));
  if (!best.isOk() && leavesBest)
    return best.status();
  if (!best.isOk()) {
    fprintf(stderr,
            "%s: %s: the best evaluation's checkpoint is gone or "
            "damaged; %s is left as it is\n",
            label("warning", ErrorCode::DamagedCheckpoint).c_str(),
            best.status().message().place.c_str(), bestFolder().c_str());
    return Status::ok();
  }
  if (readsBest)
    HONE_TRY(readParameters(best.value()));
  if (!isWritten)
    HONE_TRY(trainables.save(bestFolder()));
  if (leavesBest)
    return trainables.save(options.output);
  if (!readsBest)
    return Status::ok();
  // The parameters are again those that the run ends with.
  Result<CheckpointStore::Found> last = store.at(int64_t(completed));
  return last.isOk() ? readParameters(last.value()) : last.status();
}

} // namespace hone::rt
