//===- RunTogether.cpp - Compiled modules that train as one ---------------===//
//
// run-together STEPS SEED (NAME MODULE.so WEIGHTS DATA)...
//
// Each module has weights, arena, plan and a thread of its own. Behind STEPS
// updates, prints of each program the losses of all steps and of an evaluation,
// and of each trained tensor its digest: with the bits of doubles.
//
//===----------------------------------------------------------------------===//

#include "DelayedTransport.h"
#include "base/Sha256.h"
#include "step/Trainer.h"

#include <cinttypes>
#include <dlfcn.h>
#include <thread>

using namespace hone;
using namespace hone::rt;

template <typename T> static T require(Result<T> result) {
  if (!result.isOk()) {
    fputs(result.status().render().c_str(), stderr);
    exit(1);
  }
  return std::move(result.value());
}

namespace {

class Program {
public:
  Program(char **arguments, test::Network &network)
      : name(arguments[0]), transport(network, name) {
    void *library = dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL);
    auto *compiled = library ? static_cast<const hone_module *>(
                                   dlsym(library, "hone_compiled_module"))
                             : nullptr;
    if (!compiled) {
      fprintf(stderr, "%s\n", dlerror());
      exit(1);
    }
    module = require(Module::open(*compiled));
    weights = require(Weights::open(arguments[2], module));
    const ModuleConfig &config = module.config();
    data = require(Dataset::prepare({arguments[3], config.train.max_seq_length,
                                     std::string(arguments[1]) + ".cache",
                                     int64_t(config.vocabSize)},
                                    nullptr));
    pool = require(Pool::create(1));
    Module::Extent extent;
    extent.accumulates = config.train.gradient_accumulation_steps > 1;
    trainer =
        require(Trainer::create(module, weights, *pool, extent, &transport));
    trainer->trainables().initialize(uint64_t(config.train.seed));
  }

  void train(uint64_t steps) {
    const TrainSettings &train = module.config().train;
    SampleOrder order{data.sampleCount(), uint64_t(train.batch_size),
                      uint64_t(train.gradient_accumulation_steps),
                      uint64_t(train.seed), /*shuffle=*/false};
    Hyperparameters hyperparameters{
        {LrScheduler::Cosine, train.learning_rate, 1, steps},
        train.weight_decay,
        train.max_grad_norm,
        uint64_t(train.seed)};
    for (uint64_t step = 0; step < steps; ++step) {
      Trainer::StepResult result;
      Status status = trainer->step(data, order, hyperparameters, step, result);
      if (!status.isOk())
        fputs(status.render().c_str(), stderr), exit(1);
      losses.push_back(result.loss);
      losses.push_back(result.gradientNorm);
    }
    losses.push_back(trainer->evaluate(data, uint64_t(train.batch_size)));
  }

  void print() {
    for (double loss : losses)
      printf("%s number %a\n", name.c_str(), loss);
    const hone_module &m = module.abi();
    auto *theta = static_cast<const char *>(
        trainer->trainables().checkpointTargets()[0].data);
    uint64_t element = dtypeBytes(module.trainableDtype());
    for (uint32_t i = 0; i < m.trainable_count; ++i) {
      const hone_trainable &t = m.trainables[i];
      uint64_t bytes = module.trainableShapeElements(t) * element;
      printf("%s tensor %s %s\n", name.c_str(), t.name,
             Sha256::hex({theta + t.offset * element, bytes}).c_str());
    }
  }

private:
  std::string name;
  test::DelayedTransport transport;
  Module module;
  Weights weights;
  Dataset data;
  std::unique_ptr<Pool> pool;
  std::unique_ptr<Trainer> trainer;
  std::vector<double> losses;
};

} // namespace

int main(int argc, char **argv) {
  if (argc < 7 || (argc - 3) % 4 != 0) {
    fputs("usage: run-together STEPS SEED (NAME MODULE.so WEIGHTS DATA)...\n",
          stderr);
    return 2;
  }
  uint64_t steps = strtoull(argv[1], nullptr, 10);
  test::Network network(strtoull(argv[2], nullptr, 10));
  std::vector<std::unique_ptr<Program>> programs;
  for (int i = 3; i < argc; i += 4)
    programs.push_back(std::make_unique<Program>(argv + i, network));
  std::vector<std::thread> threads;
  for (auto &program : programs)
    threads.emplace_back([&, steps] { program->train(steps); });
  for (std::thread &thread : threads)
    thread.join();
  for (auto &program : programs)
    program->print();
}
