//===- ModelSession.cpp - A model that another program trains -------------===//

#include "api/ModelSession.h"

#include "base/Sha256.h"
#include "module/WeightDigests.h"
#include "platform/Files.h"
#include "step/RunIdentity.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace hone::rt {

hone_result Log::tell(const Status &status) const {
  if (status.isOk())
    return HONE_OK;
  write(HONE_LOG_ERROR, status.render());
  return hone_result(int(status.exitCode()));
}

static std::string textOr(const char *text, const char *otherwise) {
  return text ? text : otherwise;
}

static Status wrongOption(const char *name, const std::string &problem,
                          const char *remedy) {
  return Status(ErrorCode::WrongOption, std::string("hone_options.") + name,
                problem, remedy);
}

/// The spec's settings, with the caller's changes.
static Result<Hyperparameters> settingsOf(const Module &module,
                                          const hone_options &options) {
  Hyperparameters out{module.config(), options.steps};
  for (const char *const *given = options.settings; given && *given; ++given) {
    const std::string text = *given;
    const size_t equals = std::min(text.find('='), text.size());
    const std::string name = text.substr(0, equals);
    const std::vector<Setting *> all = out.settings.all();
    const auto setting =
        std::find_if(all.begin(), all.end(), [&](const Setting *one) {
          std::string own = one->option();
          std::replace(own.begin(), own.end(), '-', '_');
          // Bounds are the library's own: it has all of its memory.
          return one->setBy != SetBy::Spec && one->setBy != SetBy::Bound &&
                 own == name && out.settings.isReadByTraining(*one);
        });
    if (setting == all.end())
      return wrongOption("settings",
                         "no setting that may change is called '" + name + "'",
                         "train --help lists those that may");
    if (equals == text.size() || !(*setting)->parse(text.substr(equals + 1)))
      return wrongOption("settings",
                         name + " expects " + (*setting)->expected() +
                             " but got '" + text + "'",
                         "write NAME=VALUE");
  }
  if (out.steps == 0)
    out.steps = uint64_t(out.settings.train.steps);
  return out;
}

static Module::Extent extentOf(const Settings &settings) {
  Module::Extent extent;
  extent.accumulates = settings.train.gradient_accumulation_steps > 1;
  return extent;
}

static unsigned threadsOf(const hone_options &options) {
  return std::min(options.threads ? options.threads : Pool::availableCpus(),
                  Pool::maxThreads);
}

static Status checkOptions(const hone_options &options) {
  if (options.struct_size != sizeof(hone_options))
    return wrongOption("struct_size",
                       "expects " + std::to_string(sizeof(hone_options)) +
                           " but got " + std::to_string(options.struct_size),
                       "set it to sizeof(hone_options), and compile with the "
                       "hone.h of the library");
  return Status::ok();
}

Result<RunPlan> ModelSession::plan(const Module &module,
                                   const hone_options &options) {
  HONE_TRY(checkOptions(options));
  HONE_ASSIGN(const Hyperparameters run, settingsOf(module, options));
  const hone_module &abi = module.abi();
  PlanClass more;
  if (!module.generates())
    more = {"accumulation",
            module.arenaBytes(extentOf(run.settings)) - abi.arena_bytes};
  return RunPlan::make(module.config(), abi.arena_bytes, more, abi.thread_bytes,
                       threadsOf(options));
}

Result<std::unique_ptr<ModelSession>>
ModelSession::open(const hone_module &compiled, const hone_options &options) {
  HONE_TRY(checkOptions(options));
  HONE_ASSIGN(Module module, Module::open(compiled));
  if (!options.weights)
    return wrongOption("weights", "expects a path but got none",
                       "honec wrote weights.hone.safetensors beside the "
                       "library");
  if (module.abi().device_target)
    return Status(ErrorCode::NoSuchDevice, "hone_open",
                  "the library runs kernels on the processor alone, and the "
                  "model was compiled for a GPU",
                  "compile with --target=native");
  std::unique_ptr<ModelSession> session(
      new ModelSession(std::move(module), options));
  HONE_TRY(session->start(options));
  return session;
}

