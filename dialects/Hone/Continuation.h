//===- Continuation.h - Rows that go on where others ended ----------------===//

#pragma once

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Value.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"

namespace hone {

/// The operands and the cache of an op that is built for rows which continue a
/// sequence.
struct ContinuationRequest {
  /// The op's operands, of the new rows alone.
  llvm::ArrayRef<mlir::Value> operands;
  /// Memory of the layer from run to run that has a row of `type` for each
  /// position of a sequence. `name` tells it from others of the op.
  llvm::function_ref<mlir::Value(llvm::StringRef name,
                                 mlir::RankedTensorType type)>
      cacheOf;
};

} // namespace hone
