//===- Trainer.cpp - The numbers of a step --------------------------------===//
//
// Accumulation weighs every token alike: the targets of all batches of a step
// are counted before the first one runs. A mean of the batches' means would
// favour the tokens of short batches.
//
//===----------------------------------------------------------------------===//

#include "step/Trainer.h"

#include "base/Philox.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace hone::rt {

Trainer::Trainer(const Module &module, AnonymousMapping arenaMapping,
                 AnonymousMapping scratchMapping, const Weights &weights,
                 Pool &pool)
    : module(module), pool(pool), arena(std::move(arenaMapping)),
      scratch(std::move(scratchMapping)),
      frame{pool.handle(), arena.data(), scratch.data(), weights.table(), 0},
      variables(module, arena.data()), batch(module, arena.data()) {}

Result<std::unique_ptr<Trainer>> Trainer::create(const Module &module,
                                                 const Weights &weights,
                                                 Pool &pool,
                                                 bool withGradients) {
  Result<AnonymousMapping> arena =
      AnonymousMapping::create(module.arenaBytes(withGradients));
  if (!arena.isOk())
    return arena.status();
  Result<AnonymousMapping> scratch = AnonymousMapping::create(
      module.abi().thread_bytes * uint64_t(pool.threads()));
  if (!scratch.isOk())
    return scratch.status();
  return std::unique_ptr<Trainer>(new Trainer(module, std::move(arena.value()),
                                              std::move(scratch.value()),
                                              weights, pool));
}

double &Trainer::scalar(uint64_t offset) {
  return *reinterpret_cast<double *>(arena.data() + offset);
}

/// Runs `entry` on the batch and returns the summed loss.
double Trainer::run(hone_entry_fn entry) {
  frame.rows = batch.rows();
  entry(&frame);
  return scalar(module.slots.loss);
}

static uint64_t countTargets(const Dataset &data, const SampleOrder &order,
                             SampleOrder::Range range) {
  uint64_t targets = 0;
  for (uint64_t i = 0; i < range.count; ++i)
    targets += Batch::countTargets(
        data.sample(order.sampleAt(range.epoch, range.first + i)));
  return targets;
}

void Trainer::load(const Dataset &data, const SampleOrder &order,
                   SampleOrder::Range range, StepResult &result) {
  batch.clear();
  for (uint64_t i = 0; i < range.count; ++i)
    batch.append(data.sample(order.sampleAt(range.epoch, range.first + i)));
  data.release();
  result.tokens += uint64_t(batch.rows());
}

Trainer::StepResult Trainer::gradient(const Dataset &data,
                                      const SampleOrder &order,
                                      SampleOrder::Range range) {
  StepResult result;
  result.targets = countTargets(data, order, range);
  double scale = result.targets > 0 ? 1.0 / double(result.targets) : 0.0;

  variables.zeroGradient();
  double sum = 0;
  for (uint64_t done = 0; done < range.count; done += order.batchSize) {
    SampleOrder::Range part = range;
    part.first += done;
    part.count = std::min(order.batchSize, range.count - done);
    load(data, order, part, result);
    scalar(module.slots.lossScale) = scale;
    sum += run(module.gradient);
  }
  result.loss = sum * scale;
  result.gradientNorm = variables.gradientNorm(pool);
  return result;
}

/// The stream that rounds the update after `completed` updates.
static void writeRoundingKey(int32_t *words, uint64_t seed,
                             uint64_t completed) {
  uint64_t id =
      RandomStream(seed, completed, RandomPurpose::Round, "theta").id();
  for (uint64_t word : {seed, id}) {
    *words++ = int32_t(uint32_t(word));
    *words++ = int32_t(uint32_t(word >> 32));
  }
}

void Trainer::setRates(const Hyperparameters &hyperparameters,
                       uint64_t completed, StepResult &result) {
  const TrainSettings &train = module.config().train;
  double clip = 1.0;
  if (hyperparameters.maxGradNorm > 0) // as torch.nn.utils.clip_grad_norm_
    clip = std::min(1.0,
                    hyperparameters.maxGradNorm / (result.gradientNorm + 1e-6));
  result.learningRate = hyperparameters.learningRate.at(completed);
  scalar(module.slots.gradientScale) = clip;
  scalar(module.slots.learningRate) = result.learningRate;
  scalar(module.slots.weightDecay) = hyperparameters.weightDecay;
  if (module.abi().optimizer == HONE_SGD_MOMENTUM)
    scalar(module.slots.momentum) = train.momentum;
  if (module.abi().optimizer == HONE_ADAMW) {
    double number = double(completed + 1);
    scalar(module.slots.beta1) = train.adam_beta1;
    scalar(module.slots.beta2) = train.adam_beta2;
    scalar(module.slots.epsilon) = train.adam_epsilon;
    scalar(module.slots.biasCorrection1) =
        1.0 - std::pow(train.adam_beta1, number);
    scalar(module.slots.biasCorrection2) =
        1.0 - std::pow(train.adam_beta2, number);
  }
  if (module.trainableDtype() == Dtype::BF16)
    writeRoundingKey(
        reinterpret_cast<int32_t *>(arena.data() + module.slots.roundingKey),
        hyperparameters.seed, completed);
}

static Status notFinite(uint64_t completed, const std::string &problem) {
  return Status::error(ExitCode::BadData,
                       {"step " + std::to_string(completed + 1), problem,
                        "lower --learning-rate or raise --warmup-steps, and "
                        "check the data"});
}

Status Trainer::step(const Dataset &data, const SampleOrder &order,
                     const Hyperparameters &hyperparameters, uint64_t completed,
                     StepResult &result) {
  SampleOrder::Range range = order.rangeOf(completed);
  char problem[128];
  if (module.step) {
    result = {};
    result.gradientNorm = std::nan("");
    result.targets = countTargets(data, order, range);
    double scale = result.targets > 0 ? 1.0 / double(result.targets) : 0.0;
    load(data, order, range, result);
    scalar(module.slots.lossScale) = scale;
    setRates(hyperparameters, completed, result);
    result.loss = run(module.step) * scale;
    snprintf(problem, sizeof(problem), "expects a finite loss but got %g",
             result.loss);
    return std::isfinite(result.loss) ? Status::ok()
                                      : notFinite(completed, problem);
  }
  result = gradient(data, order, range);
  if (!std::isfinite(result.loss) || !std::isfinite(result.gradientNorm)) {
    snprintf(problem, sizeof(problem),
             "expects a finite loss and gradient but got loss %g and gradient "
             "norm %g",
             result.loss, result.gradientNorm);
    return notFinite(completed, problem);
  }
  setRates(hyperparameters, completed, result);
  module.update(&frame);
  return Status::ok();
}

double Trainer::evaluate(const Dataset &data, uint64_t batchSize) {
  double sum = 0;
  for (uint64_t first = 0; first < data.sampleCount();) {
    uint64_t end = std::min(first + batchSize, data.sampleCount());
    batch.clear();
    for (; first < end; ++first)
      batch.append(data.sample(first));
    data.release();
    scalar(module.slots.lossScale) = 1.0;
    sum += run(module.loss);
  }
  return sum / double(data.targetCount());
}

} // namespace hone::rt
