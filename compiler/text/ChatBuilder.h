//===- ChatBuilder.h - From a model folder to its chat block --------------===//
//
// Training binaries read the block with ChatModel.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "base/Status.h"

#include <string>

namespace hone {

/// The block of the model in `modelDir`, or an empty string when it has no
/// chat template: chat_template.jinja, else chat_template of
/// tokenizer_config.json, of several the one called "default".
/// Errors: BadTokenizer, BadChatTemplate, UnsupportedChatTemplate.
Result<std::string> buildChatBlock(const std::string &modelDir);

} // namespace hone
