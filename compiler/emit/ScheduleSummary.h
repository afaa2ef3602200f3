//===- ScheduleSummary.h - From a placed schedule to hone_schedule --------===//

#ifndef HONE_COMPILER_EMIT_SCHEDULESUMMARY_H
#define HONE_COMPILER_EMIT_SCHEDULESUMMARY_H

#include "targets/ModuleDescription.h"

#include "mlir/IR/BuiltinOps.h"

namespace hone {

/// The schedules of a placed module, in order. Symbols are those of functions
/// that lowering makes.
std::vector<ScheduleDescription> describeSchedules(mlir::ModuleOp module);

} // namespace hone

#endif
