//===- PlanRun.cpp - Threads and memory of a run --------------------------===//
//
// A budget was kept when the step was planned, for the threads of that machine
// and the spec's own accumulation. This machine and this command line may ask
// for more.
//
//===----------------------------------------------------------------------===//

#include "program/PlanRun.h"

#include "base/ByteCount.h"
#include "base/Counted.h"
#include "program/RankGroup.h"
#include "program/Together.h"

#include "step/SuspendedStep.h"
#include "threads/Pool.h"

#include <algorithm>
#include <cstdio>

namespace hone::rt {

Module::Extent extentOf(const Options &options) {
  // A run that dumps gradients or evaluates takes no step.
  Module::Extent extent;
  extent.withGradients = !options.dumpGradients.empty();
  extent.accumulates = !extent.withGradients && !options.evalOnly &&
                       options.replay.empty() &&
                       options.settings.train.gradient_accumulation_steps > 1;
  return extent;
}

static RunPlan planFor(const Module &module, Module::Extent extent,
                       int64_t threads, uint64_t exchange) {
  const hone_module &abi = module.abi();
  PlanClass more{extent.accumulates ? "accumulation" : "all gradients",
                 module.arenaBytes(extent) - abi.arena_bytes};
  RunPlan plan = RunPlan::make(module.config(), abi.arena_bytes, more,
                               abi.thread_bytes, unsigned(threads));
  if (exchange > 0) {
    plan.classes.push_back({"exchange", exchange});
    plan.total += exchange;
    plan.resident += exchange + exchangeLibraries;
  }
  if (abi.max_rows < module.compiledRows())
    plan.scope = " for " + std::to_string(abi.max_rows) + " of " +
                 std::to_string(module.compiledRows()) + " rows";
  return plan;
}

std::string describePauses(const Module &module, const Options &options) {
  if (module.abi().device_target)
    return "";
  const uint64_t bytes = SuspendedFile::sizeOf(
      module.arenaBytes(extentOf(options)) + module.config().offloadFileBytes);
  char text[256];
  snprintf(text, sizeof(text),
           "  %-18s%10.2f MiB   on the disk, with --for, --suspend or "
           "--suspend-every\n"
           "  %-18s%10.4f s     at most, by estimate, which these wait for\n",
           "suspended step", inMebibytes(bytes), "a kernel",
           module.config().longestLaunchSeconds);
  return text;
}

namespace {
/// A budget, and a plan's share of it.
struct Limit {
  const Budget &budget;
  uint64_t (RunPlan::*taken)() const;
};
} // namespace

/// Both as a person reads sizes, or exactly where that makes no difference.
static std::pair<std::string, std::string> describeBoth(uint64_t a,
                                                        uint64_t b) {
  std::pair<std::string, std::string> text{describeBytes(a), describeBytes(b)};
  if (text.first == text.second)
    text = {std::to_string(a) + " bytes", std::to_string(b) + " bytes"};
  return text;
}

Result<RunPlan> planRun(const Module &module, Options &options,
                        EnginePlace place) {
  const TrainSettings &train = module.config().train;
  const Limit limits[] = {{train.memory_budget, &RunPlan::budgeted},
                          {train.resident_budget, &RunPlan::residentBytes}};
  Module::Extent extent = extentOf(options);
  // Gradients that are dumped are on top of a budget, as the plan says.
  uint64_t onTop = extent.withGradients
                       ? module.arenaBytes(extent) - module.abi().arena_bytes
                       : 0;
  auto exceeded = [&](const RunPlan &plan) -> const Limit * {
    for (const Limit &limit : limits)
      if (limit.budget.isBytes() &&
          (plan.*limit.taken)() - onTop > uint64_t(limit.budget.bytes()))
        return &limit;
    return nullptr;
  };
  bool isGiven = options.threads > 0;
  int64_t wanted =
      isGiven ? int64_t(options.threads)
              : std::min<int64_t>(Pool::availableCpus(), Pool::maxThreads);
  int64_t threads = wanted;
  HONE_ASSIGN(const uint64_t ofParts, exchangeBytes(module, options));
  HONE_ASSIGN(const uint64_t ofRanks, sharingBytes(module, options, place));
  const uint64_t exchange = ofParts + ofRanks;
  RunPlan plan = planFor(module, extent, threads, exchange);
  while (!isGiven && threads > 1 && exceeded(plan))
    plan = planFor(module, extent, --threads, exchange);
  if (const Limit *limit = exceeded(plan)) {
    bool fitsWithFewer =
        threads > 1 &&
        !exceeded(planFor(module, extent, /*threads=*/1, exchange));
    std::string remedy = "compile with a larger " + limit->budget.key();
    if (extent.accumulates)
      remedy = "give --gradient-accumulation-steps 1, or " + remedy;
    if (fitsWithFewer)
      remedy = "give fewer --threads, or " + remedy;
    auto [needed, allowed] = describeBoth((plan.*limit->taken)() - onTop,
                                          uint64_t(limit->budget.bytes()));
    return Status(
        ErrorCode::BudgetExceeded,
        fitsWithFewer ? "--threads" : limit->budget.key(),
        "the run needs " + needed + " with " + counted(threads, "thread") +
            (extent.accumulates ? " and several batches in a step" : "") +
            ", but the program was compiled for a budget of " + allowed,
        remedy);
  }
  options.threads = threads;
  if (threads < wanted)
    plan.note = std::to_string(threads) + " of " + std::to_string(wanted) +
                " CPUs: more threads do not fit the budget";
  return plan;
}

} // namespace hone::rt
