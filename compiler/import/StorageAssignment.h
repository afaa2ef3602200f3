//===- StorageAssignment.h - How each matrix is stored --------------------===//
//
// Sets `stored` of the matrices' hone.parameter ops from weights.dtype, or from
// the model if it is quantised already. Vectors are small and stay as they are.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "compiler/import/HuggingFaceModel.h"
#include "compiler/spec/Spec.h"

#include "mlir/IR/BuiltinOps.h"

namespace hone {

/// `model` is null for an .mlir model, whose `stored` attributes are kept.
/// Returns spec.weights with the dtype and the groups of a model that is
/// quantised. Errors: Usage when the spec disagrees with it, or a group does
/// not divide a matrix; BadData when layers that share code differ.
Result<rt::WeightSettings> assignStorage(mlir::ModuleOp module,
                                         const Spec &spec,
                                         const HuggingFaceModel *model);

} // namespace hone
