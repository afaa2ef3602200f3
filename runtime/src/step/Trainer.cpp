//===- Trainer.cpp - The numbers of a step --------------------------------===//
//
// The module's schedules have the computation; here are the data they load and
// the numbers they are given. The targets of all batches of a step are counted
// before the first one runs.
//
//===----------------------------------------------------------------------===//

#include "step/Trainer.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace hone::rt {

Trainer::Trainer(const Module &module, const Weights &weights, Device &device,
                 DeviceMemory memory, std::unique_ptr<Offloading> values,
                 const hone_frame &frame, Transport *transport)
    : module(module), device(device), arena(std::move(memory)),
      offloading(std::move(values)),
      variables(module, weights, device, arena.address()),
      batch(module, device),
      train(module.schedule(HONE_TRAIN), device, frame, transport),
      evaluation(module.schedule(HONE_EVALUATE), device, frame, transport),
      differentiation(module.schedule(HONE_DIFFERENTIATE), device, frame,
                      transport),
      validation(module.schedule(HONE_VALIDATE), device, frame, transport) {
  if (module.canReplay())
    replayer.emplace(module.schedule(HONE_REPLAY), device, frame, transport);
  if (module.compares())
    comparison.emplace(module.schedule(HONE_COMPARE), device, frame, transport);
  for (const auto &part : module.config().parts)
    partRates.emplace_back(part->part, 0);
  if (!partRates.empty())
    partRates.pop_back();
}

Status Trainer::checkPeers(const Module &module, const Transport *transport) {
  const char *peer = peerOf(module.schedule(HONE_TRAIN));
  if (!peer || transport)
    return Status::ok();
  return Status(
      ErrorCode::OnePart, "this program",
      std::string("is one part of a model and trains only together with '") +
          peer + "', which it cannot reach",
      module.config().program.empty()
          ? "compile the model without --step-options"
          : "start all its programs with --serve and --connect, or with "
            "--exchange NAME, or compile the model without parts.*.program");
}

Result<std::unique_ptr<Trainer>>
Trainer::create(const Module &module, const Weights &weights, Device &device,
                Module::Extent extent, Transport *transport,
                const std::string &offloadFolder) {
  HONE_TRY(checkPeers(module, transport));
  std::unique_ptr<Offloading> offloading;
  if (uint64_t bytes = module.config().offloadFileBytes) {
    HONE_ASSIGN(offloading, Offloading::create(offloadFolder, bytes));
  }
  HONE_ASSIGN(DeviceMemory arena, device.allocate(module.arenaBytes(extent)));
  HONE_ASSIGN(hone_frame loaded, device.load(module.abi(), weights.mapped()));
  hone_frame frame = loaded;
  frame.arena = frame.batch = frame.work = arena.address();
  frame.offsets = module.abi().offsets;
  device.offloadTo(offloading.get());
  return std::unique_ptr<Trainer>(
      new Trainer(module, weights, device, std::move(arena),
                  std::move(offloading), frame, transport));
}

uint64_t Trainer::hostBytes() const {
  uint64_t bytes = batch.hostBytes();
  for (const Interpreter *each :
       {&train, &evaluation, &differentiation, &validation,
        replayer ? &*replayer : nullptr, comparison ? &*comparison : nullptr})
    bytes += each ? each->hostBytes() : 0;
  return bytes;
}

static uint64_t countTargets(const SampleSource &data, const SampleOrder &order,
                             SampleOrder::Range range) {
  uint64_t targets = 0;
  for (uint64_t i = 0; i < range.count; ++i) {
    targets += Batch::countTargets(
        data.sample(order.sampleAt(range.epoch, range.first + i)));
    data.release();
  }
  return targets;
}

int64_t Trainer::load(char *base) {
  SampleOrder::Range &left = source.range;
  uint64_t count = std::min(source.order.batchSize, left.count);
  batch.begin(base, RandomStream::keyOf(source.seed, source.completed,
                                        source.batches++));
  for (uint64_t i = 0; i < count; ++i) {
    batch.append(
        source.data->sample(source.order.sampleAt(left.epoch, left.first + i)));
    source.data->release();
  }
  left.first += count;
  left.count -= count;
  const int64_t rows = batch.finish();
  source.result->tokens = source.tokens += uint64_t(rows);
  return rows;
}

void Trainer::pass(uint64_t batches) {
  SampleOrder::Range &left = source.range;
  const uint64_t count = std::min(source.order.batchSize * batches, left.count);
  left.first += count;
  left.count -= count;
  source.batches += batches;
}

void Trainer::hasPassed(int64_t rows) {
  source.result->tokens = source.tokens += uint64_t(rows);
}

