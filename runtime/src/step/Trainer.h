//===- Trainer.h - The numbers of a step ----------------------------------===//
//
// Everything that decides the bits of a run, and nothing else: no files, no
// clock, no output. A step is a function of theta, the state, the data and
// the count of completed steps.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "base/Status.h"
#include "device/Device.h"
#include "module/Module.h"
#include "module/Weights.h"
#include "step/Batch.h"
#include "step/Command.h"
#include "step/Evaluation.h"
#include "step/Interpreter.h"
#include "step/SampleOrder.h"
#include "step/SampleSource.h"
#include "step/StepState.h"
#include "step/Trainables.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

namespace hone::rt {

/// The settings that decide the numbers of a run, beside its data.
struct Hyperparameters {
  Settings settings;
  uint64_t steps = 0; ///< of the whole run, whatever the settings leave to it
};

class Trainer : private BatchSource {
public:
  struct StepResult {
    double loss = 0; ///< mean over the target tokens
    /// Of the mean loss, before clipping; NaN when the module updates in the
    /// backward, or has none, and has no norm.
    double gradientNorm = 0;
    double learningRate = 0; ///< of the last part, if there are parts
    /// Of the parts below it, in order; null: there are no parts. There until
    /// anything else runs.
    const PartRates *partRates = nullptr;
    /// The layers whose backward ran, counted from 0; null: the method selects
    /// none.
    const std::vector<uint32_t> *selectedLayers = nullptr;
    uint64_t tokens = 0;  ///< rows of batches
    uint64_t targets = 0; ///< rows with a target
    /// Numbers from which replay() makes the same update, coefficientCount() of
    /// them; null where the module cannot. There until anything else runs.
    const float *coefficients = nullptr;
    /// It stopped between two launches, see suspended(); only tokens and
    /// targets are there.
    bool isSuspended = false;
  };

  /// How a step is interrupted, on a device whose memory the host sees and
  /// where no other part takes part in it.
  struct Interruption {
    LaunchPause *pause = nullptr;    ///< null: it runs to its end
    const StepState *from = nullptr; ///< where it goes on; null: it begins
  };

  /// Errors: Usage, if `module` is one part of a model and nothing reaches the
  /// others.
  static Status checkPeers(const Module &module,
                           const Transport *transport = nullptr);

  /// Allocates the arena on `device` and loads the module there. `module`,
  /// `weights` and `device` must outlive the trainer. `extent` adds abilities:
  /// gradients where the module updates layer by layer, and steps of several
  /// batches. Offloaded values rest in `offloadFolder`. Errors: as
  /// checkPeers(), Offloading::create; NoResources.
  static Result<std::unique_ptr<Trainer>>
  create(const Module &module, const Weights &weights, Device &device,
         Module::Extent extent = {}, Transport *transport = nullptr,
         const std::string &offloadFolder = platform::temporaryFolder());

  /// From now on steps and evaluations are shared with the ranks of `others`,
  /// on a device whose memory the host sees; it must outlive the trainer.
  void shareWith(Ranks &others);

  Trainables &trainables() { return variables; }

  /// Sets the function that is told of each schedule before it runs here; of a
  /// program that leads.
  void setLead(Lead told) { lead = std::move(told); }
  /// A step, or an evaluation, as the program that leads does it, without data
  /// of its own. Errors: as step().
  Status follow(const Command &command, const Hyperparameters &hyperparameters,
                StepResult &result);
  /// Of a program that has taken up a checkpoint after `completed` updates:
  /// sends again the messages that other programs receive steps after they were
  /// sent. Errors: as Transport's.
  Status sendAgain(uint64_t completed);
  /// Losses from here on are of the parameters after `completed` updates.
  void beginEvaluation(uint64_t completed) { evaluation.beginStep(completed); }

  /// Bytes that the host takes only because it does not see the device's
  /// memory.
  uint64_t hostBytes() const;

  /// One update after `completed` updates. Errors: as Device::wait; BadData
  /// when the loss or the gradient is not finite; theta is then as before the
  /// step, unless the module updates in the backward.
  Status step(const SampleSource &data, const SampleOrder &order,
              const Hyperparameters &hyperparameters, uint64_t completed,
              StepResult &result) {
    return step(data, order, order.rangeOf(completed), hyperparameters,
                completed, result, {});
  }
  /// The same of other places of an epoch than the next ones.
  Status step(const SampleSource &data, const SampleOrder &order,
              SampleOrder::Range range, const Hyperparameters &hyperparameters,
              uint64_t completed, StepResult &result,
              const Interruption &interruption);

  /// Where a step is: when its pause is asked, and once it is suspended. Until
  /// anything else runs the same step may go on there.
  StepState suspended() const;
  /// The memory to go on with there, until this trainer ends.
  StepMemory memory();
  Offloading *offloaded() { return offloading.get(); }