Trainables &ModelSession::trainables() {
  return generator ? generator->trainables() : trainer->trainables();
}

Status ModelSession::start(const hone_options &options) {
  HONE_ASSIGN(hyperparameters, settingsOf(module, options));
  HONE_ASSIGN(weights, Weights::open(options.weights, module));
  HONE_ASSIGN(pool, Pool::create(threadsOf(options)));
  if (!options.no_verify && module.abi().weight_file_bytes > 0)
    HONE_TRY(verifyWeights(weights.file(), module.abi(), *pool));
  device = std::make_unique<HostDevice>(*pool);
  if (!module.generates())
    return startTraining(options);
  if (options.checkpoints)
    return wrongOption("checkpoints", "a model that generates text has none",
                       "leave it out; adapter names a run's result");
  HONE_ASSIGN(generator, Generator::create(module, weights, *device));
  if (options.adapter)
    return trainables().load(options.adapter, AdapterUse::Evaluate);
  trainables().initialize(/*seed=*/0); // which then is no change
  return Status::ok();
}

namespace {
/// The options of train that name a run.
struct OwnSettings : Section {
  OwnSettings() : Section("") {}
  Word adapter{*this, "adapter", "", Bits::Run, SetBy::Option, "", aFolder};
};
} // namespace

Status ModelSession::startTraining(const hone_options &options) {
  OwnSettings own;
  std::vector<const Setting *> changed;
  if (options.adapter && own.adapter.parse(options.adapter))
    changed.push_back(&own.adapter);
  identity = identityOf(module, hyperparameters.settings, changed,
                        textOr(options.data_digest, ""), hyperparameters.steps);
  saves = options.checkpoints;
  saving = textOr(options.checkpoints, "");
  if (saves) {
    if (Status status = folder.claim(options.checkpoints); !status.isOk())
      return status.errorCode() != ErrorCode::FolderInUse
                 ? status
                 : Status(ErrorCode::FolderInUse, options.checkpoints,
                          "another session or program trains in this folder",
                          "close it, or give another folder");
    HONE_ASSIGN(store, CheckpointStore::open(options.checkpoints));
  }
  HONE_ASSIGN(trainer,
              Trainer::create(module, weights, *device,
                              extentOf(hyperparameters.settings),
                              /*transport=*/nullptr,
                              saves ? saving : platform::temporaryFolder()));
  HONE_ASSIGN(const bool isResumed, resume());
  if (isResumed)
    return Status::ok();
  if (options.adapter)
    return trainables().load(options.adapter, AdapterUse::Train);
  trainables().initialize(uint64_t(hyperparameters.settings.train.seed));
  return Status::ok();
}

Result<bool> ModelSession::resume() {
  if (!saves)
    return false;
  HONE_ASSIGN(const CheckpointStore::Found found, store.newest());
  for (const std::string &note : found.notes)
    log.write(HONE_LOG_WARNING, label("warning", ErrorCode::DamagedCheckpoint) +
                                    ": " + note + "\n");
  HONE_ASSIGN(const bool isInStep, resumeStep(found));
  if (isInStep)
    return true;
  if (found.directory.empty())
    return false;
  if (std::string other = describeDifferences(found.identity.run, identity.run);
      !other.empty())
    return Status(ErrorCode::OtherRun, found.directory,
                  "the run in this folder is another: " + other,
                  "to resume it, give the options and the data_digest of its "
                  "first start, or give another folder");
  if (std::string other =
          describeDifferences(found.identity.numerics, identity.numerics);
      !other.empty())
    return Status(ErrorCode::OtherNumerics, found.directory,
                  "the run in this folder is computed with other instructions "
                  "or rounding: " +
                      other,
                  "compile as for that run, or give another folder");
  HONE_TRY(store.read(found, trainables().checkpointTargets()));
  completed = uint64_t(found.step);
  log.write(HONE_LOG_NOTE, "resuming after step " +
                               std::to_string(completedSteps()) + " from " +
                               found.directory + "\n");
  return true;
}

