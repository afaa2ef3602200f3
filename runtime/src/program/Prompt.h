//===- Prompt.h - The tokens that a text goes on from ---------------------===//

#pragma once

#include "chat/ChatTemplate.h"
#include "data/SampleIds.h"
#include "program/GenerateOptions.h"
#include "program/ModelFiles.h"

#include <cstdint>
#include <string>
#include <vector>

namespace hone::rt {

struct Prompt {
  std::vector<int32_t> ids;
  std::vector<int32_t> stopTokens; ///< that end the text and are not of it
  uint64_t specialAsText = 0; ///< special tokens that the text spells as text
};

/// The prompt that `options` name as tokens, of which at most `capacity` have
/// room. Text gets the tokens in front that the model puts before one; with
/// --chat or --messages the model's template adds the text around it, and the
/// special token that ends an assistant's turn ends the text. Errors:
/// NoTokenizer, NoChatTemplate, TokenOutOfRange, EmptyPrompt, PromptTooLong, as
/// Tokenizer::encode and readConversation.
Result<Prompt> readPrompt(const GenerateOptions &options,
                          const ModelFiles &files, const ModuleConfig &config,
                          int64_t capacity);

/// The conversation of --system and --messages. Errors: as readConversation,
/// and OptionsDisagree for two system turns.
Result<Conversation> startingConversation(const GenerateOptions &options);

/// Adds the tokens of the model that end a text, and checks the ids. Errors:
/// EmptyPrompt, TokenOutOfRange.
Status completePrompt(const ModelFiles &files, const ModuleConfig &config,
                      Prompt &prompt);

Status promptTooLong(const std::string &place, int64_t capacity);
Status noTokenizer(const char *option);

} // namespace hone::rt
