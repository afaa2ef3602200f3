//===- ChatModel.h - A model's chat template in its weights file ----------===//
//
// honec checks the template and writes it as it is, with the special tokens
// that are variables of it; the training binary parses it with the same parser
// where its data has conversations. A parsed form would save a millisecond and
// be a second format to check.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "base/Status.h"
#include "chat/ChatTemplate.h"
#include "text/Tokenizer.h"

#include <string>
#include <string_view>

namespace hone::rt {

class ChatModel {
public:
  ChatModel() = default;

  /// Opens a block of buildChatBlock; `tokenizer` is the model's and `place`
  /// names the block. Errors: BadTokenizerTable when it is damaged, and those
  /// of ChatTemplate::parse.
  static Result<ChatModel> open(std::string_view block,
                                const Tokenizer &tokenizer,
                                const std::string &place,
                                const TemplateDate &date);

  const ChatTemplate &chatTemplate() const { return layout; }

  /// `turns` and `tools`, with marks in their texts.
  ChatMessages messages(std::vector<ChatTurn> turns,
                        const Json &tools = Json()) const {
    return ChatMessages(
        std::move(turns), tools,
        [this](std::string &text) { return mark(text); }, takesParts);
  }
  /// Whether the template writes contents in parts; else they are joined.
  bool writesParts() const { return takesParts; }
  /// Renders without the prompt of a next answer that the template writes at
  /// the end of each conversation, unless it is asked for. As
  /// ChatTemplate::render.
  Status render(ChatMessages &messages, size_t count, bool generationPrompt,
                const std::string &place, std::string &out) const;

  /// Puts DataMark before each special token that `text` spells: encode then
  /// takes it for text. Data must not be able to speak for the template.
  /// Returns how many there were.
  size_t mark(std::string &text) const;

  /// Appends the ids of rendered text to `sink`; special tokens are tokens
  /// where there is no mark. Marks are removed from `text`, in which the ends
  /// of tokens then are. Errors: as Tokenizer::encode.
  Status encode(std::string &text, const std::string &place, TokenSink &sink,
                TokenizerScratch &scratch) const;

  /// Whether `id` is a special token.
  bool isSpecial(int32_t id) const {
    return tokenizer.contents().added().isSpecial(id);
  }

private:
  void probe();
  std::string findEndlessPrompt() const;

  ChatTemplate layout;
  bool takesParts = false;
  std::string endlessPrompt; ///< at the end of each rendering
  Tokenizer tokenizer;
};

} // namespace hone::rt