Result<bool> ModelSession::resumeStep(const CheckpointStore::Found &saved) {
  const std::string path = suspendedPath();
  Result<std::optional<SuspendedFile>> opened = SuspendedFile::open(path);
  if (opened.status().errorCode() == ErrorCode::DamagedSuspended) {
    log.write(HONE_LOG_WARNING, label("warning", ErrorCode::DamagedSuspended) +
                                    ": " + path + ": " +
                                    opened.status().message().problem + "\n");
    return false;
  }
  if (!opened.isOk())
    return opened.status();
  if (!opened.value())
    return false;
  const SuspendedFile &file = *opened.value();
  if (!saved.directory.empty() && file.step.completed < uint64_t(saved.step)) {
    platform::removeFile(path.c_str()); // its step is complete and saved
    return false;
  }
  HONE_TRY(file.step.check(path, identity, module.abi().program_digest));
  HONE_TRY(file.read(trainer->memory()));
  completed = file.step.completed;
  inMidStep = file.step;
  log.write(HONE_LOG_NOTE,
            "resuming in " + inMidStep->describe() + " from " + path + "\n");
  return true;
}

Status ModelSession::checkIsBetweenSteps(const char *function) const {
  if (!inMidStep)
    return Status::ok();
  return Status(ErrorCode::InMidStep, function,
                inMidStep->describe() + " was suspended",
                "call hone_step or hone_step_for with its rows first");
}

Result<PauseRule> ModelSession::ruleFor(double seconds) {
  PauseRule::Limits limits;
  const double began = steadySeconds();
  limits.deadline = began + seconds;
  limits.launch =
      inMidStep ? inMidStep->longest : module.config().longestLaunchSeconds;
  if (!saves)
    return Status(ErrorCode::MissingOption, "hone_step_for",
                  "the session has no folder for a step that is suspended",
                  "give hone_options.checkpoints to hone_open");
  if (writing < 0) {
    HONE_ASSIGN(writing,
                SuspendedFile::timeWriting(suspendedPath(), trainer->memory()));
  }
  limits.writing = writing;
  const double now = steadySeconds();
  const PauseRule rule(limits, module.abi().kernel_count, now);
  if (!rule.isTimeUp(now))
    return rule;
  char problem[160], remedy[64];
  snprintf(problem, sizeof(problem),
           "a kernel takes up to %.3f s and writing the step %.3f s, which is "
           "more than %g s",
           rule.longest(), rule.reserve(), seconds);
  snprintf(remedy, sizeof(remedy), "give %.2f seconds or more",
           1.1 * rule.leastFrom(began, now) + 0.01);
  return Status(ErrorCode::TooShort, "hone_step_for", problem, remedy);
}

Status ModelSession::suspend(const std::string &rows, const TimedPause &pause) {
  SuspendedStep step;
  step.completed = completed;
  step.state = trainer->suspended();
  step.seconds = steadySeconds() - stepBegan;
  step.longest = pause.times().longest();
  step.program = module.abi().program_digest;
  step.rows = rows;
  step.identity = identity;
  inMidStep = step; // it can go on here whether it is written or not
  return SuspendedFile::write(suspendedPath(), step, trainer->memory());
}

/// The digest of all that a step reads of a caller's rows.
static std::string digestOf(const hone_rows &rows) {
  Sha256 hash;
  for (const int32_t *each : {rows.ids, rows.targets, rows.sequence_starts})
    hash.update(each, rows.count * sizeof(int32_t));
  return hash.finishHex();
}

