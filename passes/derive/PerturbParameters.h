//===- PerturbParameters.h - The loss beside where parameters are ---------===//

#pragma once

#include "passes/parts/LayerParts.h"

namespace hone {

/// Copies of entries in which trainable parameters are moved along a random
/// direction. Blocks without any are shared; of the others there are copies,
/// `@block.perturbed`, which all entries share.
class PerturbedCopies {
public:
  /// Adds `@name`, a copy of `entry` that moves the parameters of the layers
  /// that `moves` has, with two arguments more, the key and the scale of
  /// `hone.perturbed`. Fails with a diagnostic if a name is taken, or nothing
  /// trains.
  mlir::FailureOr<EntryOp> create(EntryOp entry, llvm::StringRef name,
                                  LayerFilter moves);

private:
  llvm::StringMap<BlockOp> copies; ///< by the name of the block
};

} // namespace hone
