//===- AdapterInsertion.h - LoRA on the linear modules of a model ---------===//
//
// PEFT's rule: a target names a module when it is the module's full path, or a
// suffix of it that starts after a dot. So "q_proj" names one module in every
// layer, and "layers.3.self_attn.q_proj" names one module. all-linear leaves
// out the output head, as PEFT does.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_COMPILER_IMPORT_ADAPTERINSERTION_H
#define HONE_COMPILER_IMPORT_ADAPTERINSERTION_H

#include "compiler/spec/Spec.h"

#include "mlir/IR/BuiltinOps.h"

namespace hone {

/// Makes each hone.linear of `module` that lora.target_modules names a
/// hone.lora_linear. Layers with the same adapters go on sharing one block.
/// Returns `lora` with the modules' names for adapter_config.json, sorted, in
/// place of "all-linear". Errors: Usage naming the entry that names no linear
/// module, with the nearest that does.
rt::Result<rt::LoraSettings> insertAdapters(mlir::ModuleOp module,
                                            const Spec &spec);

} // namespace hone

#endif
