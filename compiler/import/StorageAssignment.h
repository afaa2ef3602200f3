//===- StorageAssignment.h - How each frozen matrix is stored -------------===//
//
// Sets `stored` of the matrices' hone.parameter ops from weights.dtype, or from
// the model if it is quantised already. Vectors are small and stay as they are.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_COMPILER_IMPORT_STORAGEASSIGNMENT_H
#define HONE_COMPILER_IMPORT_STORAGEASSIGNMENT_H

#include "compiler/import/ModelConfig.h"
#include "compiler/spec/Spec.h"

#include "mlir/IR/BuiltinOps.h"

namespace hone {

/// `config` is null for an .mlir model, whose `stored` attributes are kept.
/// weights.dtype and weights.group_size of `spec` become those of a model that
/// is quantised. Errors: Usage when they disagree with it, or a group does not
/// divide a matrix; BadData when layers that share code differ.
rt::Status assignStorage(mlir::ModuleOp module, Spec &spec,
                         const ModelConfig *config);

} // namespace hone

#endif