void Trainer::shareWith(Ranks &others) {
  ranks = &others;
  const hone_module &abi = module.abi();
  others.setGradient(arena.address() + abi.gradient_offset,
                     abi.trainable_elements, module.gradientDtype());
  train.shareWith(ranks);
  evaluation.shareWith(ranks);
}

void Trainer::begin(Interpreter &interpreter, const SampleSource &data,
                    const SampleOrder &order, SampleOrder::Range range,
                    uint64_t seed, uint64_t completed, StepResult &result) {
  result = {};
  if (!loadsData(interpreter.items()))
    return; // the counts are messages too
  result.targets = countTargets(data, order, range);
  source = {&data, order, range, &result, seed, completed};
  interpreter.set("targets", double(result.targets));
  interpreter.set("batches", int64_t((range.count + order.batchSize - 1) /
                                     order.batchSize));
}

Result<Trainer::StepResult>
Trainer::differentiate(Interpreter &interpreter, const SampleSource &data,
                       const SampleOrder &order, SampleOrder::Range range,
                       const Hyperparameters &hyperparameters,
                       uint64_t completed) {
  StepResult result;
  begin(interpreter, data, order, range,
        uint64_t(hyperparameters.settings.train.seed), completed, result);
  setUpdate(interpreter, hyperparameters, completed);
  interpreter.beginStep(completed);
  for (const Trainables::Remembered &own : variables.remembered())
    interpreter.set(own.setting, own.values.data());
  HONE_TRY(interpreter.run(*this));
  result.loss = interpreter.report("loss");
  result.gradientNorm = interpreter.report("gradient_norm");
  return result;
}

Result<Trainer::StepResult> Trainer::gradient(const SampleSource &data,
                                              const SampleOrder &order,
                                              SampleOrder::Range range,
                                              const Hyperparameters &given) {
  HONE_ASSIGN(StepResult result,
              differentiate(differentiation, data, order, range, given,
                            /*completed=*/0));
  HONE_TRY(device.wait());
  return result;
}

Status Trainer::compare(const SampleSource &data, const SampleOrder &order,
                        const Hyperparameters &hyperparameters,
                        uint64_t completed, GradientComparison &result) {
  SampleOrder::Range range = order.rangeOf(completed);
  HONE_ASSIGN(StepResult own, differentiate(differentiation, data, order, range,
                                            hyperparameters, completed));
  result.loss = own.loss;
  char *memory = arena.address();
  device.copy(memory + module.comparisonOffset(),
              memory + module.abi().gradient_offset, module.vectorBytes());
  HONE_ASSIGN(StepResult other, differentiate(*comparison, data, order, range,
                                              hyperparameters, completed));
  result.referenceLoss = other.loss;
  HONE_TRY(device.wait());
  return variables.compareGradients(result);
}

static Status disagreement(uint64_t step, const char *problem) {
  return Status(ErrorCode::PartsDiffer, "step " + std::to_string(step), problem,
                "start all programs with the same options, and give them "
                "equally large shares of the data");
}

/// Every setting of `method` that is a number, under its name.
static void setMethod(Interpreter &interpreter, const char *part,
                      const MethodSettings &method) {
  for (const Setting *setting : method.members()) {
    char name[96]; // steps allocate nothing
    snprintf(name, sizeof(name), "%s%s", part, setting->name);
    const Setting::Number number = setting->number();
    if (const auto *whole = std::get_if<int64_t>(&number))
      interpreter.set(name, *whole);
    else if (const auto *real = std::get_if<double>(&number))
      interpreter.set(name, *real);
  }
}

void Trainer::setUpdate(Interpreter &interpreter,
                        const Hyperparameters &hyperparameters,
                        uint64_t completed) {
  const Settings &settings = hyperparameters.settings;
  setMethod(interpreter, "", settings.train);
  for (const auto &part : settings.parts)
    setMethod(interpreter, part->prefix.c_str(), *part);
  if (module.compares())
    setMethod(interpreter, "compare.", settings.train);
  // After the settings, of which one has the name of a run's length.
  interpreter.set("completed", int64_t(completed));
  interpreter.set("steps", int64_t(hyperparameters.steps));
  interpreter.set("seed", int64_t(settings.train.seed));
  interpreter.set("alone", int64_t(ranks == nullptr));
}

uint64_t Trainer::coefficientCount() const {
  return module.canReplay()
             ? countOf(module.schedule(HONE_REPLAY), "coefficients")
             : 0;
}

Status Trainer::replay(const Hyperparameters &hyperparameters,
                       uint64_t completed, const float *coefficients) {
  setUpdate(*replayer, hyperparameters, completed);
  replayer->set("coefficients", coefficients);
  HONE_TRY(replayer->run(*this));
  return device.wait();
}

