//===- TargetModules.h - Which linear modules get an adapter --------------===//
//
// PEFT's rule: a target names a module when it is the module's full path, or a
// suffix of it that starts after a dot. So "q_proj" names one module in every
// layer, and "layers.3.self_attn.q_proj" names one module.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_COMPILER_IMPORT_TARGETMODULES_H
#define HONE_COMPILER_IMPORT_TARGETMODULES_H

#include "compiler/import/ModelConfig.h"
#include "compiler/spec/Spec.h"

namespace hone {

/// For each layer, which of decoderModules(config) get an adapter.
using TargetedModules = std::vector<std::vector<bool>>;

/// Applies `lora.target_modules`. Errors: Usage naming the entry that names no
/// linear module, with the nearest that does.
rt::Result<TargetedModules> resolveTargetModules(const Spec &spec,
                                                 const ModelConfig &config);

/// The list for adapter_config.json, sorted: "all-linear" becomes the names of
/// the modules, as PEFT writes it.
std::vector<std::string> targetModuleNames(const Spec &spec,
                                           const ModelConfig &config);

} // namespace hone

#endif
