//===- ModelImport.h - A model as hone IR ---------------------------------===//
//
// Blocks @embed, @decoder and @head, and the entry @loss that calls them. The
// IR says which tensors are read and never holds a value of one: weights go
// from the model's files to weights.hone.safetensors without passing through.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_COMPILER_IMPORT_MODELIMPORT_H
#define HONE_COMPILER_IMPORT_MODELIMPORT_H

#include "compiler/import/ModelConfig.h"
#include "compiler/spec/Spec.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace hone {

/// Builds the module of a Hugging Face model with adapters on
/// lora.target_modules. Layers with the same adapters share one block. Every
/// op's location is the name of its module or tensor, relative to the layer.
/// The context must have the hone dialect. Errors: Usage.
rt::Result<mlir::OwningOpRef<mlir::ModuleOp>>
importModel(mlir::MLIRContext &context, const ModelConfig &config,
            const Spec &spec);

/// What the adapter of a hand-written model is; it must be the same for all
/// its hone.lora_linear.
struct WrittenAdapter {
  int64_t r = 0;
  double scale = 0;
  std::vector<std::string> target_modules; ///< sorted
};

/// Parses `spec.model`, an .mlir file with an entry @loss, and sets
/// hone.max_rows from the spec; a value in the file must agree. Keys of `lora`
/// that the user gave must agree with the module. Errors: NoInput, BadData,
/// Usage; MLIR's own diagnostics go to the context.
rt::Result<mlir::OwningOpRef<mlir::ModuleOp>>
parseModel(mlir::MLIRContext &context, const Spec &spec,
           WrittenAdapter &adapter);

} // namespace hone

#endif
