//===- Together.cpp - Programs of one model, of a command line ------------===//
//
// Has openTogether, and the parts of Run for several programs that train one
// model. All save at the same steps; a checkpoint stays until all have a newer
// one. So after any kill there is a step that all have, and all go on from it.
//
//===----------------------------------------------------------------------===//

#include "program/Together.h"

#include "base/OutputFile.h"
#include "exchange/Engine.h"
#include "exchange/LinkPlan.h"
#include "exchange/Pieces.h"
#include "formats/RunName.h"
#include "module/Schedule.h"
#include "platform/Files.h"
#include "platform/System.h"
#include "program/Launch.h"
#include "program/Meeting.h"
#include "program/Run.h"
#include "program/Signals.h"
#include "program/StandardOutput.h"

#include <algorithm>
#include <chrono>
#include <cinttypes>
#include <cstdlib>

namespace hone::rt {

static constexpr CheckpointStore::Need stepOfAll = {
    "the step that all programs go on after",
    "start all of them again: they go on after the newest step of which each "
    "has a sound checkpoint"};

Result<const hone_engine *> engineOf(const Options &options) {
  return findEngine(platform::parentDirectory(platform::programPath()),
                    options.exchange);
}

/// The longest message to or from `peer` in all schedules.
static uint64_t longestMessage(const Module &module, const std::string &peer) {
  uint64_t longest = 0;
  for (uint32_t i = 0; i < module.abi().schedule_count; ++i)
    longest =
        std::max(longest, longestMessage(module.abi().schedules[i], peer));
  return longest;
}

std::vector<std::string> peersOf(const Module &module) {
  const auto [before, after] =
      module.config().neighboursOf(module.config().program);
  std::vector<std::string> peers;
  for (const std::string &each : {before, after})
    if (!each.empty())
      peers.push_back(each);
  return peers;
}

static std::vector<Ensemble::Link> linksOf(const Module &module,
                                           const LinkPlan &plan) {
  std::vector<Ensemble::Link> links;
  for (const std::string &peer : peersOf(module))
    links.push_back({peer, plan.payloadFor(longestMessage(module, peer))});
  return links;
}

static LinkPlan planOf(const Module &module, const hone_engine &engine) {
  return {engine, module.config().programs().size()};
}

Result<uint64_t> exchangeBytes(const Module &module, const Options &options) {
  if (options.exchange.empty() || peersOf(module).empty())
    return uint64_t(0);
  HONE_ASSIGN(const hone_engine *engine, engineOf(options));
  const LinkPlan plan = planOf(module, *engine);
  std::vector<uint64_t> payloads;
  for (const Ensemble::Link &link : linksOf(module, plan))
    payloads.push_back(link.payload);
  return plan.bytes(payloads);
}

std::map<std::string, std::string> equalOf(const Module &module,
                                           const Settings &settings) {
  std::map<std::string, std::string> equal;
  for (const Setting *setting : settings.all())
    if (setting->bits != Bits::None && settings.isReadByTraining(*setting))
      equal[setting->identity()] = setting->text();
  const ModuleConfig &config = module.config();
  equal["model"] = config.modelName;
  equal["weights"] = config.weightsSourceHash;
  return equal;
}

std::string linesOf(const std::map<std::string, std::string> &equal) {
  std::string lines;
  for (const auto &[name, value] : equal)
    lines += joined({name, "=", value, "\n"});
  return lines;
}

/// Refuses options that only the program that leads reads: the others would
/// pass them over in silence.
static Status checkFollower(const std::string &self, const std::string &leader,
                            const Options &options) {
  const Setting *const ofLeader[] = {&options.data,
                                     &options.evalData,
                                     &options.evalSplit,
                                     &options.evalEvery,
                                     &options.earlyStop,
                                     &options.metricForBestModel,
                                     &options.tooLong,
                                     &options.loadBestModelAtEnd,
                                     &options.map,
                                     &options.skipUnusable,
                                     &options.kShot,
                                     &options.chatDate,
                                     &options.showSamples,
                                     &options.specialTokens,
                                     &options.settings.train.epochs,
                                     &options.settings.train.save_every};
  for (const Setting *setting : ofLeader)
    if (options.isGiven(*setting))
      return failed(ErrorCode::OptionsDisagree, {setting->spelling()},
                    {"the program '", leader, "' has the data, and '", self,
                     "' is given what it needs"},
                    joined({"leave ", setting->spelling(), " out"}));
  return Status::ok();
}

/// Whether the program of `module` is to train with those of other parts.
static bool isOneOfParts(const Module &module, const Options &options) {
  return !options.exchange.empty() && !module.config().program.empty();
}

Status checkTogether(const Module &module, const Options &options) {
  if (!isOneOfParts(module, options))
    return Status::ok();
  const std::string &self = module.config().program,
                    leader = module.config().programs().front();
  if (self != leader)
    HONE_TRY(checkFollower(self, leader, options));
  else if (options.data.empty())
    return failed(ErrorCode::MissingOption, {"command line"},
                  {"expects --data but got none: '", self,
                   "' has the data for all programs"},
                  "add --data FILE; --help lists the options");
  return checkMeeting(options, peersOf(module));
}

Result<std::unique_ptr<Ensemble>> openTogether(const Module &module,
                                               const Options &options) {
  if (!isOneOfParts(module, options))
    return std::unique_ptr<Ensemble>();
  const ModuleConfig &config = module.config();
  Ensemble::About about;
  const std::vector<std::string> all = config.programs();
  about.leader = all.front();
  about.self = config.program;
  const auto [before, after] = config.neighboursOf(config.program);
  about.before = before;
  if (!after.empty())
    about.after = {after};
  HONE_ASSIGN(about.engine, engineOf(options));
  about.links = linksOf(module, planOf(module, *about.engine));
  about.address = options.exchangeAt;
  HONE_TRY(checkLaunch(options, all));
  std::map<std::string, std::string> equal = equalOf(module, options.settings);
  const Settings &settings = options.settings;
  // Each program's own plan decides which kept values are rounded.
  equal.erase(settings.train.kept_dtype.identity());
  if (settings.hasOwnTargets())
    for (const Setting *setting :
         {static_cast<const Setting *>(&settings.target.triple),
          static_cast<const Setting *>(&settings.target.features),
          static_cast<const Setting *>(&settings.train.bfloat16_products)})
      equal.erase(setting->identity());
  about.equal = linesOf(equal);
  about.patience = patienceOf(options);
  return Ensemble::open(std::move(about));
}

//===----------------------------------------------------------------------===//
// A run of several programs
//===----------------------------------------------------------------------===//

/// The program that leads may have ended, since it takes this folder for one
/// that has the result.
static Status fromNewFolder(Status status) {
  if (status.errorCode() != ErrorCode::PeerLost)
    return status;
  Message told = status.message();
  told.remedy = "start the program that leads, too; if it says that all have "
                "the result and this one's --output was lost, remove "
                "together.known from the folder of the one that leads first";
  return Status(ErrorCode::PeerLost, std::move(told));
}

Status Run::startTogether() {
  std::vector<std::string> notes;
  HONE_ASSIGN(std::vector<int64_t> saved, store.sound(notes));
  for (const std::string &note : notes)
    printWarning(ErrorCode::DamagedCheckpoint, note);
  // Where another program may have saved nothing yet, the beginning is common.
  const bool isNew = saved.empty();
  if (isNew || platform::exists(startMark()))
    saved.push_back(0);
  isEnded = false;
  const bool isDone =
      platform::exists(endMark()) && (follows() || endsAt(saved.front()));
  const bool isNeeded = !isDone || !platform::exists(knownMark());
  HONE_ASSIGN(const uint64_t run, readRunName(inputs.options.output));
  // A leader that dies before others know of a longer run needs them again.
  auto leaveMarks = [this](const Ensemble::Start &start) {
    if (start.step < start.steps)
      for (const std::string &mark : {knownMark(), endMark()})
        platform::removeFile(mark.c_str());
  };
  auto decided = [&](const Ensemble::Start &start) {
    if (start.run != run)
      HONE_TRY(nameRun(start));
    leaveMarks(start);
    return Status::ok();
  };
  Result<Ensemble::Start> met =
      inputs.others->beginRound({saved, run}, steps, isNeeded, decided);
  const bool mayBeAlone =
      isDone && met.status().errorCode() == ErrorCode::PeerLost;
  if (!met.isOk() && !mayBeAlone)
    return isNew && follows() ? fromNewFolder(met.status()) : met.status();
  // The others are done, too: each has the last step, and knows it.
  isEnded = mayBeAlone;
  if (mayBeAlone && !isNeeded && !follows())
    printf("all have the result, so this program waits no longer for %s; "
           "without %s it waits for --timeout\n",
           met.status().message().place.c_str(), knownMark().c_str());
  const Ensemble::Start start =
      mayBeAlone ? Ensemble::Start{uint64_t(saved.front()),
                                   uint64_t(saved.front()), run}
                 : met.value();
  if (follows()) {
    HONE_TRY(checkSteps(start.steps));
    settle(start.steps);
    leaveMarks(start);
  }
  if (start.step == 0)
    HONE_TRY(writeFile(startMark(), ""));
  HONE_TRY(takeUp(start.step, start.step > 0));
  // Before anything is saved, so all checkpoints of a folder are of its run.
  if (follows() && start.run != run)
    HONE_TRY(writeRunName(inputs.options.output, start.run));
  runName = start.run;
  return Status::ok();
}

Status Run::checkSteps(uint64_t stepsOfRun) const {
  const Integer &own = inputs.options.settings.train.steps;
  if (!inputs.options.isGiven(own) || own == 0 || uint64_t(own) == stepsOfRun)
    return Status::ok();
  return failed(
      ErrorCode::PartsDiffer,
      {"the program '", inputs.module.config().programs().front(), "'"},
      {"differs in --steps (here ", own.text(), ", there ",
       std::to_string(stepsOfRun), ")"},
      "give both the same, or --steps to that program alone");
}

Status Run::nameRun(const Ensemble::Start &start) const {
  // A folder that is refused stays as it was.
  if (start.step > 0) {
    HONE_ASSIGN(CheckpointStore::Found found,
                store.at(int64_t(start.step), stepOfAll));
    std::string otherNumerics;
    HONE_TRY(compare(found.identity, otherNumerics));
  }
  return writeRunName(inputs.options.output, start.run);
}

bool Run::endsAt(int64_t step) const {
  if (!inputs.options.earlyStop || uint64_t(step) == steps)
    return uint64_t(step) == steps;
  BestEvaluation best{inputs.options.metricForBestModel,
                      inputs.evalData->name()};
  bool isSame = false;
  Result<CheckpointStore::Found> found = store.at(step, stepOfAll);
  return found.isOk() &&
         best.restore(found.value().evaluation, found.value().directory, isSame)
             .isOk() &&
         best.waited() >= uint64_t(inputs.options.earlyStop);
}

Status Run::takeUp(uint64_t step, bool hasCheckpoint) {
  CheckpointStore::Found found;
  if (hasCheckpoint) {
    HONE_ASSIGN(found, store.at(int64_t(step), stepOfAll));
    std::string otherNumerics;
    HONE_TRY(compare(found.identity, otherNumerics));
    HONE_TRY(readParameters(found));
    resumed |= ran == 0;
    printf("%s step %" PRIu64 " from %s\n",
           ran == 0 ? "resuming after" : "all programs go on after", step,
           found.directory.c_str());
  } else {
    HONE_TRY(initialize());
  }
  fflush(stdout);
  store.forgetAfter(int64_t(step));
  completed = step;
  savedAt = hasCheckpoint ? step : UINT64_MAX;
  if (!isEnded)
    HONE_TRY(trainer.sendAgain(completed));
  HONE_TRY(checkSteps(inputs.options.output));
  trainer.beginEvaluation(completed);
  bestWritten = UINT64_MAX;
  otherEvaluation.clear();
  if (keepsBest())
    bestSoFar = {inputs.options.metricForBestModel, inputs.evalData->name()};
  HONE_TRY(takeUpBest(found));
  inputs.peak.sample();
  log = StepLog();
  HONE_ASSIGN(log, StepLog::open(logPath(), inputs.folder.runName(),
                                 completed - std::min(completed, stepsLate())));
  return Status::ok();
}

uint64_t Run::stepsLate() const {
  const ModuleConfig &config = inputs.module.config();
  return config.stepsLate(config.program);
}

Status Run::updateAfterLast(Progress &progress) {
  const uint64_t all = steps + inputs.module.config().stepsAfterLast();
  // A run that stops early ends with its parameters as they stand.
  while (completed >= steps && completed < all) {
    Trainer::StepResult result;
    const double began = steadySeconds();
    HONE_TRY(trainer.step(inputs.data, order, {0, 0, 0}, hyperparameters,
                          completed, result, {}));
    HONE_TRY(record(result, began, progress));
  }
  return Status::ok();
}

Status Run::saveResult() {
  HONE_TRY(trainer.validate(completed));
  HONE_TRY(syncLogs());
  return writeAdapters(/*isDone=*/true);
}

Status Run::leaveSaved(Status status, Progress &progress) {
  const std::optional<ErrorCode> code = status.errorCode();
  const bool isWhole =
      code == ErrorCode::PeerLost || code == ErrorCode::StoppedWaiting ||
      code == ErrorCode::MessageMisfit || code == ErrorCode::PartsDiffer ||
      code == ErrorCode::NoCommonStep || code == ErrorCode::NotAdmitted ||
      code == ErrorCode::PeerBusy || code == ErrorCode::NoMeeting;
  // Updates made after the last step are in no checkpoint.
  if (!isWhole || isEnded || completed > steps)
    return status;
  progress.finish();
  if (savedAt != completed)
    if (Status saved = saveOwn(); !saved.isOk()) {
      printError(status);
      return saved;
    }
  printf("saved after step %" PRIu64 "; the same command resumes\n", completed);
  return status;
}

Status Run::leadBest() {
  const std::optional<uint64_t> step = bestStep();
  if (!step)
    return Status::ok();
  return inputs.others->lead({inputs.options.loadBestModelAtEnd
                                  ? Command::Kind::LeaveBest
                                  : Command::Kind::Best,
                              *step});
}

void Run::noteTraffic(StepRecord &record) {
  if (!inputs.others)
    return;
  const Session::Traffic now = inputs.others->traffic();
  record.traffic =
      StepRecord::Traffic{now.sent - noted.sent, now.received - noted.received,
                          now.waited - noted.waited};
  noted = now;
}

Status Run::forgetOld() {
  store.keep(uint64_t(inputs.options.settings.train.save_total_limit));
  store.forgetBefore(int64_t(completed));
  store.keep(0);
  platform::removeFile(startMark().c_str());
  if (completed < steps || inputs.module.config().stepsAfterLast() > 0)
    return Status::ok();
  // From here on nobody needs the others to have the run's result.
  return writeFile(endMark(), "");
}

Status Run::endTogether() {
  if (isEnded)
    return Status::ok();
  // All have saved it, unless it came late. Nobody leaves before all know that:
  // one that is killed and comes back without its mark needs the others. A run
  // that stops early ends here, too.
  Ensemble &others = *inputs.others;
  if (completed > steps) {
    HONE_TRY(others.lead({Command::Kind::Save, completed}));
    HONE_TRY(saveResult());
    HONE_TRY(others.awaitAnswers());
  }
  HONE_TRY(writeFile(endMark(), ""));
  HONE_TRY(others.lead({Command::Kind::Result, completed}));
  Status known = others.awaitAnswers();
  const bool doAllKnow = known.isOk();
  HONE_TRY(doAllKnow ? writeFile(knownMark(), "")
                     : leaveOthers(std::move(known)));
  HONE_TRY(others.lead({Command::Kind::End, completed}));
  return doAllKnow ? leaveOthers(others.awaitAnswers()) : Status::ok();
}

Status Run::answerAtEnd() {
  Status status = inputs.others->answer();
  const bool haveAll = status.isOk();
  HONE_TRY(leaveOthers(std::move(status)));
  isEnded |= !haveAll; // the one that waits for the answer hears this one's end
  return Status::ok();
}

Status Run::leaveOthers(Status status) const {
  // Without its mark this one needs them, and a message that no schedule has is
  // an error until the end.
  if (status.isOk() || status.errorCode() == ErrorCode::MessageMisfit ||
      inputs.others->isInterrupted() || !platform::exists(endMark()))
    return status;
  printf("a program gave no sign at the end; all have saved the last step\n");
  return Status::ok();
}

Status Run::follow(Progress &progress, ExitCode &outcome) {
  outcome = ExitCode::Success;
  while (!isEnded) {
    Result<Command> told = inputs.others->follow();
    HONE_TRY(told.isOk() ? obey(told.value(), progress)
                         : leaveOthers(told.status()));
    isEnded |= !told.isOk();
  }
  progress.finish();
  // A result with late updates was written before the mark.
  if (inputs.module.config().stepsAfterLast() == 0)
    HONE_TRY(writeAdapters(/*isDone=*/true));
  inputs.peak.sample();
  return Status::ok();
}

Status Run::obey(const Command &command, Progress &progress) {
  const bool hasStep = command.kind != Command::Kind::Loss &&
                       command.kind != Command::Kind::Best &&
                       command.kind != Command::Kind::LeaveBest;
  if (hasStep && command.step != completed)
    return failed(ErrorCode::MessageMisfit,
                  {"a command of the leading program"},
                  {"expects one after step ", std::to_string(completed),
                   " but got one after ", std::to_string(command.step)},
                  "compile all parts in one call");
  Trainer::StepResult result;
  const double began = steadySeconds();
  switch (command.kind) {
  case Command::Kind::Step:
    HONE_TRY(trainer.follow(command, hyperparameters, result));
    return record(result, began, progress);
  case Command::Kind::Evaluate:
  case Command::Kind::Loss:
    return trainer.follow(command, hyperparameters, result);
  case Command::Kind::Save:
    HONE_TRY(completed > steps ? saveResult() : save());
    if (bestStep() == completed && bestWritten != completed)
      HONE_TRY(saveBest(completed));
    return inputs.others->answer();
  case Command::Kind::Best:
  case Command::Kind::LeaveBest:
    otherEvaluation = {
        {CheckpointStore::BestStep, std::to_string(command.step)}};
    if (command.kind == Command::Kind::LeaveBest)
      otherEvaluation[LeftField] = "best";
    return Status::ok();
  case Command::Kind::Durable:
    return forgetOld();
  case Command::Kind::Result:
    if (completed <= steps)
      HONE_TRY(writeAdapters(/*isDone=*/true));
    // Before the answer: then the leader may be gone.
    HONE_TRY(writeFile(endMark(), ""));
    return answerAtEnd();
  case Command::Kind::End:
    HONE_TRY(answerAtEnd());
    if (!isEnded)
      HONE_TRY(leaveOthers(inputs.others->drain()));
    // Nobody waits while this one writes its result.
    inputs.others->leave();
    isEnded = true;
    return Status::ok();
  }
  return Status::ok();
}

} // namespace hone::rt
