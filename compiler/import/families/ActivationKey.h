//===- ActivationKey.h - The activation that a config.json names ----------===//

#pragma once

#include "compiler/import/ConfigReader.h"
#include "dialects/Hone/HoneOps.h"

namespace hone {

/// The function that the word at `key` is in Transformers (ACT2FN); `fallback`
/// where it is absent. Errors stay in `config`.
Activation readActivation(ConfigReader &config, llvm::StringRef key,
                          Activation fallback);

} // namespace hone
