//===- LossKernels.h - A loss for targets with matrix units ---------------===//

#pragma once

#include "passes/kernels/KernelBuilder.h"

namespace hone {

/// How a target wants it.
struct RoundedLoss {
  int64_t dxRows = 0, dxColumns = 0; ///< of a tile of dx, at most; 0: any
  /// A row is copied in the loop that looks for its maximum. Threads that load
  /// several numbers at once do so in loops that store nothing.
  bool copiesInMaximum = false;
};

/// The loss for a target whose products round float32 to bfloat16: the terms of
/// dx are stored as bfloat16, so half of the bytes are read, as they are. Needs
/// private memory for a row of KernelBuilder::lossColumns(). False, with
/// nothing emitted: there is no dx, or products do not round.
bool emitRoundedLoss(LinearCrossEntropyOp op, KernelBuilder &k,
                     const RoundedLoss &rounded);

} // namespace hone
