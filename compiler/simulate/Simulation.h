//===- Simulation.h - Steps of several programs in virtual time -----------===//
//
// The runtime's own trainer and interpreter run the programs' schedules; a
// device that knows only times and a network in virtual time take the places of
// the real ones. No method is known here, so a new one needs no change.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "base/Status.h"
#include "compiler/simulate/Network.h"
#include "compiler/simulate/Timeline.h"
#include "hone/runtime.h"

#include <string>
#include <vector>

namespace hone::simulate {

struct SimulatedProgram {
  std::string name;
  /// Compiled for this machine; its kernels are launched and never run.
  const hone_module *module = nullptr;
  std::vector<double> seconds; ///< of a launch, by kernel; negative: not known
  double stepSeconds = 0;      ///< beside launches, at the start of each step
};

struct SimulationRequest {
  /// In the order of parts: the first one has the data, and leads.
  std::vector<SimulatedProgram> programs;
  /// Whether they are ranks of one program, which share a step's batches.
  bool areRanks = false;
  Link link;
  uint64_t steps = 0;
  int64_t rows = 0;     ///< tokens of a batch; 0: as many as it may have
  uint64_t batches = 0; ///< of a step; 0: as the program says
};

struct SimulatedRun {
  /// After each step, the beginning first.
  std::vector<Totals> steps;
  std::vector<Span> spans;
  std::vector<uint64_t> launches; ///< by kernel
};

/// By program. Errors: OptionsDisagree for rows that a batch cannot have;
/// the same for a kernel without a time.
Result<std::vector<SimulatedRun>>
runInVirtualTime(const SimulationRequest &request);

} // namespace hone::simulate
