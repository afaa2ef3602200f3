//===- Options.h - The command line of a training binary ------------------===//
//
// One table (in Options.cpp) declares every option with its argument, range
// and help; parsing and --help both come from it. What a model was compiled
// with, such as its method or batch size, is not an option.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_RUNTIME_PROGRAM_OPTIONS_H
#define HONE_RUNTIME_PROGRAM_OPTIONS_H

#include "base/Status.h"
#include "module/Config.h"
#include "step/LearningRate.h"

#include <cstdint>
#include <string>
#include <vector>

namespace hone::rt {

struct Options {
  std::string data, output, evalData, adapter, weights, log, profile,
      dumpGradients;
  uint64_t evalEvery = 0; ///< steps; 0: only after the last
  uint64_t saveEvery = 0; ///< steps; 0: only after the last
  uint64_t steps = 0;     ///< 0: `epochs` decides
  uint64_t epochs = 1;
  double learningRate = 0;
  double weightDecay = 0;
  uint64_t warmupSteps = 0;
  LrScheduler scheduler = LrScheduler::Linear;
  double maxGradNorm = 1;           ///< 0: no clipping
  bool optimizerInBackward = false; ///< compiled in, no option of its own
  uint64_t gradientAccumulationSteps = 1;
  uint64_t seed = 42;
  bool shuffle = true;
  uint64_t threads = 1;
  bool allowOtherNumerics = false;
  bool plan = false, evalOnly = false, help = false, version = false;

  /// What the module was compiled with. Errors: Internal.
  static Result<Options> defaults(const TrainConfig &train);

  /// Reads `arguments` (without the program's name) over `defaults`, then
  /// checks that the combination makes sense. Errors: Usage.
  static Result<Options> parse(const std::vector<std::string> &arguments,
                               const Options &defaults);

  /// The text of --help, with `defaults` as the values in brackets.
  static std::string usage(const Options &defaults);
};

/// "constant", "linear" or "cosine".
const char *lrSchedulerName(LrScheduler scheduler);

} // namespace hone::rt

#endif
