//===- SharedBatches.h - Whether ranks may share a schedule's batches -----===//

#pragma once

#include "dialects/Hone/HoneOps.h"

namespace hone {

/// Ranks run their own batches first and then learn of the others' what runs
/// gave (runtime/src/step/SharedBatches.cpp). So in each repeat of `schedule`
/// that loads a batch, what a run is given must not follow from what a run
/// gave, and that must be a few numbers; nothing overlaps. Fails with a
/// diagnostic.
mlir::LogicalResult checkMayShare(ScheduleOp schedule);

} // namespace hone
