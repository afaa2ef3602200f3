//===- Prediction.h - The result of a simulation, for people --------------===//
//
// A step's time is that between the ends of two steps of the run's second half,
// on average: pipelines are full by then.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "compiler/simulate/Simulation.h"

#include <string>
#include <vector>

namespace hone::simulate {

/// Of one step: seconds and bytes.
struct ProgramPrediction {
  std::string name;
  double step = 0;
  double seconds[kActivities] = {};
  double sent = 0, received = 0;
};

struct Prediction {
  std::vector<ProgramPrediction> programs;
  double step = 0; ///< of the slowest program
};

/// `runs` have at least two steps.
Prediction predict(const std::vector<SimulatedProgram> &programs,
                   const std::vector<SimulatedRun> &runs);

/// `assumed` is a line with the assumptions.
std::string table(const Prediction &prediction, const std::string &assumed);
std::string json(const Prediction &prediction);
/// A bar for each program, over the last `shown` steps at most.
std::string drawing(const std::vector<SimulatedProgram> &programs,
                    const std::vector<SimulatedRun> &runs,
                    const std::string &assumed, uint64_t shown);

} // namespace hone::simulate
