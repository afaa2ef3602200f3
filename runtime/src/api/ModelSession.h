//===- ModelSession.h - A model that another program trains ---------------===//
//
// The work of `train` without its command line and output, for a caller that
// has the data. Nothing here changes the process: no signal, no stream, no mark
// of memory.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "api/Rows.h"
#include "device/HostDevice.h"
#include "formats/Checkpoint.h"
#include "formats/OutputFolder.h"
#include "generate/Generator.h"
#include "hone/hone.h"
#include "module/Memory.h"
#include "module/Weights.h"
#include "step/SuspendedStep.h"
#include "step/TimedPause.h"
#include "step/Trainer.h"
#include "threads/Pool.h"

#include <atomic>
#include <memory>
#include <string>

namespace hone::rt {

/// Where a caller is told.
class Log {
public:
  Log() = default;
  explicit Log(const hone_options &options)
      : function(options.log), user(options.log_user) {}
  void write(hone_log_level level, const std::string &text) const {
    if (function)
      function(user, level, text.c_str());
  }
  /// The class of `status`, whose message is told if it is an error.
  hone_result tell(const Status &status) const;

private:
  hone_log_fn function = nullptr;
  void *user = nullptr;
};

class ModelSession {
public:
  /// Errors: WrongOption for options that contradict the module.
  static Result<RunPlan> plan(const Module &module,
                              const hone_options &options);

  /// Errors: those of the files that it opens; OtherRun for a folder with
  /// another run.
  static Result<std::unique_ptr<ModelSession>>
  open(const hone_module &compiled, const hone_options &options);

  uint64_t completedSteps() const { return completed; }
  /// Within `seconds`, or never without end.
  Result<Trainer::StepResult> step(const hone_rows &rows, double seconds);
  Result<Evaluation> evaluate(const hone_rows &rows);
  Status save();
  Status writeAdapter(const std::string &folder);
  Status generate(const int32_t *prompt, uint64_t count,
                  const hone_sampling &sampling, hone_token_fn token,
                  void *user);

  /// Errors: TokenOutOfRange for a number that is no id of the model;
  /// `function` is the function that was given it.
  Status checkIds(const char *function, const int32_t *ids,
                  uint64_t count) const;
  const SafetensorsFile &weightsFile() const { return weights.file(); }
  const Log log;

  /// Held while a call uses the session; false: another one does.
  class Use {
  public:
    explicit Use(ModelSession &session)
        : inUse(session.inUse), isOurs(!inUse.exchange(true)) {}
    ~Use() {
      if (isOurs)
        inUse = false;
    }
    Use(const Use &) = delete;
    Use &operator=(const Use &) = delete;
    explicit operator bool() const { return isOurs; }

  private:
    std::atomic<bool> &inUse;
    const bool isOurs;
  };

private:
  ModelSession(Module module, const hone_options &options)
      : log(options), module(std::move(module)) {}
  Status start(const hone_options &options);
  Status startTraining(const hone_options &options);
  /// Takes up the newest checkpoint, or a step after it that was suspended;
  /// false: there is none.
  Result<bool> resume();
  /// The same of a step alone; `saved` is the newest checkpoint.
  Result<bool> resumeStep(const CheckpointStore::Found &saved);
  /// The rule that stops the next step `seconds` from now. Errors: TooShort.
  Result<PauseRule> ruleFor(double seconds);
  /// Writes the step that runs, of rows with this digest.
  Status suspend(const std::string &rows, const TimedPause &pause);
  /// Errors: InMidStep; `function` is the function that was called.
  Status checkIsBetweenSteps(const char *function) const;
  std::string suspendedPath() const { return SuspendedFile::pathIn(saving); }
  Trainables &trainables();

  std::atomic<bool> inUse{false};
  std::atomic<uint64_t> completed{0};
  const Module module;
  Weights weights;
  std::unique_ptr<Pool> pool;
  std::unique_ptr<Device> device;
  OutputFolder folder;
  CheckpointStore store;
  CheckpointIdentity identity;
  Hyperparameters hyperparameters;
  bool saves = false;
  std::string saving;                     ///< the folder, if it saves
  std::optional<SuspendedStep> inMidStep; ///< whose memory is in the arena
  double writing =
      -1; ///< seconds that a suspended step takes; below 0: unknown
  double stepBegan = 0;             ///< as if the step had run without a break
  std::unique_ptr<Trainer> trainer; ///< null: it generates
  std::unique_ptr<Generator> generator; ///< null: it trains
};

} // namespace hone::rt
