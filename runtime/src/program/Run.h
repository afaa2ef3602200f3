//===- Run.h - A training run from its checkpoint to its adapter ----------===//
//
// Decides when to evaluate, log, save and stop; the numbers are Trainer's.
// After a step the order is: log line, evaluation, checkpoint. So a checkpoint
// counts on a log that is complete up to its step. The best evaluation's step
// has a checkpoint too, so that it survives a kill. Gradients are compared
// before a step: its update may fail, and they may say why. A step that was
// suspended ends with a checkpoint, which takes the place of its file.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "base/Status.h"
#include "data/Dataset.h"
#include "formats/OutputFolder.h"
#include "formats/ReplayLog.h"
#include "module/Memory.h"
#include "program/BestEvaluation.h"
#include "program/ComparisonLog.h"
#include "program/Options.h"
#include "program/Progress.h"
#include "program/RankGroup.h"
#include "program/RunReport.h"
#include "program/StepLog.h"
#include "program/Together.h"
#include "step/RunIdentity.h"
#include "step/SuspendedStep.h"
#include "step/TimedPause.h"
#include "step/Trainer.h"

#include <cstdint>
#include <optional>
#include <string>

namespace hone::rt {

class Run {
public:
  /// The field of a checkpoint of a program that follows which says that the
  /// best parameters are the run's result.
  static constexpr const char *LeftField = "left";
  /// Where the log is without --log, in --output.
  static constexpr const char *LogName = "steps.jsonl";

  struct Inputs {
    const Module &module;
    const Options &options;
    const Dataset &data;
    const Dataset *evalData;    ///< may be null
    const OutputFolder &folder; ///< claimed
    PeakMeter &peak;            ///< of the whole process
    RunReport &report;          ///< started between start() and train()
    double started;             ///< the process, by steadySeconds()
    Ensemble *others = nullptr; ///< programs that train with this one
    RankGroup *ranks = nullptr; ///< programs that share its batches
  };

  Run(Inputs inputs, Trainer &trainer, CheckpointStore store);

  /// Steps of the whole run, from --steps or --epochs.
  uint64_t totalSteps() const { return steps; }
  const SampleOrder &sampleOrder() const { return order; }

  /// Whether another program has the data and gives commands.
  bool follows() const { return inputs.others && !inputs.others->leads(); }

  /// Takes up the newest checkpoint in --output, or starts a new run from
  /// --adapter or the seed. Prints which. Errors: Usage when the checkpoint is
  /// of another identity, naming the differences; as CheckpointStore.
  Status start();

  /// Trains until the last step or a signal, then writes the adapter.
  /// `outcome` is Success, 128 + the signal's number, or TimeUp. Errors: also
  /// TooShort, before the first step.
  Status train(uint64_t plannedBytes, ExitCode &outcome);

  /// Whether start() took up a step in its middle.
  bool isInMidStep() const { return goesOn.has_value(); }
  /// The file of the step that train() left in its middle; empty: it left none.
  const std::string &suspension() const { return suspended; }
  /// Seconds that writing it took.
  double suspensionSeconds() const { return pause ? pause->writing : 0; }

