//===- PlanRun.h - Threads and memory of a run ----------------------------===//

#pragma once

#include "base/Status.h"
#include "exchange/Engine.h"
#include "module/Memory.h"
#include "module/Module.h"
#include "program/Options.h"

namespace hone::rt {

/// The abilities that `options` ask for and that the arena does not hold for
/// every run.
Module::Extent extentOf(const Options &options);

/// Decides options.threads where it is 0: one thread for each CPU, but no more
/// than fit the budgets that `module` was compiled with; the plan with their
/// cost is returned. `place` says with how many others it shares batches.
/// Errors: Usage if the run does not fit a budget, even with the threads that
/// were asked for or with one.
Result<RunPlan> planRun(const Module &module, Options &options,
                        EnginePlace place = {});

/// The disk and time that a suspended step takes, as rows below a plan; empty
/// where no step can be.
std::string describePauses(const Module &module, const Options &options);

} // namespace hone::rt
