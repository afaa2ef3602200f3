//===- SharedBatches.h - Whether ranks may share a schedule's batches -----===//

#pragma once

#include "dialects/Hone/HoneOps.h"

namespace hone {

/// Ranks run their own batches first and then learn the results of the others'
/// runs (runtime/src/step/SharedBatches.cpp). So in each repeat of `schedule`
/// that loads a batch, a run's operands must not follow from a run's results,
/// and these must be a few numbers; nothing overlaps. Fails with a diagnostic.
mlir::LogicalResult checkMayShare(ScheduleOp schedule);

} // namespace hone
