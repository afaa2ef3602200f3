//===- ModelImport.h - A model as hone IR ---------------------------------===//
//
// Blocks and the entry @loss that calls them, from a Hugging Face directory or
// from an .mlir file. The IR says which tensors are read and never holds a
// value of one: weights go from the model's files to weights.hone.safetensors
// without passing through.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "compiler/import/HuggingFaceModel.h"
#include "compiler/spec/Spec.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <limits>

namespace hone {

struct ImportedModel {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  /// The spec's, completed from the model: in adapter_config.json's words,
  /// without "all-linear".
  rt::LoraSettings lora;
};

/// The type of activations that `train.compute_dtype` names.
mlir::Type activationType(const Spec &spec, mlir::MLIRContext *context);

/// The module of `model` without adapters, with activations of type `element`.
/// Attention's windows that no sequence of `longestSequence` tokens fills are
/// left out. The context must have the hone dialect.
mlir::OwningOpRef<mlir::ModuleOp>
buildModule(const HuggingFaceModel &model, mlir::Type element,
            int64_t longestSequence = std::numeric_limits<int64_t>::max());

/// The same with adapters and hone.max_rows, verified. Errors: Usage.
Result<ImportedModel> importModel(mlir::MLIRContext &context,
                                  const HuggingFaceModel &model,
                                  const Spec &spec);

/// Parses `spec.model`, an .mlir file with an entry @loss, and sets
/// hone.max_rows from the spec; a value in the file must agree. Keys of `lora`
/// that the user gave must agree with the module. Errors: NoInput, BadData,
/// Usage; MLIR's own diagnostics go to the context.
Result<ImportedModel> parseModel(mlir::MLIRContext &context, const Spec &spec);

/// Makes a model that trains as a whole one that does not train.
void freeze(mlir::ModuleOp module);

/// The bound below which every id and target of `module` is: ids index the
/// tables of embeddings, targets the rows of heads.
int64_t vocabularySize(mlir::ModuleOp module);

} // namespace hone
