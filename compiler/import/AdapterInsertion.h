//===- AdapterInsertion.h - Adapters and trained parameters of a model ----===//
//
// PEFT's rule: a target names a module when it is the module's full path, or a
// suffix of it that starts after a dot. So "q_proj" names one module in every
// layer, and "layers.3.self_attn.q_proj" names one module. all-linear leaves
// out the output head, as PEFT does. Modules that train in full are named in
// the same way. AdapterShapes.h has rank_pattern, alpha_pattern and
// layers_to_transform.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "compiler/import/HuggingFaceModel.h"
#include "compiler/spec/Spec.h"

#include "mlir/IR/BuiltinOps.h"

namespace hone {

/// Where lora.modules_to_save names the head of `model` or the embedding whose
/// table it reads, or weights.untie asks for it, gives the head a weight of its
/// own: copies of the two train apart, as in PEFT, and a frozen one stays
/// unchanged.
void untieTrained(mlir::ModuleOp module, const HuggingFaceModel &model,
                  const Spec &spec);

/// Makes each hone.linear of `module` that lora.target_modules names a
/// hone.lora_linear, and the parameters that lora.modules_to_save and lora.bias
/// name trainable; with lora: none, all of them. Layers that train alike go on
/// sharing one block. Returns `lora` with the modules' names for
/// adapter_config.json, sorted, in place of "all-linear", and layers one by
/// one. Errors: Usage naming the entry that names no such module, with the
/// nearest that does; a module that is named twice.
Result<rt::LoraSettings> chooseTrained(mlir::ModuleOp module, const Spec &spec);

} // namespace hone
