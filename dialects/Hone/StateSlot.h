//===- StateSlot.h - The memory of an optimizer ---------------------------===//

#pragma once

#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/StringRef.h"

namespace hone {

/// A vector that an optimizer keeps from step to step, or works with in one, of
/// all trainable parameters one after the other. All its bytes are zero before
/// the first step.
struct StateSlot {
  /// Its numbers for each parameter.
  enum class Extent {
    Elements, ///< one number for each element
    Blocks,  ///< one for each numerics::kStateBlock elements, the last may have
             ///< fewer: each tensor begins a block
    Rows,    ///< one for each row of a matrix, and one for a vector
    Columns, ///< one for each column of a matrix, or element of a vector
  };

  /// The name of the region, and of the vector in a checkpoint. Slots of one
  /// name are the same in all else.
  llvm::StringRef name;
  mlir::Type element;
  Extent extent = Extent::Elements;
  /// Whether the next step reads it, so that checkpoints have it.
  bool isKept = true;

  /// How many numbers it has of a parameter.
  int64_t elementsOf(mlir::RankedTensorType parameter) const;
};

} // namespace hone
