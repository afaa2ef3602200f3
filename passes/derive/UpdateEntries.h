//===- UpdateEntries.h - Entries that update parameters -------------------===//
//
// An update in the backward is a copy of the gradient's entry, as passes left
// it, with each layer's update after the last call that adds to the layer's
// gradients or reads its parameters. Accumulation over batches is the same
// window of one layer's gradients, folded where an update would stand.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "passes/module/ParameterTable.h"
#include "passes/optimizers/Optimizer.h"

namespace hone {

/// Begins the names of arguments that belong to the update of every step alone,
/// where updates of selected layers take others.
inline constexpr llvm::StringLiteral alwaysPrefix = "always.";

/// The arguments of an update beside the gradient, in an entry's order.
struct UpdateScalars {
  /// Names of hone.setting, or of numbers that a schedule computes:
  /// "gradient_scale", "learning_rate", "bias_correction1", "rounding_key", ...
  llvm::SmallVector<std::string> names;
  llvm::SmallVector<mlir::Type> types;

  /// `rounds`: parameters are stored as bfloat16. With `selectable`, layers are
  /// updated by a mask of that many, "selected", and have counted numbers of
  /// their own; `always` beside them are of no layer and have those of every
  /// step. With `scaled`, so many have gradient scales of their own.
  UpdateScalars(mlir::MLIRContext *context, const Optimizer &optimizer,
                bool rounds, int64_t selectable = 0, int64_t always = 0,
                int64_t scaled = 0);
};

/// @name, which updates the parameters of `layers`, or all that are trainable.
EntryOp createUpdateEntry(mlir::ModuleOp module, llvm::StringRef name,
                          const Optimizer &optimizer,
                          const ParameterTable &parameters,
                          mlir::ArrayAttr layers);

/// @name, which updates those of `selectable` that a mask says, and `always`.
EntryOp createSelectedUpdateEntry(mlir::ModuleOp module, llvm::StringRef name,
                                  const Optimizer &optimizer,
                                  const ParameterTable &parameters,
                                  llvm::ArrayRef<llvm::StringRef> selectable,
                                  llvm::ArrayRef<llvm::StringRef> always);

/// The same along random directions; the key and the coefficients of
/// hone.estimate_gradient, of the type `coefficients`, come after the scalars.
/// With `scaled`, which are then all of `layers`, these have gradient scales of
/// their own.
EntryOp createUpdateEntryAlong(mlir::ModuleOp module, llvm::StringRef name,
                               const Optimizer &optimizer,
                               const ParameterTable &parameters,
                               mlir::ArrayAttr layers, mlir::Type coefficients,
                               llvm::ArrayRef<llvm::StringRef> scaled = {});

/// Gives `gradient` an argument more, at the end: where it is not zero, each
/// layer's gradients begin at zero, in memory of their own, and are added to
/// the gradient of all parameters after the layer's last sink.
void accumulateByLayer(EntryOp gradient, const ParameterTable &parameters);

/// A copy of `gradient` that updates each layer as soon as it can; the update's
/// scalars come after the arguments of `gradient`. With `selectable`, those of
/// them that a mask says, and `always`, which are then all others.
EntryOp createUpdatingCopy(EntryOp gradient, const Optimizer &optimizer,
                           const ParameterTable &parameters,
                           llvm::ArrayRef<llvm::StringRef> selectable = {},
                           llvm::ArrayRef<llvm::StringRef> always = {});

} // namespace hone
