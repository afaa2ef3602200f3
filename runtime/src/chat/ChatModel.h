//===- ChatModel.h - A model's chat template in its weights file ----------===//
//
// honec checks the template and writes it as it is, with the special tokens
// and the added tokens that it may write; the training binary parses it with
// the same parser where its data has conversations. A parsed form would save a
// millisecond and be a second format to check.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_RUNTIME_CHAT_CHATMODEL_H
#define HONE_RUNTIME_CHAT_CHATMODEL_H

#include "base/Status.h"
#include "chat/ChatTemplate.h"
#include "text/Tokenizer.h"

#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace hone::rt {

/// Tokens that are matched in text before it is cut into pieces, by the rules
/// of Hugging Face's tokenizers.
class AddedTokens {
public:
  enum Flag : uint8_t {
    Special = 1,
    LeftStrip = 2,  ///< takes white space before it
    RightStrip = 4, ///< takes white space behind it
    SingleWord = 8, ///< only between other characters than letters
    AllFlags = 15,
  };
  struct Token {
    uint32_t id;
    uint32_t offset, size; ///< of its text in `texts`
    uint8_t flags;
  };

  void add(uint32_t id, uint8_t flags, std::string_view text);
  /// To be called after the last add.
  void sort();

  /// The longest token at `at`, of which special ones are only looked for if
  /// `maySpecial`; null when there is none.
  const Token *match(std::string_view text, size_t at, bool maySpecial) const;
  std::string_view text(const Token &token) const {
    return std::string_view(texts).substr(token.offset, token.size);
  }
  const std::vector<Token> &all() const { return tokens; }

private:
  std::string texts;
  std::vector<Token> tokens;      // by text
  std::vector<uint32_t> sizes;    // each once, longest first
  std::array<bool, 256> begins{}; // first bytes
};

class ChatModel {
public:
  ChatModel() = default;

  /// Of the block that buildChatBlock made; `tokenizer` is the model's and
  /// `place` names the block. Errors: BadTokenizerTable when it is damaged,
  /// and what ChatTemplate::parse says.
  static Result<ChatModel> open(std::string_view block,
                                const Tokenizer &tokenizer,
                                const std::string &place,
                                const TemplateDate &date);

  const ChatTemplate &chatTemplate() const { return layout; }

  /// Puts DataMark before each special token that `text` spells: encode then
  /// takes it for text. Data must not be able to speak for the template.
  /// Returns how many there were.
  size_t mark(std::string &text) const;

  /// Appends the ids of rendered text to `sink`: added tokens are found as
  /// Transformers finds them, special ones only where there is no mark. Marks
  /// are removed from `text`, in which the ends of tokens then are; white space
  /// that an added token takes is its own. Errors: as Tokenizer::encode.
  Status encode(std::string &text, const Tokenizer &tokenizer,
                const std::string &place, TokenSink &sink,
                TokenizerScratch &scratch) const;

  /// Whether `id` is a special token.
  bool isSpecial(int32_t id) const;

private:
  ChatTemplate layout;
  AddedTokens added;
  bool prefixOnce = false; // the space in front is the whole text's
};

} // namespace hone::rt

#endif
