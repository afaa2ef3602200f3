//===- BlockContinuation.h - A block for rows that continue a sequence ----===//

#ifndef HONE_PASSES_DERIVE_BLOCKCONTINUATION_H
#define HONE_PASSES_DERIVE_BLOCKCONTINUATION_H

#include "dialects/Hone/HoneOps.h"

namespace hone {

/// Rewrites the body of `block`, in place, to compute new rows of one sequence
/// of up to `positions` tokens. Ops whose rows stand for themselves stay,
/// others are asked (ContinuationOpInterface); the block's type follows what
/// they return. Ambient values that nothing reads any more are removed. Fails
/// with a diagnostic at an op that knows no way.
mlir::LogicalResult continueBlock(BlockOp block, int64_t positions);

} // namespace hone

#endif