static Status ofOtherKind(const char *function, bool generates) {
  return Status(ErrorCode::OptionsDisagree, function,
                generates ? "the model only generates text"
                          : "the model only trains",
                generates ? "open the one that trains"
                          : "compile with --emit=library,generate and open "
                            "hone_MODEL_generate");
}

Result<Trainer::StepResult> ModelSession::step(const hone_rows &rows,
                                               double seconds) {
  if (!trainer)
    return ofOtherKind("hone_step", true);
  const Settings &settings = hyperparameters.settings;
  const uint64_t steps = hyperparameters.steps;
  if (steps > 0 && completed >= steps)
    return Status(ErrorCode::BeyondLastStep, "hone_step",
                  "the run has made its " + std::to_string(steps) + " steps",
                  "give more steps to hone_open");
  if (std::isnan(seconds))
    return Status(ErrorCode::WrongOption, "hone_step_for",
                  "expects seconds but got NaN", "give a number");
  HONE_ASSIGN(const Rows data, Rows::read(rows, module));
  const auto batchSize = uint64_t(settings.train.batch_size);
  const auto batches = uint64_t(settings.train.gradient_accumulation_steps);
  if (data.sampleCount() > batchSize * batches)
    return Status(ErrorCode::OptionsDisagree, "hone_step",
                  "expects at most " + std::to_string(batchSize * batches) +
                      " sequences, batch_size times "
                      "gradient_accumulation_steps, but got " +
                      std::to_string(data.sampleCount()),
                  "give fewer, or compile with a larger train.batch_size");
  SampleOrder order{data.sampleCount(), batchSize, batches, 0,
                    /*shuffle=*/false};
  const bool mayPause = seconds < PauseRule::never;
  const std::string digest = mayPause || inMidStep ? digestOf(rows) : "";
  if (inMidStep && inMidStep->rows != digest)
    return Status(ErrorCode::OtherSuspended, "hone_step",
                  inMidStep->describe() + " was suspended with other rows",
                  "give the rows of that step");
  std::optional<TimedPause> pause;
  if (mayPause) {
    HONE_ASSIGN(const PauseRule rule, ruleFor(seconds));
    pause.emplace(
        rule, [] { return false; },
        [&]() -> Status { return suspend(digest, *pause); });
  }
  stepBegan = steadySeconds() - (inMidStep ? inMidStep->seconds : 0);
  Trainer::StepResult result;
  const std::optional<SuspendedStep> from = inMidStep;
  Status status = trainer->step(
      data, order, {0, 0, data.sampleCount()}, hyperparameters, completed,
      result, {pause ? &*pause : nullptr, from ? &from->state : nullptr});
  if (pause && pause->writing > 0)
    writing = pause->times().reserve();
  if (!result.isSuspended)
    inMidStep.reset();
  if (pause)
    HONE_TRY(pause->status);
  HONE_TRY(status);
  completed += !result.isSuspended;
  return result;
}

Result<Evaluation> ModelSession::evaluate(const hone_rows &rows) {
  if (!trainer)
    return ofOtherKind("hone_evaluate", true);
  HONE_TRY(checkIsBetweenSteps("hone_evaluate"));
  HONE_ASSIGN(const Rows data, Rows::read(rows, module));
  return trainer->evaluate(
      data, uint64_t(hyperparameters.settings.train.batch_size), completed);
}

Status ModelSession::save() {
  if (!trainer)
    return ofOtherKind("hone_save", true);
  HONE_TRY(checkIsBetweenSteps("hone_save"));
  if (!saves)
    return Status(ErrorCode::MissingOption, "hone_save",
                  "the session has no folder for checkpoints",
                  "give hone_options.checkpoints to hone_open");
  // Never replace a sound checkpoint by one that cannot go on.
  HONE_TRY(trainer->validate(completed));
  HONE_TRY(folder.checkIsOurs());
  HONE_TRY(store.save(int64_t(completedSteps()), identity,
                      trainables().checkpointVectors()));
  platform::removeFile(suspendedPath().c_str());
  return Status::ok();
}

