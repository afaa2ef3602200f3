//===- CompiledProgram.h - A compiled module and all that it runs with ----===//

#pragma once

#include "GuardedDevice.h"
#include "data/Dataset.h"
#include "device/HostDevice.h"
#include "step/Trainer.h"

#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <memory>
#include <string>

namespace hone::test {

/// The value, or the end of the process with the error.
template <typename T> T require(rt::Result<T> result) {
  if (!result.isOk()) {
    fputs(result.status().render().c_str(), stderr);
    exit(1);
  }
  return std::move(result.value());
}
inline void require(const rt::Status &status) {
  if (status.isOk())
    return;
  fputs(status.render().c_str(), stderr);
  exit(1);
}

/// A shared library that exports a module, on the device called `host` or
/// `guarded`.
class CompiledProgram {
public:
  CompiledProgram(const std::string &device, const char *library,
                  const char *weightsFile, const char *dataFile,
                  unsigned threads, rt::Transport *transport = nullptr) {
    void *loaded = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    auto *compiled = loaded ? static_cast<const hone_module *>(
                                  dlsym(loaded, "hone_compiled_module"))
                            : nullptr;
    if (!compiled) {
      fprintf(stderr, "%s\n", dlerror());
      exit(1);
    }
    module = require(rt::Module::open(*compiled));
    weights = require(rt::Weights::open(weightsFile, module));
    const rt::ModuleConfig &config = module.config();
    data = require(rt::Dataset::prepare({dataFile, config.train.max_seq_length,
                                         std::string(library) + ".cache",
                                         int64_t(config.vocabSize)},
                                        nullptr));
    pool = require(rt::Pool::create(threads));
    if (device == "guarded")
      this->device = std::make_unique<GuardedDevice>(*pool);
    else
      this->device = std::make_unique<rt::HostDevice>(*pool);
    rt::Module::Extent extent;
    extent.withGradients = true;
    extent.accumulates = config.train.gradient_accumulation_steps > 1;
    trainer = require(
        rt::Trainer::create(module, weights, *this->device, extent, transport));
    trainer->trainables().initialize(uint64_t(config.train.seed));
  }

  rt::SampleOrder order() const {
    const rt::TrainSettings &train = module.config().train;
    return {data.sampleCount(), uint64_t(train.batch_size),
            uint64_t(train.gradient_accumulation_steps), uint64_t(train.seed),
            /*shuffle=*/false};
  }

  /// One update of a run of `steps`.
  rt::Trainer::StepResult step(uint64_t completed, uint64_t steps) {
    rt::Trainer::StepResult result;
    require(tryStep(completed, steps, result));
    return result;
  }
  /// The same, for callers that expect an error.
  rt::Status tryStep(uint64_t completed, uint64_t steps,
                     rt::Trainer::StepResult &result) {
    rt::Hyperparameters hyperparameters{module.config(), steps};
    rt::TrainSettings &train = hyperparameters.settings.train;
    train.lr_scheduler_type = "cosine";
    train.warmup_steps = 1;
    return trainer->step(data, order(), hyperparameters, completed, result);
  }

  double evaluate(uint64_t completed = 0) {
    return require(trainer->evaluate(data,
                                     uint64_t(module.config().train.batch_size),
                                     completed))
        .loss;
  }

  rt::Module module;
  rt::Weights weights;
  rt::Dataset data;
  std::unique_ptr<rt::Pool> pool;
  std::unique_ptr<rt::Device> device;
  std::unique_ptr<rt::Trainer> trainer;
};

} // namespace hone::test