  /// --log, or the file of the run's folder that has the log without it.
  std::string logPath() const;
  uint64_t completedSteps() const { return completed; }
  const PeakMeter &peak() const { return inputs.peak; }
  /// Whether this process goes on with a run that another one began.
  bool isResumed() const { return resumed; }
  /// Bytes that this process wrote to the file of offloaded values; as many
  /// were read.
  uint64_t offloadedBytes() const {
    return trainer.offloaded() ? trainer.offloaded()->writtenBytes() : 0;
  }
  /// Of those, the bytes of the step under way, by processes before, too.
  uint64_t offloadedInStep() const {
    return offloadedElsewhere + offloadedBytes() - offloadedBefore;
  }
  /// Of this process's steps, on average; 0 before the first.
  double secondsPerStep() const { return ran ? seconds / double(ran) : 0; }
  double tokensPerSecond() const { return seconds > 0 ? tokens / seconds : 0; }
  const ComparedSteps &compared() const { return comparisons.steps(); }
  /// The last one of this process; none: it made none.
  const std::optional<Evaluation> &lastEvaluation() const { return evaluated; }
  /// The one before the first step of a new run; none: this process did not
  /// begin it.
  const std::optional<Evaluation> &firstEvaluation() const { return started; }
  const BestEvaluation &best() const { return bestSoFar; }
  /// Where the adapter of the best evaluation is.
  std::string bestFolder() const;
  /// Before the last step, because evaluations became no better.
  bool stopsEarly() const;

private:
  /// The same of a run of several programs: at the newest step that all have.
  Status startTogether();
  /// Parameters and log after `step` steps, from the checkpoint if there is
  /// one.
  Status takeUp(uint64_t step, bool hasCheckpoint);
  void settle(uint64_t stepsOfRun);
  /// Whether a run of these options ends with the checkpoint of `step`, also
  /// early.
  bool endsAt(int64_t step) const;
  Status trainOwn(Progress &progress, ExitCode &outcome);
  /// Obeys the program that leads, until it says that all is done.
  Status follow(Progress &progress, ExitCode &outcome);
  Status obey(const Command &command, Progress &progress);
  /// The mark that all have the run's last state. The leader has it first, so
  /// that others which end with it do not leave before it.
  std::string endMark() const {
    return inputs.options.output + "/together.done";
  }
  /// Whether all have that mark, so that nobody needs the one that leads.
  std::string knownMark() const {
    return inputs.options.output + "/together.known";
  }
  /// Whether there may be a program that has saved nothing yet.
  std::string startMark() const {
    return inputs.options.output + "/together.start";
  }
  /// Keeps the name of a run that the program which leads begins or goes on
  /// with, before another one can have a name that this one lacks.
  Status nameRun(const Ensemble::Start &start) const;
  /// In a program that follows, checks that --steps, if given, is that of the
  /// run.
  Status checkSteps(uint64_t stepsOfRun) const;
  /// The end of a run of several programs.
  Status endTogether();
  /// Says that this program and all after it have the end. One of them that
  /// gives no sign then ends this one, too, which has all that it needs.
  Status answerAtEnd();
  /// At the end, when all have saved: a program that gives no sign costs
  /// nothing.
  Status leaveOthers(Status status) const;
  /// How many steps after a derivative this program makes its update.
  uint64_t stepsLate() const;
  /// The updates that are late when the last step is made. Of the program that
  /// leads.
  Status updateAfterLast(Progress &progress);
  /// Writes the run's result where it is in no checkpoint.
  Status saveResult();
  /// More have more steps than can be counted.
  uint64_t mostEpochs() const;
  Status step(Progress &progress);
  /// Logs an update, of this program's decision or another's, that has just
  /// been made; `began`: its start, by steadySeconds().
  Status record(const Trainer::StepResult &result, double began,
                Progress &progress);
  /// Gradients of the next step, if it is one to compare.
  Status compareGradients(Progress &progress);
  /// Fails where the loss is not finite.
  Result<Evaluation> finiteEvaluation();
  /// `isBest`: nothing before was better, and it is to be kept.
  Status evaluate(Progress &progress, bool &isBest);
  /// Evaluates the starting parameters of a new run, for its report alone.
  Status evaluateStart(Progress &progress);
  /// A line for a person.
  std::string textOf(const Evaluation &found) const;
  void report(const Evaluation &found, bool isBest);
  /// Whether the best evaluation is kept.
  bool keepsBest() const { return inputs.options.keepsBest(); }
  Status takeUpBest(const CheckpointStore::Found &found);
  /// Begins in the step that goes on; `before` is the newest checkpoint.
  Status resumeInStep(const CheckpointStore::Found &before);
  /// Begins with the checkpoint `found`. `otherNumerics` as of compare().
  Status resumeAfter(const CheckpointStore::Found &found,
                     std::string &otherNumerics);
  /// Completed steps at the best evaluation, by this program or the one that
  /// leads; none: there was none, or it is not kept.
  std::optional<uint64_t> bestStep() const;
  /// Tells the others, before they save.
  Status leadBest();
  Status readParameters(const CheckpointStore::Found &found);
  /// The parameters, which are those after `step`, as the best evaluation's.
  Status saveBest(uint64_t step);
  /// Writes the adapter to --output, and that of the best evaluation. A best
  /// checkpoint that is gone is an error where it was asked for alone.
  Status writeAdapters(bool isDone);
  /// With the programs that follow this one, if there are any.
  Status save();
  /// The parameters and the files that count on them, of this program; to
  /// validate parameters takes all programs.
  Status saveOwn();
  /// In a run of several programs, saves the last whole step, which a wait that
  /// ended early left as it was, and says so; `status` is why it ended.
  Status leaveSaved(Status status, Progress &progress);
  /// The traffic since the last step, into `record`.
  void noteTraffic(StepRecord &record);
  /// Makes the logs durable, before a checkpoint or a suspended step.
  Status syncLogs();
  CheckpointFields evaluationFields() const;
  /// Takes up a step that was suspended after the newest checkpoint, `newest`.
  Status findSuspended(const CheckpointStore::Found &newest);
  /// Reads the step that goes on, and sets the clock. Errors: TooShort.
  Status preparePauses();
  /// Writes the step that runs.
  Status suspend();
  std::string suspendedPath() const;
  /// In a run of several programs, removes checkpoints older than the newest
  /// that all have.
  Status forgetOld();
  /// The parameters of a run without a checkpoint: --adapter's, or drawn ones.
  Status initialize();
  /// Checks that no more steps are completed than were asked for; `place` has
  /// them.
  Status checkSteps(const std::string &place) const;
  /// Begins replay.hone, or goes on in it. With `lostCheckpoints` one that is
  /// there is not replaced.
  Status startReplay(bool lostCheckpoints);
  /// `otherNumerics`: how they differ, if the options allow it.
  Status compare(const CheckpointIdentity &saved,
                 std::string &otherNumerics) const;

