//===- Run.cpp - A training run from its checkpoint to its adapter --------===//
//
// A resumed run ends with the bits of an uninterrupted one. That promise is
// why an option that changes the numbers may not change between the runs of
// one output folder.
//
//===----------------------------------------------------------------------===//

#include "program/Run.h"

#include "program/Signals.h"

#include <algorithm>
#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <unistd.h>

namespace hone::rt {

static double now() {
  return std::chrono::duration<double>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

Run::Run(Inputs inputs, Trainer &trainer, CheckpointStore store)
    : inputs(inputs), trainer(trainer), store(std::move(store)) {
  const Options &options = inputs.options;
  order = {inputs.data.sampleCount(), inputs.module.config().train.batchSize,
           options.gradientAccumulationSteps, options.seed, options.shuffle};
  steps =
      options.steps ? options.steps : options.epochs * order.stepsPerEpoch();
  hyperparameters = {
      {options.scheduler, options.learningRate, options.warmupSteps, steps},
      options.weightDecay,
      options.maxGradNorm,
      options.seed};
}

/// Every option that the numbers of a step depend on.
CheckpointFields Run::fields() const {
  const Options &options = inputs.options;
  CheckpointFields out = {
      {"adapter", options.adapter},
      {"gradient-accumulation-steps",
       std::to_string(options.gradientAccumulationSteps)},
      {"learning-rate", formatExact(options.learningRate)},
      {"lr-scheduler-type", lrSchedulerName(options.scheduler)},
      {"max-grad-norm", formatExact(options.maxGradNorm)},
      {"seed", std::to_string(options.seed)},
      {"shuffle", options.shuffle ? "true" : "false"},
      {"warmup-steps", std::to_string(options.warmupSteps)},
      {"weight-decay", formatExact(options.weightDecay)},
  };
  // A constant rate does not know how long the run is, so it may grow.
  if (options.scheduler != LrScheduler::Constant)
    out["steps"] = std::to_string(steps);
  return out;
}

static std::string showField(const CheckpointFields &fields,
                             const std::string &name) {
  auto found = fields.find(name);
  if (found == fields.end() || found->second.empty())
    return "none";
  double value = 0;
  if (found->second.compare(0, 2, "0x") != 0 ||
      !parseExact(found->second, value))
    return found->second;
  char text[32];
  snprintf(text, sizeof(text), "%.10g", value);
  return text;
}

Status Run::compareFields(const CheckpointFields &saved) const {
  CheckpointFields mine = fields(), all = mine;
  all.insert(saved.begin(), saved.end());
  std::string differences;
  for (const auto &[name, value] : all) {
    CheckpointFields::const_iterator before = saved.find(name),
                                     here = mine.find(name);
    if (before != saved.end() && here != mine.end() &&
        before->second == here->second)
      continue;
    differences += (differences.empty() ? "--" : ", --") + name + " (was " +
                   showField(saved, name) + ", now " + showField(mine, name) +
                   ")";
  }
  if (differences.empty())
    return Status::ok();
  return Status::error(
      ExitCode::Usage,
      {inputs.options.output,
       "the run in this folder was started with other options: " + differences,
       "repeat its options to resume it, or give another --output; --adapter " +
           inputs.options.output + " starts a new run from its adapter"});
}

Status Run::start() {
  const Options &options = inputs.options;
  Result<CheckpointStore::Loaded> loaded =
      store.load(inputs.identity, trainer.trainables().checkpointTargets());
  if (!loaded.isOk())
    return loaded.status();
  for (const std::string &note : loaded.value().notes)
    fprintf(stderr, "warning: %s\n", note.c_str());
  if (loaded.value().found) {
    if (Status status = compareFields(loaded.value().fields); !status.isOk())
      return status;
    completed = savedAt = uint64_t(loaded.value().step);
    if (completed > steps)
      return Status::error(ExitCode::Usage,
                           {loaded.value().directory,
                            "the run has " + std::to_string(completed) +
                                " steps behind it, more than the " +
                                std::to_string(steps) + " asked for",
                            "ask for at least as many --steps, or give "
                            "another --output"});
    printf("resuming after step %" PRIu64 " from %s\n", completed,
           loaded.value().directory.c_str());
  } else if (!options.adapter.empty()) {
    if (Status status = trainer.trainables().load(options.adapter);
        !status.isOk())
      return status;
    printf("starting from the adapter in %s\n", options.adapter.c_str());
  } else {
    trainer.trainables().initialize(options.seed);
  }
  fflush(stdout);
  inputs.peak.sample(); // with the checkpoint's or the adapter's pages
  Result<StepLog> opened = StepLog::open(options.log, inputs.name, completed);
  if (!opened.isOk())
    return opened.status();
  log = std::move(opened.value());
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
                    inputs.peak.resident()};
  progress.step(record, after, took);
  return log.step(record);
}

Status Run::evaluate(Progress &progress) {
  double loss = trainer.evaluate(*inputs.evalData, order.batchSize);
  char line[96];
  snprintf(line, sizeof(line), "step %" PRIu64 "  eval loss %.6f", completed,
           loss);
  progress.note(line);
  return log.evaluation(completed, loss);
}

Status Run::save() {
  // A finite gradient can still overflow theta; never replace a sound
  // checkpoint by one that cannot go on.
  if (!trainer.trainables().isFinite())
    return Status::error(ExitCode::BadData,
                         {"step " + std::to_string(completed),
                          "expects finite parameters but got NaN or infinity",
                          "lower --learning-rate; the checkpoints from before "
                          "are kept"});
  if (Status status = log.sync(); !status.isOk())
    return status;
  savedAt = completed;
  Status status = store.save(int64_t(completed), inputs.identity, fields(),
                             trainer.trainables().checkpointVectors());
  inputs.peak.sample();
  return status;
}

Status Run::train(uint64_t plannedBytes, ExitCode &outcome) {
  const Options &options = inputs.options;
  Progress progress(STDOUT_FILENO, isatty(STDOUT_FILENO) == 1, completed + 1,
                    steps, plannedBytes);
  outcome = stopRequested();
  while (completed < steps && outcome == ExitCode::Success) {
    Status status = step(progress);
    bool last = completed == steps;
    if (status.isOk() && inputs.evalData &&
        (last || (options.evalEvery && completed % options.evalEvery == 0)))
      status = evaluate(progress);
    outcome = stopRequested();
    bool due = options.saveEvery && completed % options.saveEvery == 0;
    if (status.isOk() && (last || due || outcome != ExitCode::Success))
      status = save();
    if (!status.isOk()) {
      progress.finish();
      return status;
    }
  }
  progress.finish();
  // A run whose last process died between checkpoint and adapter has both
  // after this.
  if (savedAt != completed)
    if (Status status = save(); !status.isOk())
      return status;
  Status status = trainer.trainables().save(options.output);
  inputs.peak.sample();
  return status;
}

} // namespace hone::rt
