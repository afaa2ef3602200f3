//===- Options.cpp - The command line of a training binary ----------------===//
//
// Rules between options are here; an option's declaration has its values and
// how they are read (module/Setting.h).
//
//===----------------------------------------------------------------------===//

#include "program/Options.h"

#include "data/KeyMap.h"
#include "program/Arguments.h"
#include "program/Meeting.h"

#include <algorithm>
#include <cstring>
#include <optional>

namespace hone::rt {

namespace {
/// A mode of the program other than training, and the options that it reads.
struct Mode {
  const char *name;
  const char *action;
  std::vector<std::string> reads;
};
} // namespace

/// Nothing when it trains.
static std::optional<Mode> modeOf(const Options &options) {
  std::optional<Mode> mode;
  if (options.evalOnly)
    mode = {"eval-only",
            "trains nothing",
            {"eval-data", "too-long", "chat-date", "special-tokens", "task",
             "predictions", "map", "skip-unusable", "batch-size",
             "max-seq-length"}};
  else if (!options.dumpGradients.empty())
    // The seed: of the adapter's start, and of an estimate.
    mode = {"dump-gradients",
            "trains nothing",
            {"data", "seed", "perturbation-scale", "too-long", "chat-date",
             "special-tokens", "task", "k-shot", "map", "skip-unusable",
             "batch-size", "max-seq-length"}};
  else if (!options.replay.empty())
    mode = {"replay", "takes its settings from the file", {}};
  if (mode)
    mode->reads.insert(mode->reads.end(), {mode->name, "adapter", "no-verify",
                                           "output", "threads", "weights"});
  return mode;
}

/// Refuses options that a mode does not read.
static Status checkOnlyRead(const Mode &mode,
                            const std::vector<std::string> &given) {
  for (const std::string &name : given)
    if (std::find(mode.reads.begin(), mode.reads.end(), name) ==
        mode.reads.end())
      return Status(ErrorCode::OptionsDisagree, "--" + name,
                    std::string("--") + mode.name + " " + mode.action +
                        " and does not read it",
                    "leave --" + name + " out");
  return Status::ok();
}

/// Refuses options that need a task where there is none, and those that a task
/// does not allow.
static Status checkTask(const Options &options) {
  const bool hasTask = options.settings.hasTask();
  const std::pair<bool, const char *> ofTasks[] = {
      {options.kShot > 0, "--k-shot"},
      {options.metricForBestModel == "accuracy",
       "--metric-for-best-model accuracy"},
      {!options.predictions.empty(), "--predictions"}};
  for (auto [isGiven, name] : ofTasks)
    if (isGiven && !hasTask)
      return Status(ErrorCode::MissingOption, name,
                    "expects a task but got none",
                    "compile with train.task: NAME, which says what "
                    "the labels of the data are");
  if (!options.predictions.empty() && !options.evalOnly)
    return Status(ErrorCode::MissingOption, "--predictions",
                  "expects --eval-only but got none",
                  "add --eval-only, and --adapter for the adapter to evaluate");
  if (hasTask && options.specialTokens == "parse")
    return Status(ErrorCode::OptionsDisagree, "--special-tokens",
                  "a task's examples are not from a chat template",
                  "leave --special-tokens out");
  if (hasTask && !options.map.empty())
    return Status(ErrorCode::OptionsDisagree, "--map",
                  "a task's examples have the names of GLUE and SuperGLUE",
                  "leave --map out, or rename the keys in the file");
  if (hasTask && options.tooLong == "split")
    return Status(ErrorCode::OptionsDisagree, "--too-long",
                  "a task's examples cannot be split: each has its label "
                  "at its end",
                  "give leave-out, refuse or cut, which cuts their beginnings");
  return Status::ok();
}

/// The rules of --eval-split and other options.
static Status checkSplit(const Options &options) {
  const double part = options.evalSplit;
  if (part >= 1 && (part > 0x1p53 || part != double(uint64_t(part))))
    return Status(ErrorCode::WrongOption, "--eval-split",
                  "expects a part below 1 or a whole number of samples "
                  "but got '" +
                      options.evalSplit.text() + "'",
                  "write --eval-split 0.1 or --eval-split 500");
  if (part > 0 && !options.evalData.empty())
    return Status(ErrorCode::OptionsDisagree, "--eval-split",
                  "--eval-data already gives the data to evaluate on",
                  "give one of the two");
  return Status::ok();
}

/// Refuses options that do not allow a step to stop before its end.
static Status checkPauses(const Options &options) {
  if (options.timeLimit && options.evaluates())
    return Status(ErrorCode::OptionsDisagree, "--for",
                  "an evaluation runs to its end, however long that takes",
                  "leave out " +
                      std::string(options.evalSplit > 0 ? "--eval-split"
                                                        : "--eval-data") +
                      ", and evaluate with --eval-only");
  if (options.pauses() && options.settings.compares())
    return Status(ErrorCode::OptionsDisagree, options.pauseOption(),
                  "a program that compares gradients does so before a step, "
                  "in the memory that the step would go on with",
                  "compile without train.compare");
  return Status::ok();
}

/// Whether mpirun started several of this program.
static bool isOneOfRanks() {
  const char *count = getenv("OMPI_COMM_WORLD_SIZE");
  return count && strtoull(count, nullptr, 10) > 1;
}

/// Refuses options that programs which train together do not support.
static Status checkExchange(const Options &options) {
  const std::pair<bool, const char *> needs[] = {
      {!options.exchangeAt.empty(), "--exchange-at"}};
  for (auto [isGiven, name] : needs)
    if (isGiven && options.exchange.empty())
      return Status(ErrorCode::MissingOption, name,
                    "expects --exchange but got none", "add --exchange NAME");
  if (options.exchange.empty())
    return isOneOfRanks() && !options.output.empty()
               ? Status(ErrorCode::OptionsDisagree, "mpirun",
                        "started several programs, but this one trains alone, "
                        "and each would write to --output",
                        "start it without mpirun; with --exchange mpi programs "
                        "of train.data_parallel or of parts train together")
               : Status::ok();
  const bool sharesBatches = options.settings.train.data_parallel;
  if (!options.settings.hasPrograms() && !sharesBatches)
    return Status(ErrorCode::OptionsDisagree, "--exchange",
                  "this program was compiled of a whole model, which trains "
                  "alone",
                  "leave it out, give parts of the spec a program, or set "
                  "train.data_parallel");
  const std::pair<bool, std::string> alone[] = {
      {options.evalOnly, "--eval-only"},
      {!options.dumpGradients.empty(), "--dump-gradients"},
      {!options.replay.empty(), "--replay"},
      {options.pauses(), options.pauseOption()}};
  for (const auto &[isGiven, name] : alone)
    if (isGiven)
      return Status(ErrorCode::OptionsDisagree, name,
                    "is not there yet for programs that train together",
                    "leave " + name + " out");
  return Status::ok();
}

static Status checkCombination(const Options &options) {
  if (options.help || options.version || options.plan || options.listDevices)
    return Status::ok();
  HONE_TRY(checkChatDate(options.chatDate));
  HONE_TRY(KeyMap::parse(options.map));
  std::optional<Mode> mode = modeOf(options);
  if (!options.replay.empty() && std::string(mode->name) != "replay")
    return Status(ErrorCode::OptionsDisagree, "--replay",
                  std::string("--") + mode->name + " does something else",
                  "give one of the two");
  if (options.evalOnly && options.evalData.empty())
    return Status(ErrorCode::MissingOption, "--eval-only",
                  "expects --eval-data but got none", "add --eval-data FILE");
  if (mode)
    HONE_TRY(checkOnlyRead(*mode, options.given));
  HONE_TRY(checkTask(options));
  HONE_TRY(checkExchange(options));
  if (options.evalOnly)
    return Status::ok();
  // The part that has the data gives it to the others; one that meets none is
  // refused as such.
  if (options.data.empty() && options.replay.empty() &&
      !options.settings.hasPrograms())
    return Status(ErrorCode::MissingOption, "command line",
                  "expects --data but got none",
                  "add --data FILE; --help lists the options");
  if (options.output.empty() && options.dumpGradients.empty())
    return Status(ErrorCode::MissingOption, "command line",
                  "expects --output but got none",
                  "add --output DIR; --help lists the options");
  HONE_TRY(checkSplit(options));
  HONE_TRY(checkPauses(options));
  if (options.evalEvery != 0 && !options.evaluates())
    return Status(ErrorCode::MissingOption, "--eval-every",
                  "expects --eval-data or --eval-split but got none",
                  "add --eval-data FILE or --eval-split 0.1");
  const std::pair<bool, const char *> ofEvaluations[] = {
      {options.earlyStop > 0, "--early-stop"},
      {options.loadBestModelAtEnd, "--load-best-model-at-end"}};
  for (auto [isGiven, name] : ofEvaluations)
    if (isGiven && options.evalEvery == 0)
      return Status(ErrorCode::MissingOption, name,
                    "expects --eval-every but got none", "add --eval-every N");
  const TrainSettings &train = options.settings.train;
  if (train.optimizer_in_backward && train.max_grad_norm > 0)
    return Status(ErrorCode::OptionsDisagree, "--max-grad-norm",
                  "expects 0, since this program updates each layer in the "
                  "backward and never has all gradients to take a norm of",
                  "give --max-grad-norm 0, or compile with "
                  "optimizer_in_backward: false");
  if (train.optimizer_in_backward && train.gradient_accumulation_steps > 1)
    return Status(ErrorCode::OptionsDisagree, "--gradient-accumulation-steps",
                  "expects 1, since this program updates each layer in the "
                  "backward of each batch",
                  "give 1 and compile with a larger batch_size, or with "
                  "optimizer_in_backward: false");
  return Status::ok();
}

Status Options::checkShape(const Settings &settings, const Settings &compiled) {
  const TrainSettings &own = settings.train, &most = compiled.train;
  if (own.max_seq_length > most.max_seq_length)
    return Status(ErrorCode::OptionsDisagree, own.max_seq_length.spelling(),
                  "expects at most " + most.max_seq_length.text() +
                      ", which were compiled in, but got " +
                      own.max_seq_length.text(),
                  "give fewer, or compile with a larger max_seq_length");
  const int64_t rows = most.batch_size * most.max_seq_length;
  if (own.batch_size * own.max_seq_length <= rows)
    return Status::ok();
  const int64_t fitting = rows / own.batch_size;
  return Status(
      ErrorCode::OptionsDisagree, own.batch_size.spelling(),
      "expects batches of at most " + std::to_string(rows) +
          " rows, which were compiled in, but " + own.batch_size.text() +
          " sequences of up to " + own.max_seq_length.text() + " tokens have " +
          std::to_string(own.batch_size * own.max_seq_length),
      (fitting < 2 ? "give fewer"
                   : "give --max-seq-length " + std::to_string(fitting)) +
          ", or compile with a larger batch_size");
}

/// Refuses a setting that nothing in this program reads.
static Status checkIsRead(const Settings &settings, const Setting &setting) {
  if (settings.isRead(setting))
    return Status::ok();
  const std::string name = "--" + setting.option();
  auto refuse = [&](const std::string &problem, const std::string &remedy) {
    return Status(ErrorCode::OptionsDisagree, name, problem, remedy);
  };
  bool isOfPart = strchr(setting.section, '.');
  if (!isOfPart && settings.hasParts() && Settings::isOfMethod(setting)) {
    std::string own;
    for (const auto &part : settings.parts)
      for (const Setting *each : part->members())
        if (!strcmp(each->name, setting.name) && settings.isRead(*each))
          own += (own.empty() ? "give --" : " or --") + each->option();
    return refuse("each part of this program has its own",
                  own.empty() ? "leave " + name + " out" : own);
  }
  if (&setting == &settings.train.task)
    return refuse("this program was compiled without tasks",
                  "compile it with train.task: NAME");
  if (&setting == &settings.train.compare_every)
    return refuse("this program was compiled without train.compare",
                  "leave " + name + " out");
  std::string methods;
  for (const MethodSettings *method : settings.methods())
    if (!isOfPart || !strcmp(method->name, setting.section))
      methods += (methods.empty() ? "" : " and ") + method->method;
  return refuse(setting.readers() +
                    ", but this program was compiled with method " + methods,
                "leave " + name + " out");
}

std::vector<const Setting *> Options::changed() const {
  const Options none;
  std::vector<const Setting *> out;
  for (size_t i = 0; i < members().size(); ++i)
    if (members()[i]->text() != none.members()[i]->text())
      out.push_back(members()[i]);
  return out;
}

std::vector<Setting *> Options::all() {
  std::vector<Setting *> out = members();
  for (Setting *setting : settings.all())
    if (setting->setBy != SetBy::Spec)
      out.push_back(setting);
  return out;
}

bool Options::isGiven(const Setting &setting) const {
  return std::find(given.begin(), given.end(), setting.option()) != given.end();
}

std::vector<const Setting *> Options::compiledIn() const {
  std::vector<const Setting *> out;
  for (const Setting *setting : settings.all())
    if (setting->setBy == SetBy::Spec)
      out.push_back(setting);
  return out;
}

Result<Options> Options::parse(const std::vector<std::string> &arguments,
                               const Options &defaults) {
  Options options = defaults;
  HONE_TRY(readArguments(
      arguments, options.all(), options.compiledIn(),
      [&](const Setting &setting) {
        return checkIsRead(options.settings, setting);
      },
      options.given));
  TrainSettings &train = options.settings.train;
  const bool hasEpochs = options.isGiven(train.epochs);
  if (options.isGiven(train.steps) && hasEpochs && train.steps > 0)
    return Status(ErrorCode::OptionsDisagree, "--epochs",
                  "--steps already says how long to train",
                  "give one of the two");
  if (hasEpochs)
    train.steps = 0;
  HONE_TRY(meetOverNetwork(options));
  HONE_TRY(checkShape(options.settings, defaults.settings));
  if (train.data_parallel && options.exchange.empty() && isOneOfRanks())
    options.exchange = "mpi";
  HONE_TRY(checkCombination(options));
  return options;
}

std::string Options::usage(const Options &defaults) {
  Options options = defaults;
  std::vector<HelpRow> own, settings;
  for (const Setting *setting : options.all())
    if (options.settings.isRead(*setting))
      (*setting->section ? settings : own).push_back(helpRow(*setting));
  return "usage: train --data FILE --output DIR [options]\n\n"
         "options:\n" +
         helpTable(own) +
         "\nsettings of the spec, in brackets what it says:\n" +
         helpTable(settings) +
         exitCodeHelp({
             {"0", "done"},
             {"2", "wrong command line"},
             {"3", "done, with more memory than was planned"},
             {"65", "bad data, or the loss is no longer finite"},
             {"66", "no such file"},
             {"69", "the other part is gone"},
             {"70", "a bug"},
             {"71", "no memory or no thread"},
             {"73", "cannot create a file"},
             {"74", "cannot read or write"},
             {"76", "the other part sends something else"},
             {"77", "the other part does not admit this program"},
             {"124", "the time of --for is over, and all is saved"},
             {"130", "stopped by SIGINT, and all is saved"},
             {"143", "stopped by SIGTERM, and all is saved; a second signal "
                     "stops at once"},
         });
}

} // namespace hone::rt