  /// 0 unless the module can replay.
  uint64_t coefficientCount() const;
  /// The update after `completed` updates, from its coefficients in step()'s
  /// result. Errors: as Device::wait.
  Status replay(const Hyperparameters &hyperparameters, uint64_t completed,
                const float *coefficients);

  /// Loss and gradient of places [first, first + count) of an epoch, in
  /// batches; no update. Errors: as Device::wait.
  Result<StepResult> gradient(const SampleSource &data,
                              const SampleOrder &order,
                              SampleOrder::Range range,
                              const Hyperparameters &hyperparameters);

  /// The gradient of step() after `completed` updates, compared with that of
  /// the method which the module compares, of the same batches and parameters;
  /// no update. Numbers that are not finite are in `result`. Errors: as
  /// Device::wait.
  Status compare(const SampleSource &data, const SampleOrder &order,
                 const Hyperparameters &hyperparameters, uint64_t completed,
                 GradientComparison &result);

  /// Mean negative log-likelihood of the target tokens of one sample. Errors:
  /// as Device::wait.
  Result<double> lossOf(const SampleSource &data, uint64_t sample);
  /// `data` in the file's order, `batchSize` sequences at a time, after
  /// `completed` updates, by which messages to other parts are named. Errors:
  /// as Device::wait.
  Result<Evaluation> evaluate(const SampleSource &data, uint64_t batchSize,
                              uint64_t completed) {
    return evaluate(data, batchSize, completed, [](const ScoredExample &) {});
  }
  /// The same; of a task, whose candidates are one sequence each, tells `each`
  /// example. The loss is then of the right candidates.
  Result<Evaluation>
  evaluate(const SampleSource &data, uint64_t batchSize, uint64_t completed,
           const std::function<void(const ScoredExample &)> &each);

  /// Whether the trainable parameters are finite: a finite gradient can still
  /// overflow one. Errors: as step().
  Status validate(uint64_t completed);

private:
  Trainer(const Module &module, const Weights &weights, Device &device,
          DeviceMemory arena, std::unique_ptr<Offloading> offloading,
          const hone_frame &frame, Transport *transport);

  int64_t load(char *base) override;
  void pass(uint64_t batches) override;
  void hasPassed(int64_t rows) override;
  /// Begins a step, or goes on in it.
  void begin(const SampleSource &data, const SampleOrder &order,
             SampleOrder::Range range, const Hyperparameters &hyperparameters,
             uint64_t completed, StepResult &result, const StepState *from);
  /// Sets the numbers that a step depends on beside its data.
  void setUpdate(Interpreter &interpreter,
                 const Hyperparameters &hyperparameters, uint64_t completed);
  /// Runs a schedule that writes a gradient.
  Result<StepResult>
  differentiate(Interpreter &interpreter, const SampleSource &data,
                const SampleOrder &order, SampleOrder::Range range,
                const Hyperparameters &hyperparameters, uint64_t completed);
  /// Of the step that ran last, of all parts that have one; none: no part has.
  std::optional<double> gradientNorm();
  /// The same for the selected layers; null: no part selects any.
  const std::vector<uint32_t> *selectedLayers();
  const PartRates *ratesBelowLast();
  Result<Evaluation>
  evaluateTask(const SampleSource &data,
               const std::function<void(const ScoredExample &)> &each);
  /// Mean loss of the target tokens of places of an epoch; no update.
  Result<double> lossOf(const SampleSource &data, const SampleOrder &order,
                        SampleOrder::Range range);
  /// Loads places [first, first + count) of an epoch from now on, and tells
  /// `interpreter` of them; nothing of a part that has data from another one.
  void begin(Interpreter &interpreter, const SampleSource &data,
             const SampleOrder &order, SampleOrder::Range range, uint64_t seed,
             uint64_t completed, StepResult &result);

  const Module &module;
  Device &device;
  DeviceMemory arena;
  std::unique_ptr<Offloading> offloading; ///< null: there is none
  Trainables variables;
  Batch batch;
  Ranks *ranks = nullptr; ///< null: nobody shares batches
  Lead lead;              ///< empty: nobody follows
  Interpreter train, evaluation, differentiation, validation;
  std::optional<Interpreter> replayer, comparison;
  /// The batches that the running schedule still has to load.
  struct Source {
    const SampleSource *data;
    SampleOrder order;
    SampleOrder::Range range;
    StepResult *result;
    /// The keys of the batches' random streams.
    uint64_t seed, completed, batches = 0;
    uint64_t tokens = 0; ///< of the batches that were loaded
  };
  Source source{};
  /// Of the step that ran last.
  std::vector<uint32_t> selected; ///< layers
  PartRates partRates;
};

} // namespace hone::rt
