//===- Regularization.h - Dropout, noise and label smoothing --------------===//

#pragma once

#include "compiler/spec/Spec.h"

#include "mlir/IR/BuiltinOps.h"

namespace hone {

/// Adds lora.lora_dropout, train.neftune_noise_alpha and
/// train.label_smoothing_factor of `spec` to a model with its adapters. An
/// .mlir model may have them written out: then the spec can only repeat them,
/// and `lora` is told. Errors: SpecDisagreesWithModel.
Status addRegularization(mlir::ModuleOp module, const Spec &spec,
                         rt::LoraSettings &lora);

} // namespace hone