/// Calls `visit` with `name` itself, and with that of each part.
template <typename Visit>
static void forEachName(const Settings &settings, const char *name,
                        Visit visit) {
  visit(name);
  for (const auto &part : settings.parts) {
    char own[96]; // steps allocate nothing
    snprintf(own, sizeof(own), "%s%s", part->prefix.c_str(), name);
    visit(own);
  }
}

std::optional<double> Trainer::gradientNorm() {
  std::optional<double> norm;
  forEachName(module.config(), "gradient_norm", [&](const char *name) {
    if (!train.hasReport(name))
      return;
    double own = train.report(name);
    norm = norm ? std::sqrt(*norm * *norm + own * own) : own;
  });
  return norm;
}

const PartRates *Trainer::ratesBelowLast() {
  for (auto &[part, rate] : partRates) {
    char name[96]; // steps allocate nothing
    snprintf(name, sizeof(name), "%s.learning_rate", part.c_str());
    rate = train.report(name);
  }
  return partRates.empty() ? nullptr : &partRates;
}

const std::vector<uint32_t> *Trainer::selectedLayers() {
  bool selects = false;
  selected.clear();
  forEachName(module.config(), "selected_layers", [&](const char *name) {
    const float *numbers = train.reports(name);
    if (!numbers)
      return;
    selects = true;
    const uint64_t count = countOf(module.schedule(HONE_TRAIN), name);
    for (uint64_t i = 0; i < count; ++i)
      if (numbers[i] >= 0) // -1 of a layer that was not selected
        selected.push_back(uint32_t(numbers[i]));
  });
  return selects ? &selected : nullptr;
}

/// "lower --learning-rate or raise --warmup-steps", by the names of all parts.
static std::string remedyOf(const Settings &config) {
  std::string scale, rates, warmups;
  auto append = [&](std::string &list, const Setting &setting) {
    list += (list.empty() ? "" : " or ") + setting.spelling();
  };
  for (const MethodSettings *method : config.methods()) {
    if (method->perturbation_scale.isReadBy(method->method))
      append(scale, method->perturbation_scale);
    append(rates, method->learning_rate);
    append(warmups, method->warmup_steps);
  }
  return (scale.empty() ? "" : "give another " + scale + ", ") + "lower " +
         rates + " or raise " + warmups + ", and check the data";
}

void Trainer::begin(const SampleSource &data, const SampleOrder &order,
                    SampleOrder::Range range,
                    const Hyperparameters &hyperparameters, uint64_t completed,
                    StepResult &result, const StepState *from) {
  const auto seed = uint64_t(hyperparameters.settings.train.seed);
  train.beginStep(completed);
  if (from) { // the step's inputs are in the arena
    result = {};
    result.targets = countTargets(data, order, range);
    result.tokens = from->tokens;
    source = {&data, order,     from->left,    &result,
              seed,  completed, from->batches, from->tokens};
    return;
  }
  begin(train, data, order, range, seed, completed, result);
  setUpdate(train, hyperparameters, completed);
  for (const Trainables::Remembered &own : variables.remembered())
    train.set(own.setting, own.values.data());
}

StepState Trainer::suspended() const {
  return {train.position(), source.range, source.batches, source.tokens};
}

StepMemory Trainer::memory() {
  return {MemoryView(device, arena.address()), arena.size(),
          variables.remembered(), variables.checkpointVectors(),
          offloading.get()};
}

Status Trainer::step(const SampleSource &data, const SampleOrder &order,
                     SampleOrder::Range range,
                     const Hyperparameters &hyperparameters, uint64_t completed,
                     StepResult &result, const Interruption &interruption) {
  if (lead)
    HONE_TRY(lead({Command::Kind::Step, completed}));
  const StepState *from = interruption.from;
  if (from &&
      (from->left.epoch != range.epoch || from->left.first < range.first ||
       from->left.count > range.count ||
       from->left.first + from->left.count != range.first + range.count))
    return Status(ErrorCode::DamagedSuspended, "the suspended step",
                  "expects to have loaded other places of the data",
                  "remove it: the run then goes on from its newest checkpoint");
  begin(data, order, range, hyperparameters, completed, result, from);
  HONE_ASSIGN(bool isFinite, train.run(*this, interruption.pause,
                                       from ? &from->position : nullptr));
  result.isSuspended = train.isStopped();
  if (result.isSuspended)
    return device.wait();
  if (isFinite)
    for (Trainables::Remembered &own : variables.remembered())
      if (const float *values = train.reports(own.report))
        std::copy_n(values, own.values.size(), own.values.data());
  if (isFinite)
    result.selectedLayers = selectedLayers();
  result.coefficients = train.reports("coefficients");
  result.loss = train.report("loss");
  std::optional<double> norm = gradientNorm();
  result.gradientNorm = norm.value_or(NAN);
  const PartList &parts = module.config().parts;
  char rate[96];
  snprintf(rate, sizeof(rate), "%slearning_rate",
           parts.empty() ? "" : parts.back().prefix.c_str());
  result.learningRate = train.report(rate);
  result.partRates = ratesBelowLast();
  if (Status status = device.wait(); isFinite || !status.isOk())
    return status;
  if (train.problem())
    return disagreement(completed + 1, train.problem());
  const std::string loss = formatShort(result.loss);
  std::string problem;
  if (module.updatesLayers())
    problem = "expects a finite loss but got " + loss;
  else if (!norm)
    problem = "expects finite losses and slopes along all directions but got "
              "loss " +
              loss;
  else
    problem = "expects a finite loss and gradient but got loss " + loss +
              " and gradient norm " + formatShort(*norm);
  return Status(ErrorCode::Diverged, "step " + std::to_string(completed + 1),
                problem, remedyOf(module.config()));
}