Status ModelSession::writeAdapter(const std::string &folder) {
  if (!trainer)
    return ofOtherKind("hone_write_adapter", true);
  HONE_TRY(checkIsBetweenSteps("hone_write_adapter"));
  return trainables().save(folder);
}

/// Errors: WrongOption, as of the options of generate.
static Status checkSampling(const SamplingSettings &given) {
  const struct {
    const char *name;
    double value;
    Range range;
  } numbers[] = {
      {"temperature", given.temperature, SamplingSettings::temperatures},
      {"top_p", given.topP, SamplingSettings::topPs},
      {"min_p", given.minP, SamplingSettings::minPs},
      {"repetition_penalty", given.repetitionPenalty,
       SamplingSettings::repetitionPenalties},
  };
  for (const auto &[name, value, range] : numbers)
    if (!range.has(value))
      return Status(
          ErrorCode::WrongOption, std::string("hone_sampling.") + name,
          "expects a number" + range.text() + " but got " + formatExact(value),
          "give such a number, or 0 for the default");
  return Status::ok();
}

Status ModelSession::checkIds(const char *function, const int32_t *ids,
                              uint64_t count) const {
  const auto vocabulary = int64_t(module.config().vocabSize);
  for (uint64_t i = 0; i < count; ++i)
    if (ids[i] < 0 || ids[i] >= vocabulary)
      return Status(ErrorCode::TokenOutOfRange,
                    std::string(function) + ": id " + std::to_string(i),
                    "expects ids from 0 to " + std::to_string(vocabulary - 1) +
                        " but got " + std::to_string(ids[i]),
                    "use the model's tokenizer");
  return Status::ok();
}

Status ModelSession::generate(const int32_t *prompt, uint64_t count,
                              const hone_sampling &sampling,
                              hone_token_fn token, void *user) {
  if (!generator)
    return ofOtherKind("hone_generate", false);
  const auto room = uint64_t(generator->capacity());
  if (count == 0)
    return Status(ErrorCode::EmptyPrompt, "hone_generate",
                  "the prompt has no token", "give at least one");
  if (count > room)
    return Status(ErrorCode::PromptTooLong, "hone_generate",
                  "the prompt has " + std::to_string(count) +
                      " tokens, and there is room for " + std::to_string(room),
                  "compile with a larger generate.max_length");
  HONE_TRY(checkIds("hone_generate", prompt, count));
  const auto orAll = [](double given) { return given == 0 ? 1 : given; };
  const SamplingSettings settings{
      sampling.temperature, sampling.top_k, orAll(sampling.top_p),
      sampling.seed,        sampling.min_p, orAll(sampling.repetition_penalty)};
  HONE_TRY(checkSampling(settings));
  Sampler sampler(settings, generator->logitCount());
  const std::vector<int32_t> ids(prompt, prompt + count);
  generator->keepCommon(ids);
  const int64_t rows = module.abi().max_rows;
  while (generator->length() < int64_t(count)) {
    const int64_t at = generator->length();
    HONE_TRY(generator->append(ids.data() + at,
                               std::min(rows, int64_t(count) - at)));
  }
  sampler.note(ids.data(), ids.size());
  for (uint64_t made = 0; !sampling.most_tokens || made < sampling.most_tokens;
       ++made) {
    const int32_t next = generator->sample(sampler);
    if (next < 0)
      return Status(ErrorCode::BadLogits,
                    "token " + std::to_string(generator->length()),
                    "expects finite logits but got NaN or infinity",
                    "check the weights and the adapter");
    sampler.note(&next, 1);
    if (!token(user, next) || generator->length() == generator->capacity())
      break;
    HONE_TRY(generator->append(&next, 1));
  }
  return Status::ok();
}

} // namespace hone::rt
