//===- ChatPrompt.h - A conversation as the tokens of its next answer -----===//

#pragma once

#include "chat/ChatModel.h"
#include "data/DataLines.h"
#include "program/GenerateOptions.h"
#include "program/ModelFiles.h"
#include "program/Prompt.h"

#include <cstdint>
#include <string>
#include <vector>

namespace hone::rt {

class ChatPrompt {
public:
  /// In bytes, as in training data.
  static constexpr uint64_t LongestConversation =
      DataLines::LongestConversation;

  ChatPrompt() = default;

  /// With the template in `files`, which outlive it. Errors: NoTokenizer,
  /// NoChatTemplate, as ChatModel::open.
  static Result<ChatPrompt> open(const GenerateOptions &options,
                                 const ModelFiles &files);

  /// `asked` and the beginning of an assistant's turn, as tokens, of which at
  /// most `capacity` have room; the special token that ends such a turn is
  /// added to those that end a text. `place` is where they are from.
  /// Errors: PromptTooLong, ConversationRefused, as Tokenizer::encode.
  Status encode(const Conversation &asked, const std::string &place,
                int64_t capacity, Prompt &prompt);

private:
  Status render(const Conversation &given, bool generationPrompt,
                const std::string &place, SampleIds &ids);
  Status findEnd(Conversation given, const std::string &place,
                 const std::vector<int32_t> &prompt);

  ChatModel model;
  TokenizerScratch scratch;
  bool isEndKnown = false;
  int32_t end = -1; ///< of an assistant's turn; negative: there is none
};

} // namespace hone::rt