Result<double> Trainer::lossOf(const SampleSource &data,
                               const SampleOrder &order,
                               SampleOrder::Range range) {
  if (lead)
    HONE_TRY(lead({Command::Kind::Loss, 0}));
  StepResult result;
  begin(evaluation, data, order, range, /*seed=*/0, /*completed=*/0, result);
  setUpdate(evaluation, {}, /*completed=*/0);
  HONE_TRY(evaluation.run(*this));
  if (Status status = device.wait(); !status.isOk())
    return status;
  return evaluation.report("loss");
}

Result<double> Trainer::lossOf(const SampleSource &data, uint64_t sample) {
  SampleOrder order{data.sampleCount(), 1, 1, 0, /*shuffle=*/false};
  return lossOf(data, order, {0, sample, 1});
}

Result<Evaluation>
Trainer::evaluateTask(const SampleSource &data,
                      const std::function<void(const ScoredExample &)> &each) {
  const uint64_t samples = data.sampleCount();
  Evaluation out;
  double sum = 0;
  for (uint64_t i = 0; i < samples;) {
    ScoredExample example;
    do {
      HONE_ASSIGN(double loss, lossOf(data, i));
      const size_t k = example.candidates++;
      example.losses[k] = loss;
      if (!data.isWrong(i)) {
        const uint64_t count = Batch::countTargets(data.sample(i));
        example.label = k;
        sum += loss * double(count);
        out.tokens += count;
      }
      ++i;
    } while (i < samples && data.continues(i) &&
             example.candidates < ScoredExample::MostCandidates);
    ++out.examples;
    out.correct += example.prediction() == example.label;
    each(example);
  }
  out.loss = sum / double(out.tokens);
  return out;
}

Result<Evaluation>
Trainer::evaluate(const SampleSource &data, uint64_t batchSize,
                  uint64_t completed,
                  const std::function<void(const ScoredExample &)> &each) {
  if (lead)
    HONE_TRY(lead({Command::Kind::Evaluate, completed}));
  beginEvaluation(completed);
  if (data.hasCandidates())
    return evaluateTask(data, each);
  SampleOrder order{data.sampleCount(), batchSize, 1, 0, /*shuffle=*/false};
  Result<double> loss = lossOf(data, order, {0, 0, data.sampleCount()});
  return loss.isOk() ? Result<Evaluation>({loss.value(), data.targetCount()})
                     : loss.status();
}

namespace {
/// The source of a program that has its data from another one.
struct NoSamples final : SampleSource {
  uint64_t sampleCount() const override { return 0; }
  uint64_t targetCount() const override { return 0; }
  Sample sample(uint64_t) const override { return {}; }
};
} // namespace

Status Trainer::follow(const Command &command,
                       const Hyperparameters &hyperparameters,
                       StepResult &result) {
  const NoSamples data;
  if (command.kind == Command::Kind::Step)
    return step(data, {}, {}, hyperparameters, command.step, result, {});
  if (command.kind == Command::Kind::Evaluate)
    beginEvaluation(command.step);
  else
    return lossOf(data, {}, {}).status();
  return Status::ok();
}

Status Trainer::sendAgain(uint64_t completed) {
  return train.sendAgain(completed, [&](const std::string &report) {
    for (const Trainables::Remembered &own : variables.remembered())
      if (report == own.report)
        return &own.values;
    return static_cast<const std::vector<float> *>(nullptr);
  });
}

Status Trainer::validate(uint64_t completed) {
  validation.beginStep(completed);
  HONE_ASSIGN(bool isFinite, validation.run(*this));
  if (Status status = device.wait(); isFinite || !status.isOk())
    return status;
  return Status(ErrorCode::Diverged, "step " + std::to_string(completed),
                "expects finite parameters but got NaN or infinity",
                "lower --learning-rate; the checkpoints from before "
                "are kept");
}

} // namespace hone::rt
