//===- TrainOn.cpp - A compiled module that trains on a device ------------===//
//
// train-on DEVICE MODULE.so WEIGHTS DATA FOLDER LAST STEPS
//
// Goes on from the newest checkpoint in FOLDER until step LAST of STEPS, and
// leaves there a checkpoint, the adapter and the gradient of the first batch.
// Prints losses and norms with the bits of doubles.
//
//===----------------------------------------------------------------------===//

#include "CompiledProgram.h"

using namespace hone;
using namespace hone::rt;
using test::require;

int main(int argc, char **argv) {
  if (argc != 8) {
    fputs("usage: train-on DEVICE MODULE.so WEIGHTS DATA FOLDER LAST STEPS\n",
          stderr);
    return 2;
  }
  const std::string folder = argv[5];
  const uint64_t last = strtoull(argv[6], nullptr, 10),
                 steps = strtoull(argv[7], nullptr, 10);
  test::CompiledProgram program(argv[1], argv[2], argv[3], argv[4],
                                /*threads=*/2);
  Trainables &trainables = program.trainer->trainables();
  const uint64_t forDevice = program.trainer->hostBytes();
  if (const uint64_t planned = program.module.config().deviceHostBytes;
      forDevice > planned) {
    fprintf(stderr, "%llu bytes for the device, %llu planned\n",
            (unsigned long long)forDevice, (unsigned long long)planned);
    return 1;
  }

  CheckpointStore store = require(CheckpointStore::open(folder));
  CheckpointStore::Found newest = require(store.newest());
  if (!newest.directory.empty())
    require(store.read(newest, trainables.checkpointTargets()));
  for (auto completed = uint64_t(newest.step); completed < last; ++completed) {
    Trainer::StepResult result = program.step(completed, steps);
    printf("%a %a\n", result.loss, result.gradientNorm);
  }
  printf("%a\n", program.evaluate());
  require(program.trainer->validate(last));
  require(store.save(int64_t(last), {}, trainables.checkpointVectors()));

  // Through the adapter and back: the read bytes are the written ones.
  require(trainables.save(folder));
  require(trainables.load(folder, AdapterUse::Train));
  require(trainables.save(folder));
  SampleOrder order = program.order();
  Trainer::StepResult first = require(
      program.trainer->gradient(program.data, order, {0, 0, order.batchSize},
                                {program.module.config(), last}));
  printf("%a %a\n", first.loss, first.gradientNorm);
  require(trainables.dumpGradients(folder + "/gradients.safetensors", {}));
}