  Inputs inputs;
  Trainer &trainer;
  CheckpointStore store;
  SampleOrder order;
  Hyperparameters hyperparameters;
  CheckpointIdentity identity;
  StepLog log;
  ReplayWriter replay;
  ComparisonLog comparisons;
  std::optional<GradientComparison> comparison; ///< none: nothing is compared
  std::optional<Evaluation> started, evaluated;
  BestEvaluation bestSoFar;
  /// A checkpoint's values of evaluations that this process does not make; in a
  /// program that follows, those that it was told.
  CheckpointFields otherEvaluation;
  uint64_t bestWritten = UINT64_MAX; ///< step of the adapter in bestFolder()
  uint64_t runName = 0;              ///< of several programs: see readRunName()
  uint64_t steps = 0, completed = 0;
  uint64_t savedAt = UINT64_MAX;   ///< completed steps of the newest checkpoint
  double tokens = 0, seconds = 0;  ///< of this process's steps
  uint64_t offloadedBefore = 0;    ///< offloadedBytes() after the step before
  uint64_t offloadedElsewhere = 0; ///< of this step, by processes before
  uint64_t ran = 0;                ///< steps of this process
  std::optional<SuspendedFile> goesOn; ///< the step that is taken up
  std::optional<TimedPause> pause;     ///< none: steps run to their ends
  bool hasSuspended = false;           ///< there is a file of a step
  std::string suspended;               ///< see suspension()
  double stepBegan = 0;   ///< as if the step had run without a break
  bool resumed = false;   ///< see isResumed()
  bool isEnded = false;   ///< of several programs: nothing is left to do
  Session::Traffic noted; ///< of the steps that are in the log
};

} // namespace hone::rt
