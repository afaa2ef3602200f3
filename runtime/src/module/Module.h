//===- Module.h - The generated half, checked -----------------------------===//
//
// After Module::open every schedule and slot that a run needs is known to be
// there, of the right type, and inside the arena. Nothing of the generated
// code runs before that, nor before the CPU is known to have the features that
// it uses.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "base/Dtype.h"
#include "base/Status.h"
#include "hone/runtime.h"
#include "module/Config.h"
#include "module/Placement.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace hone::rt {

class Module {
public:
  /// Errors: Internal when module and runtime do not fit each other; Usage
  /// when this machine's CPU lacks a feature that the code needs.
  static Result<Module> open(const hone_module &compiled);

  /// As in the placement that was chosen.
  const hone_module &abi() const { return *compiled; }
  const ModuleConfig &config() const { return parsed; }

  /// Chooses the placement with the fewest rows that holds batches of `rows`
  /// rows, at most those that were compiled in, and with it the plan. Before
  /// anything is made of the module.
  void place(int64_t rows);
  /// Rows that it was compiled for; abi() has those of the placement.
  int64_t compiledRows() const { return mostRows; }

  /// The schedule for `purpose`.
  const hone_schedule &schedule(hone_purpose purpose) const {
    return *schedules[purpose];
  }
  /// Whether the updates of a run can be made again from the reports of steps.
  bool canReplay() const { return schedules[HONE_REPLAY]; }
  /// Whether there is the gradient of a second method.
  bool compares() const { return schedules[HONE_COMPARE]; }
  /// Whether it generates text; then there is no other schedule.
  bool generates() const { return schedules[HONE_GENERATE]; }
  /// Where the run's own gradient is copied to then, in bytes of the arena.
  uint64_t comparisonOffset() const {
    return compiled->gradient_offset + (vectorBytes() + 63) / 64 * 64;
  }
  /// Whether training updates layer by layer. The gradients of all parameters
  /// are then after the arena, as they are where steps go along directions.
  bool updatesLayers() const { return parsed.train.optimizer_in_backward; }

  /// Of the batch's inputs, in bytes from hone_frame::batch; none for an input
  /// that the module, a part of a model, does not read.
  struct Slots {
    std::optional<uint64_t> inputIds, targets, sequenceStarts, randomKey;
  };
  Slots slots{};

  /// Element type of theta; updates round bfloat16 stochastically.
  Dtype trainableDtype() const;
  Dtype gradientDtype() const;
  uint64_t thetaBytes() const;
  uint64_t vectorBytes() const; ///< of the gradient
  /// A vector that the optimizer keeps, at `offset` in the arena.
  struct State {
    std::string name;
    Dtype dtype;
    uint64_t elements, offset;

    uint64_t bytes() const { return elements * dtypeBytes(dtype); }
  };
  std::vector<State> states() const;
  /// Memory that not every run needs.
  struct Extent {
    bool withGradients = false; ///< gradients that training does not need
    bool accumulates = false;   ///< several batches in a step
  };
  /// The size of the arena.
  uint64_t arenaBytes(Extent extent) const;
  uint64_t trainableShapeElements(const hone_trainable &trainable) const;

private:
  /// Finds the schedules. Errors: Internal, where they are not in the arena.
  Status check();
  void use(std::shared_ptr<const PlacedModule> chosen);

  const hone_module *compiled = nullptr;
  std::shared_ptr<const PlacedModule> placed; ///< null: all rows
  int64_t mostRows = 0;
  const hone_schedule *schedules[HONE_GENERATE + 1] = {};
  ModuleConfig parsed;
};

/// The first of `features` (LLVM's names, with or without '+') that this CPU
/// lacks, or "". Names that are not a matter of instructions are passed over.
std::string missingCpuFeature(const std::vector<std::string> &features);

} // namespace hone::rt
