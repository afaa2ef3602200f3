//===- Trainables.h - Theta, its gradient and the optimizer's state -------===//
//
// Views into a device's arena, with the outside's names. Nothing here owns
// memory: the arena outlives it. Starting values depend on the seed and the
// Hugging Face name of a tensor only, never on where the compiler put it.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "base/Status.h"
#include "formats/Adapter.h"
#include "formats/Checkpoint.h"
#include "formats/Safetensors.h"
#include "module/Module.h"
#include "module/Weights.h"
#include "step/GradientComparison.h"

#include <cstdint>
#include <string>
#include <vector>

namespace hone::rt {

class Trainables {
public:
  Trainables(const Module &module, const Weights &weights, Device &device,
             char *arena);

  /// Theta as hone_trainable::init asks, keyed by `seed`; the state and
  /// remembered values zero.
  void initialize(uint64_t seed);

  /// Theta from a PEFT directory, or from a model's if all of it trains; the
  /// state zero. Errors: as readAdapter and readModel.
  Status load(const std::string &directory, AdapterUse use);

  /// SHA-256 of theta, in hex. Errors: as Device::wait.
  Result<std::string> digest() const;

  /// Theta as a PEFT directory, or as the model's files if all of it trains.
  /// Errors: as writeAdapter and writeModel.
  Status save(const std::string &directory) const;

  /// The gradients as safetensors, of an adapter under PEFT's names. Errors: as
  /// OutputFile.
  Status dumpGradients(const std::string &path,
                       const SafetensorsMetadata &metadata) const;

  /// Compares the copy of the gradient that Trainer::compare() makes with the
  /// gradient. Errors: as Device::wait.
  Status compareGradients(GradientComparison &out) const;

  /// A value that a step reported for the next one, in host memory.
  struct Remembered {
    const char *setting; ///< "before.updates", where the next step has it
    const char *report;  ///< "updates"
    std::vector<float> values;
  };
  std::vector<Remembered> &remembered() { return memory; }

  /// "theta", "state0", "state0.codes", "before.updates".
  std::vector<CheckpointVector> checkpointVectors();
  std::vector<CheckpointTarget> checkpointTargets();

private:
  MemoryView inTheta(const hone_trainable &trainable) const;
  /// Its name in an adapter, without peftPrefix.
  std::string adapterName(const hone_trainable &trainable) const;
  /// Theta, as an adapter's or the model's files hold it.
  std::vector<TensorMemory> inFiles() const;
  void zero();

  const Module &module;
  const Weights &weights;
  MemoryView theta, gradient, compared;
  struct Remembers {
    Module::State state;
    MemoryView data;
  };
  std::vector<Remembers> states; ///< of the optimizer
  std::vector<Remembered> memory;
};

} // namespace hone::rt
