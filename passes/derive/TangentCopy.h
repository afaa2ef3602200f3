//===- TangentCopy.h - The loss and its slope along a direction -----------===//

#ifndef HONE_PASSES_DERIVE_TANGENTCOPY_H
#define HONE_PASSES_DERIVE_TANGENTCOPY_H

#include "dialects/Hone/HoneOps.h"

#include "mlir/IR/BuiltinOps.h"

namespace hone {

/// Adds a copy of `entry`, which returns the loss, that carries the derivative
/// along a random direction of all trainable parameters beside each value:
/// `@entry.tangent`, with the key of `hone.direction` for an argument and the
/// derivative of the loss for a second result. Between blocks there are a value
/// and its tangent, and nothing is kept. Blocks that nothing trains before or
/// in are shared; of the others there is a copy for each set of arguments that
/// have tangents, `@block.tangent`. Fails with a diagnostic if a name is taken,
/// nothing trains, or an op has no tangent.
mlir::FailureOr<EntryOp> createTangentCopy(EntryOp entry);

} // namespace hone

#endif
