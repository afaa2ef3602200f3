//===- Prompt.h - The tokens that a text goes on from ---------------------===//

#pragma once

#include "program/GenerateOptions.h"
#include "program/ModelFiles.h"

#include <cstdint>
#include <vector>

namespace hone::rt {

struct Prompt {
  std::vector<int32_t> ids;
  std::vector<int32_t> stopTokens; ///< that end the text and are not of it
  uint64_t specialAsText = 0; ///< special tokens that the text spells as text
};

/// The prompt that `options` name as tokens, of which at most `capacity` minus
/// one have room. Text gets the tokens in front that the model puts before one;
/// with --chat the model's template says what stands around it, and the special
/// token that ends an assistant's turn ends the text. Errors: NoTokenizer,
/// NoChatTemplate, TokenOutOfRange, EmptyPrompt, PromptTooLong, as
/// Tokenizer::encode.
Result<Prompt> readPrompt(const GenerateOptions &options,
                          const ModelFiles &files, const ModuleConfig &config,
                          int64_t capacity);

} // namespace hone::rt
