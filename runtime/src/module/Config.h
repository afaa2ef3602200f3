//===- Config.h - What was compiled, as the module says it ----------------===//
//
// hone_module::config is JSON that honec wrote. It is read once, at start;
// numbers that the generated code depends on are in hone_module itself, so
// nothing here can make a step read out of bounds.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_RUNTIME_MODULE_CONFIG_H
#define HONE_RUNTIME_MODULE_CONFIG_H

#include "base/Json.h"
#include "base/Status.h"
#include "formats/Adapter.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace hone::rt {

/// Defaults are those of transformers.TrainingArguments, but for one epoch.
struct TrainConfig {
  std::string method = "backprop";
  std::string residuals = "mesp";
  std::string optimizer = "adamw";
  std::string computeDtype = "float32";
  uint64_t batchSize = 1;
  uint64_t maxSeqLength = 0; ///< tokens of the longest sequence
  double learningRate = 5e-5;
  double weightDecay = 0;
  uint64_t warmupSteps = 0;
  std::string lrSchedulerType = "linear";
  double maxGradNorm = 1.0; ///< 0: no clipping
  uint64_t gradientAccumulationSteps = 1;
  uint64_t seed = 42;
  uint64_t steps = 0; ///< 0: by epochs
  bool shuffle = true;
  bool optimizerInBackward = false;
  double momentum = 0;
  double adamBeta1 = 0.9;
  double adamBeta2 = 0.999;
  double adamEpsilon = 1e-8;
  uint64_t saveEvery = 500;
};

/// A line of the plan: what it is, and its bytes of anonymous memory.
struct PlanClass {
  std::string name;
  uint64_t bytes = 0;
};

struct ModuleConfig {
  std::string modelName, modelType;
  uint64_t parameters = 0; ///< all of the model's, without the adapter's
  uint64_t vocabSize = 0;
  AdapterConfig lora;
  TrainConfig train;
  std::string weightsLayout, weightsSourceHash, weightsDtype;
  /// What honec knows of a run's identity, see formats/Checkpoint.h.
  std::map<std::string, std::string> run, numerics;
  std::string triple, cpu;
  std::vector<std::string> features; ///< LLVM's names, perhaps with '+'
  std::vector<PlanClass> planClasses;
  uint64_t processBytes = 0;
  uint64_t weightBytes = 0;
  uint64_t residentWeightBytes = 0; ///< of those, at a time
  uint64_t residentThreadBytes = 0; ///< more for each thread
  double estimatedSeconds = 0;      ///< of one batch, by the plan; 0: unknown

  /// Errors: Internal, naming the key; a user cannot cause one.
  static Result<ModuleConfig> parse(const char *json);
};

} // namespace hone::rt

#endif
