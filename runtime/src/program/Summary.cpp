//===- Summary.cpp - The header and the last lines of a run ---------------===//
//
// Plain text without colour or cursor movement: it is the same in a terminal,
// a file and a test.
//
//===----------------------------------------------------------------------===//

#include "program/Summary.h"

#include "base/ByteCount.h"
#include "base/Counted.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>

namespace hone::rt {

std::string groupDigits(uint64_t number) {
  std::string digits = std::to_string(number);
  for (size_t at = digits.size(); at > 3;)
    digits.insert(at -= 3, ",");
  return digits;
}

static std::string row(const char *name, const std::string &text) {
  std::string line = name;
  line.resize(std::max<size_t>(line.size(), 12), ' ');
  return line + " " + text + "\n";
}

/// ", directions 4": the values of `settings` that `method` reads for its
/// gradient and that are not defaults.
static std::string toldTo(const std::string &method,
                          const MethodSettings &settings) {
  if (settings.selection.isReadBy(method))
    return ", selection " + settings.summary();
  TrainSettings defaults;
  std::string text;
  for (const Setting *setting : settings.members())
    if (!setting->readBy.methods.empty() && setting->isReadBy(method) &&
        setting->setBy == SetBy::Spec && Settings::isOfMethod(*setting) &&
        (setting == &settings.directions ||
         setting->text() != Settings::find(defaults, *setting)->text()))
      text += std::string(", ") + setting->name + " " + setting->text();
  return text;
}

/// "layers 0-4: mezo, directions 10, sgd; layers 5-23: backprop, adamw"
static std::string methodsOf(const Settings &config) {
  std::string text;
  for (const MethodSettings *method : config.methods()) {
    text += text.empty() ? "" : "; ";
    if (config.hasParts())
      text +=
          "layers " + static_cast<const PartSettings *>(method)->layers + ": ";
    text += method->method;
    if (config.train.residuals.isReadBy(method->method))
      text += ", residuals " + config.train.residuals;
    text += toldTo(method->method, *method) + ", " + method->optimizer;
  }
  return text;
}

/// "learning rate 5e-05 linear, clipped to norm 1"
static std::string ratesOf(const MethodSettings &method) {
  std::string rate = "learning rate " + formatShort(method.learning_rate) +
                     " " + method.lr_scheduler_type;
  if (method.loraplus_lr_ratio != 1)
    rate += ", of B " + formatShort(method.loraplus_lr_ratio) + " times that";
  if (method.warmup_steps > 0)
    rate += " after " + std::to_string(method.warmup_steps) + " of warm-up";
  if (method.weight_decay > 0)
    rate += ", weight decay " + formatShort(method.weight_decay);
  if (method.perturbation_scale.isReadBy(method.method))
    rate += ", perturbation scale " + formatShort(method.perturbation_scale);
  if (method.max_grad_norm.isReadBy(method.method) && method.max_grad_norm > 0)
    rate += ", clipped to norm " + formatShort(method.max_grad_norm);
  return rate;
}

/// ", rank_pattern {...}, layers_to_transform 0,1"
static std::string patternsOf(const LoraSettings &lora) {
  std::string text;
  for (const NamedNumbers *pattern : {&lora.rank_pattern, &lora.alpha_pattern})
    if (!pattern->empty())
      text += std::string(", ") + pattern->name + " " + pattern->text();
  if (!lora.layers_to_transform.empty())
    text += std::string(", ") + lora.layers_to_transform.name + " " +
            lora.layers_to_transform.text();
  return text;
}

static std::string describeLora(const LoraSettings &lora) {
  return row("lora", "r " + std::to_string(lora.r) + ", lora_alpha " +
                         formatShort(lora.lora_alpha) +
                         (lora.use_rslora ? ", use_rslora" : "") +
                         (lora.use_dora ? ", use_dora" : "") +
                         patternsOf(lora));
}

std::string describeModel(const Module &module) {
  const ModuleConfig &config = module.config();
  uint64_t trainable = module.abi().trainable_elements;
  uint64_t all = config.parameters;
  char share[32];
  snprintf(share, sizeof(share), "%.4f",
           all ? 100.0 * double(trainable) / double(all) : 0.0);
  return row("model", config.modelName + " (" + config.modelType +
                          "), weights " + config.weights.dtype) +
         row("method",
             methodsOf(config) +
                 (module.updatesLayers() ? " in the backward, " : ", ") +
                 config.train.compute_dtype +
                 (config.train.compute_dtype == "bfloat16"
                      ? " (products " + config.train.bfloat16_products + ")"
                      : "")) +
         (config.lora.none ? "" : describeLora(config.lora)) +
         "trainable params: " + groupDigits(trainable) +
         " || all params: " + groupDigits(all) + " || trainable%: " + share +
         "\n";
}

std::string describeRun(const Module &module, const Options &options,
                        const Run &run) {
  const TrainSettings &train = options.settings.train;
  std::string batch = std::to_string(train.batch_size);
  if (train.gradient_accumulation_steps > 1)
    batch += " x " + std::to_string(train.gradient_accumulation_steps);
  std::string rate;
  for (const MethodSettings *method : options.settings.methods())
    rate += (rate.empty() ? "" : "; ") + ratesOf(*method);
  std::string compared;
  if (options.settings.compares())
    compared = row(
        "compared",
        "with " + train.compare + toldTo(train.compare, train) + ", every " +
            (train.compare_every == 1
                 ? "step"
                 : train.compare_every.text() + " steps from the first"));
  std::string order;
  if (!options.data.empty()) // which another program may have
    order = ", " + groupDigits(run.sampleOrder().stepsPerEpoch()) +
            " an epoch, " + (train.shuffle ? "shuffled" : "in file order");
  return row("steps", groupDigits(run.totalSteps()) + " of " + batch +
                          (batch == "1" ? " sequence" : " sequences") + order) +
         row("rates", rate) + compared +
         row("threads", std::to_string(options.threads) + ", seed " +
                            std::to_string(train.seed));
}

/// "41.0 of 44.8 MiB planned", `of`, and both in bytes.
static std::string describePeak(uint64_t measured, uint64_t planned,
                                const char *of) {
  std::string text = PeakMeter::describe(measured, planned) + of;
  if (measured > 0)
    text += " (" + std::to_string(measured) + " of " + std::to_string(planned) +
            " bytes)";
  return text;
}

static std::string evaluationRows(const Run &run) {
  std::string rows;
  if (const std::optional<Evaluation> &last = run.lastEvaluation()) {
    char text[128];
    int size = snprintf(text, sizeof(text), "loss %.6f, perplexity %.4g",
                        last->loss, last->perplexity());
    if (last->hasAccuracy())
      snprintf(text + size, sizeof(text) - size_t(size),
               ", accuracy %.4f (%" PRIu64 " of %" PRIu64 ")", last->accuracy(),
               last->correct, last->examples);
    rows = row("evaluation", text);
  }
  if (run.best().exists())
    rows += row("best", run.best().text() + ", in " + run.bestFolder());
  if (run.stopsEarly())
    rows += row("stopped", "early: the last " +
                               std::to_string(run.best().waited()) +
                               " evaluations were not better");
  return rows;
}

static std::string memoryRows(const Run &run, const RunPlan &plan) {
  const std::string peak =
      describePeak(run.peak().budgeted(), plan.budgeted(), "");
  std::string rows;
  if (plan.isOnDevice()) {
    char host[128];
    snprintf(host, sizeof(host),
             "%.1f MiB planned; %.1f MiB with the driver's, which are in no "
             "plan",
             inMebibytes(plan.total), inMebibytes(run.peak().anonymous()));
    rows = row("device", peak) + row("host", host);
  } else {
    rows = row("peak", peak) +
           row("resident", describePeak(run.peak().resident(), plan.resident,
                                        " with mapped files"));
  }
  if (const uint64_t bytes = run.offloadedBytes())
    rows += row("offloaded",
                describeBytes(bytes) + " written to the file, and read again" +
                    (run.isResumed() ? ", since the run was resumed" : ""));
  return rows;
}

/// A program that came back when all was done made no step, and one that
/// follows may count no tokens. `estimate` is the plan's, in seconds.
static std::string rateRows(const Run &run, double estimate) {
  char step[64], speed[64];
  int used = snprintf(step, sizeof(step), "%.3g s", run.secondsPerStep());
  if (estimate > 0)
    snprintf(step + used, sizeof(step) - size_t(used),
             ", %.3g s estimated by the plan", estimate);
  snprintf(speed, sizeof(speed), "%.0f tokens/s", run.tokensPerSecond());
  return (run.secondsPerStep() > 0 ? row("step", step) : "") +
         (run.tokensPerSecond() > 0 ? row("speed", speed) : "");
}

std::string describeOutcome(const Module &module, const Options &options,
                            const Run &run, const RunPlan &plan) {
  // Accumulated batches are one step.
  const double estimate =
      module.config().estimatedSeconds *
      double(options.settings.train.gradient_accumulation_steps);
  const bool isBest =
      options.loadBestModelAtEnd && run.best().exists() &&
      (run.stopsEarly() || run.completedSteps() == run.totalSteps());
  // Modules that train at the same time have steps after the last.
  const uint64_t completed = std::min(run.completedSteps(), run.totalSteps());
  return (module.compares() ? run.compared().table() : "") +
         evaluationRows(run) + memoryRows(run, plan) + rateRows(run, estimate) +
         row(module.config().lora.none ? "model" : "adapter",
             options.output + " after " +
                 groupDigits(isBest ? run.best().step() : completed) + " of " +
                 groupDigits(run.totalSteps()) + " " +
                 plural(run.totalSteps(), "step"));
}

} // namespace hone::rt
