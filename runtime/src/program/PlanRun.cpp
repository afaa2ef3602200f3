//===- PlanRun.cpp - Threads and memory of a run --------------------------===//
//
// A budget was kept when the step was planned, for the threads of that machine
// and the spec's own accumulation. This machine and this command line may ask
// for more.
//
//===----------------------------------------------------------------------===//

#include "program/PlanRun.h"

#include "threads/Pool.h"

#include <algorithm>

namespace hone::rt {

Module::Extent extentOf(const Options &options) {
  Module::Extent extent;
  extent.withGradients = !options.dumpGradients.empty();
  extent.accumulates = options.settings.train.gradient_accumulation_steps > 1;
  return extent;
}

static RunPlan planFor(const Module &module, const Options &options,
                       int64_t threads) {
  const hone_module &abi = module.abi();
  Module::Extent extent = extentOf(options);
  PlanClass more{extent.accumulates ? "accumulation" : "all gradients",
                 module.arenaBytes(extent) - abi.arena_bytes};
  return RunPlan::make(module.config(), abi.arena_bytes, more, abi.thread_bytes,
                       unsigned(threads));
}

namespace {
/// A budget, and what a plan takes of it.
struct Limit {
  const Budget &budget;
  uint64_t RunPlan::*taken;

  bool allows(const RunPlan &plan) const {
    return !budget.isBytes() || plan.*taken <= uint64_t(budget.bytes());
  }
};
} // namespace

Result<RunPlan> planRun(const Module &module, Options &options) {
  const TrainSettings &train = module.config().train;
  const Limit limits[] = {{train.memory_budget, &RunPlan::total},
                          {train.resident_budget, &RunPlan::resident}};
  auto exceeded = [&](const RunPlan &plan) {
    return std::find_if(
        std::begin(limits), std::end(limits),
        [&](const Limit &limit) { return !limit.allows(plan); });
  };
  bool isGiven = options.threads > 0;
  int64_t wanted =
      isGiven ? int64_t(options.threads)
              : std::min<int64_t>(Pool::availableCpus(), Pool::maxThreads);
  int64_t threads = wanted;
  RunPlan plan = planFor(module, options, threads);
  // Gradients that are dumped are on top of a budget, as the plan says.
  bool isBound = options.dumpGradients.empty();
  while (isBound && !isGiven && threads > 1 &&
         exceeded(plan) != std::end(limits))
    plan = planFor(module, options, --threads);
  const Limit *limit = isBound ? exceeded(plan) : std::end(limits);
  if (limit != std::end(limits)) {
    bool accumulates = extentOf(options).accumulates;
    return Status::error(
        ErrorCode::BudgetExceeded,
        {isGiven ? "--threads" : limit->budget.key(),
         "the run needs " + describeBytes(plan.*(limit->taken)) + " with " +
             std::to_string(threads) + " threads" +
             (accumulates ? " and several batches in a step" : "") +
             ", but the program was compiled for a budget of " +
             describeBytes(uint64_t(limit->budget.bytes())),
         isGiven && threads > 1
             ? "give fewer --threads, or compile with a larger " +
                   limit->budget.key()
             : std::string(accumulates
                               ? "give --gradient-accumulation-steps 1, or "
                               : "") +
                   "compile with a larger " + limit->budget.key()});
  }
  options.threads = threads;
  if (threads < wanted)
    plan.note = std::to_string(threads) + " of " + std::to_string(wanted) +
                " CPUs: more threads do not fit the budget";
  return plan;
}

} // namespace hone::rt
