//===- LossKernels.h - A loss for targets with matrix units ---------------===//

#pragma once

#include "passes/kernels/KernelBuilder.h"

namespace hone {

/// The loss for a target whose products round float32 to bfloat16: what dx is
/// summed from is stored as that, so half of the bytes are read, as they are.
/// Needs private memory for a row of KernelBuilder::lossColumns(). Tiles of dx
/// have at most `dxPlaces` rows and columns. False, with nothing emitted: there
/// is no dx, or products do not round.
bool emitRoundedLoss(LinearCrossEntropyOp op, KernelBuilder &k,
                     int64_t dxPlaces);

} // namespace hone
