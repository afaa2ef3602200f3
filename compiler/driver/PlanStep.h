//===- PlanStep.h - residuals: planned ------------------------------------===//
//
// Chooses the options of the passes that trade memory for time, by running them
// on copies of the imported module. Reproducible: it depends on the module, the
// budget, the target, the file of the machine's costs and the number of
// threads, and measures nothing.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "base/Status.h"
#include "compiler/driver/Pipelines.h"
#include "compiler/spec/Spec.h"
#include "passes/plan/CostEstimate.h"
#include "passes/plan/MemoryPlan.h"
#include "passes/plan/StepPlanner.h"

#include <optional>

namespace hone {

struct PlannedStep {
  StepPlan plan;
  int64_t layers; ///< that have a forward and a backward apart
  bool streams;   ///< hone-stream-weights runs
  /// Numbers of plans that the search placed, and of those that it also lowered
  /// for the size of a thread's scratch and of tables.
  int64_t placed = 0, sized = 0;
  /// The largest train.selection_ratio with which there is a plan, if that was
  /// to be found.
  std::optional<double> selectionRatio = {};
  /// MemoryPlan::budgeted() of the smallest plan there is, for programs that
  /// may meet a device with less memory; 0: not asked for.
  int64_t smallestBytes = 0;
};

/// The limits of a plan, from the spec.
struct PlanRequest {
  rt::Settings settings;      ///< of methods
  const rt::Budget &memory;   ///< see MemoryPlan::budgeted
  const rt::Budget &resident; ///< Bytes, or nothing is asked for
  bool mayRound;   ///< block inputs and inner values may be kept in bfloat16
  bool mayOffload; ///< the residuals of layers may rest in a file
  enum class Streaming { Never, Always, Planned } streaming;
  /// Where the budgets are from, for messages.
  std::string memoryPlace, residentPlace;
  bool plansSelection; ///< train.selection_ratio, too

  static PlanRequest of(const Spec &spec);
};

/// The plan for `module`, which must be as imported.
///
///  * budgets of bytes: the fastest plan that is within both. If streaming is
///    planned, weights are streamed if no plan without is as fast;
///  * memory none: the fastest plan;
///  * no budget: the smallest peak among plans whose time is at most 1.05 times
///    that of `residuals: mesp`.
///
/// `options` are those of the spec; those that the plan decides are ignored.
/// Errors: Usage for a budget that no plan keeps, naming the smallest that one
/// does.
Result<PlannedStep> planStep(mlir::ModuleOp module, const PlanRequest &request,
                             const StepOptions &options, const Target &target,
                             const MachineCosts &costs, int64_t threads);

/// Where `target` has the arena.
MemoryDomain domainOf(const Target &target);

/// Sets the options that `planned` decides.
void applyPlan(const PlannedStep &planned, StepOptions &options);

} // namespace hone
