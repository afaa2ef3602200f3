//===- PerturbParameters.h - The loss beside where parameters are ---------===//

#ifndef HONE_PASSES_DERIVE_PERTURBPARAMETERS_H
#define HONE_PASSES_DERIVE_PERTURBPARAMETERS_H

#include "dialects/Hone/HoneOps.h"

#include "mlir/IR/BuiltinOps.h"

namespace hone {

/// Adds a copy of `entry` in which all trainable parameters are moved along a
/// random direction: `@entry.perturbed`, with two arguments more, the key and
/// the scale of `hone.perturbed`. Blocks without trainable parameters are
/// shared; of the others there are copies, `@block.perturbed`. Fails with a
/// diagnostic if one of the names is taken, or nothing trains.
mlir::FailureOr<EntryOp> createPerturbedCopy(EntryOp entry);

} // namespace hone

#endif
