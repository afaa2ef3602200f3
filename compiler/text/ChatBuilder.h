//===- ChatBuilder.h - From a model folder to its chat block --------------===//
//
// Training binaries read the block with ChatModel.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "base/Status.h"

#include <string>
#include <string_view>

namespace hone {

/// The block of the model in `modelDir`, or an empty string when it has no
/// chat template: chat_template.jinja, else chat_template of
/// tokenizer_config.json, of several the one called "default". With the name of
/// a preset it is that, even if the folder has another; `tokenizer` is the
/// block of the model's tokenizer then. Errors: BadTokenizer, BadChatTemplate,
/// UnsupportedChatTemplate; TokenizerMisfit for a preset whose special tokens
/// the tokenizer lacks; WrongOption for one that does not exist.
Result<std::string> buildChatBlock(const std::string &modelDir,
                                   const std::string &preset = "model",
                                   std::string_view tokenizer = {});

} // namespace hone
