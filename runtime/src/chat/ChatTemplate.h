//===- ChatTemplate.h - Conversations as a model's text -------------------===//
//
// What Transformers' apply_chat_template writes, tools and documents aside.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "base/Status.h"
#include "chat/TemplateInterpreter.h"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hone::rt {

enum class ChatRole : uint8_t { System, User, Assistant };

struct ChatTurn {
  ChatRole role = ChatRole::User;
  std::string content;
  std::string reasoning; ///< of an assistant; "reasoning_content"
  bool hasReasoning = false;
};

/// A conversation as templates see it. Its values share memory with no other.
class ChatMessages {
public:
  /// Takes the texts of `turns`.
  explicit ChatMessages(std::vector<ChatTurn> turns);
  ChatMessages(const ChatMessages &) = delete;
  ChatMessages &operator=(const ChatMessages &) = delete;

  size_t size() const { return roles.size(); }
  ChatRole role(size_t i) const { return roles[i]; }

private:
  friend class ChatTemplate;
  ValueMemory memory; // first: it outlives the values
  std::vector<ChatRole> roles;
  TemplateValue::List values;
};

class ChatTemplate {
public:
  /// Strings that templates have as variables, such as bos_token.
  using Variables = std::vector<std::pair<std::string, std::string>>;

  ChatTemplate() = default;

  /// `place` names the template in messages. Errors: BadChatTemplate,
  /// UnsupportedChatTemplate.
  static Result<ChatTemplate> parse(std::string_view source,
                                    const std::string &place,
                                    Variables variables,
                                    const TemplateDate &date = {});

  /// Renders the first `count` of `messages` into `out`, then, if asked, what
  /// an assistant's turn begins with. `place` is where the conversation is
  /// from; `answers`, if asked, what of `out` the template marks as said by an
  /// assistant. Errors: ConversationRefused.
  Status render(ChatMessages &messages, size_t count, bool generationPrompt,
                const std::string &place, std::string &out,
                std::vector<TextSpan> *answers = nullptr) const;

  /// Whether it has such marks. Not if one is in a macro or in a block that is
  /// set: where its text goes is not known there.
  bool marksAnswers() const { return isMarked; }

private:
  TemplateTree tree;
  bool isMarked = false;
  std::string name;
  Variables variables;
  TemplateDate date;
};

} // namespace hone::rt
