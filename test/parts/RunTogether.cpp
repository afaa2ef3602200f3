//===- RunTogether.cpp - Compiled modules that train as one ---------------===//
//
// run-together DEVICE STEPS SEED (NAME MODULE.so WEIGHTS DATA)...
//
// Each module has weights, arena, plan and a thread of its own. After STEPS
// updates, prints of each program the losses of all steps and of an evaluation,
// and of each trained tensor its digest: with the bits of doubles.
//
//===----------------------------------------------------------------------===//

#include "../device/CompiledProgram.h"
#include "DelayedTransport.h"
#include "base/Sha256.h"

#include <cinttypes>
#include <thread>

using namespace hone;
using namespace hone::rt;

namespace {

class Program {
public:
  Program(const std::string &device, char **arguments, test::Network &network)
      : name(arguments[0]), transport(network, name),
        program(device, arguments[1], arguments[2], arguments[3],
                /*threads=*/1, &transport) {}

  void train(uint64_t steps) {
    for (uint64_t step = 0; step < steps; ++step) {
      Trainer::StepResult result = program.step(step, steps);
      losses.push_back(result.loss);
      losses.push_back(result.gradientNorm);
    }
    losses.push_back(program.evaluate());
  }

  void print() {
    for (double loss : losses)
      printf("%s number %a\n", name.c_str(), loss);
    const hone_module &m = program.module.abi();
    MemoryView theta =
        program.trainer->trainables().checkpointTargets()[0].data;
    uint64_t element = dtypeBytes(program.module.trainableDtype());
    for (uint32_t i = 0; i < m.trainable_count; ++i) {
      const hone_trainable &t = m.trainables[i];
      Sha256 hash;
      auto update = [&](const char *bytes, uint64_t size) {
        hash.update(bytes, size);
        return Status::ok();
      };
      test::require(
          (theta + t.offset * element)
              .read(program.module.trainableShapeElements(t) * element,
                    update));
      printf("%s tensor %s %s\n", name.c_str(), t.name,
             hash.finishHex().c_str());
    }
  }

private:
  std::string name;
  test::DelayedTransport transport;
  test::CompiledProgram program;
  std::vector<double> losses;
};

} // namespace

int main(int argc, char **argv) {
  if (argc < 8 || (argc - 4) % 4 != 0) {
    fputs("usage: run-together DEVICE STEPS SEED (NAME MODULE.so WEIGHTS "
          "DATA)...\n",
          stderr);
    return 2;
  }
  uint64_t steps = strtoull(argv[2], nullptr, 10);
  test::Network network(strtoull(argv[3], nullptr, 10));
  std::vector<std::unique_ptr<Program>> programs;
  for (int i = 4; i < argc; i += 4)
    programs.push_back(std::make_unique<Program>(argv[1], argv + i, network));
  std::vector<std::thread> threads;
  for (auto &program : programs)
    threads.emplace_back([&, steps] { program->train(steps); });
  for (std::thread &thread : threads)
    thread.join();
  for (auto &program : programs)
    program->print();
}
