//===- ReplayRun.cpp - The updates of a run, made again -------------------===//

#include "program/ReplayRun.h"

#include "base/Counted.h"
#include "base/MappedFile.h"
#include "base/OutputFile.h"
#include "formats/ReplayLog.h"
#include "program/Run.h"
#include "program/Signals.h"
#include "step/RunIdentity.h"

#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace hone::rt {

static Status otherRun(const std::string &path, const std::string &problem,
                       const std::string &remedy) {
  return Status(ErrorCode::OtherReplay, path, problem, remedy);
}

/// The options of the run that wrote the file, over this program's. Settings
/// that are compiled in are compared, not set, and so are bounds that the run
/// exceeds.
static Options optionsOf(const Options &given, const CheckpointFields &run) {
  Options options = given;
  for (Setting *setting : options.settings.all()) {
    auto found = run.find(setting->identity());
    if ((setting->setBy == SetBy::Option || setting->setBy == SetBy::Bound) &&
        found != run.end())
      setting->parse(found->second);
  }
  if (!Options::checkShape(options.settings, given.settings).isOk()) {
    options.settings.train.batch_size = given.settings.train.batch_size;
    options.settings.train.max_seq_length = given.settings.train.max_seq_length;
  }
  // Of which data it was, like its name: that is not read again.
  for (Setting *setting :
       std::initializer_list<Setting *>{&options.kShot, &options.evalSplit})
    if (auto found = run.find(setting->spelling()); found != run.end())
      setting->parse(found->second);
  return options;
}

/// How the file's run differs from one of this program, from the same files.
static std::string differences(const Module &module, const Options &options,
                               const CheckpointFields &run, uint64_t steps) {
  CheckpointFields own =
      identityOf(module, options.settings, options.changed(),
                 run.count("data") ? run.at("data") : "", steps)
          .run;
  // Where it started is known by its digest.
  own[options.adapter.spelling()] = run.count(options.adapter.spelling())
                                        ? run.at(options.adapter.spelling())
                                        : "";
  return describeDifferences(run, own);
}

static std::string markOf(const ReplayReader &log) {
  return log.header().digest() + "\n";
}

Result<bool> isOfReplay(const Options &options) {
  HONE_ASSIGN(ReplayReader log, ReplayReader::open(options.replay));
  Result<MappedFile> mark = MappedFile::open(options.output + "/" + ReplayMark);
  return mark.isOk() && std::string_view(mark.value().data(),
                                         mark.value().size()) == markOf(log);
}

/// Durable before the model's first file.
static Status writeMark(const std::string &output, const ReplayReader &log) {
  return writeFile(output + "/" + ReplayMark, markOf(log), FolderSync::Now);
}

/// The parameters that the run of `log` started from.
static Status restoreStart(const Options &given, uint64_t seed,
                           const ReplayReader &log, Trainables &trainables) {
  if (given.adapter.empty())
    trainables.initialize(seed);
  else
    HONE_TRY(trainables.load(given.adapter, AdapterUse::Train));
  HONE_ASSIGN(std::string start, trainables.digest());
  if (start == log.header().start)
    return Status::ok();
  return otherRun(given.replay,
                  "the run started from other parameters than " +
                      (given.adapter.empty() ? "those of its seed"
                                             : std::string(given.adapter)),
                  given.adapter.empty()
                      ? "give the --adapter that it started from"
                      : "give the adapter that it started from");
}

Status replayRun(const Module &module, const Options &given, bool writesModel,
                 Trainer &trainer) {
  HONE_ASSIGN(CheckpointStore store, CheckpointStore::open(given.output));
  HONE_ASSIGN(CheckpointStore::Found newest, store.newest());
  if (!newest.directory.empty())
    return Status(ErrorCode::OtherRun, given.output,
                  "expects a folder without a run but found " +
                      newest.directory,
                  "give another --output");
  HONE_ASSIGN(ReplayReader opened, ReplayReader::open(given.replay));
  const ReplayReader &log = opened;
  const CheckpointFields &run = log.header().run;
  Options options = optionsOf(given, run);
  // There only if rates depend on it.
  auto steps = run.find(options.settings.train.steps.spelling());
  uint64_t total = steps == run.end()
                       ? log.steps()
                       : strtoull(steps->second.c_str(), nullptr, 10);
  std::string differs = differences(module, options, run, total);
  if (differs.empty() &&
      log.header().coefficients != trainer.coefficientCount())
    differs = std::to_string(log.header().coefficients) +
              " coefficients of a step, but this program has " +
              std::to_string(trainer.coefficientCount());
  if (!differs.empty())
    return otherRun(given.replay, "it belongs to another run: " + differs,
                    "compile the model with the spec of that run");
  Trainables &trainables = trainer.trainables();
  HONE_TRY(restoreStart(given, options.settings.train.seed, log, trainables));
  Hyperparameters hyperparameters{options.settings, total};
  for (uint64_t i = 0; i < log.steps(); ++i) {
    if (stopRequested() != ExitCode::Success)
      return Status(ErrorCode::Stopped, given.replay,
                    "stopped after " + std::to_string(i) + " of " +
                        counted(log.steps(), "step"),
                    "the same command starts again");
    HONE_TRY(trainer.replay(hyperparameters, i, log.step(i).data()));
  }
  if (Status status = trainer.validate(log.steps()); !status.isOk()) {
    Message message = status.message();
    message.remedy = "the run diverged: it has no adapter from its last steps";
    return Status(*status.errorCode(), message);
  }
  if (writesModel)
    HONE_TRY(writeMark(given.output, log));
  HONE_TRY(trainables.save(given.output));
  printf("replayed     %s of %s\n%-12s %s\n",
         counted(log.steps(), "step").c_str(), given.replay.c_str(),
         writesModel ? "model" : "adapter", given.output.c_str());
  return Status::ok();
}

} // namespace hone::rt
