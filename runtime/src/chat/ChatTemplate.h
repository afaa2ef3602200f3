//===- ChatTemplate.h - Conversations as a model's text -------------------===//
//
// As Transformers' apply_chat_template, without documents.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "base/Json.h"
#include "base/Status.h"
#include "chat/TemplateInterpreter.h"

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hone::rt {

enum class ChatRole : uint8_t { System, User, Assistant, Tool };
const char *roleName(ChatRole role);

struct ChatTurn {
  ChatRole role = ChatRole::User;
  std::string content;
  std::string reasoning; ///< of an assistant; "reasoning_content"
  bool hasReasoning = false;

  // Members that few turns have.
  /// Unset for null, or no content at all, beside calls.
  bool hasContent = true;
  /// Texts of {"type": "text"}, where the content is a list; `content` is
  /// empty.
  std::vector<std::string> parts = {};
  bool isInParts = false;
  Json calls = {};                    ///< "tool_calls": an array, or null
  std::string callId = {}, name = {}; ///< "tool_call_id" and "name"
  /// Its keys as a template sees them, one ChatKey each; empty: in their usual
  /// order.
  std::string keys = {};
};

/// Where a turn has more than one way to say the same, which.
enum class ChatKey : char {
  Role = 'r',
  Content = 'c',
  ReasoningContent = 'a',
  Thinking = 't',
  Reasoning = 'o',
  Calls = 'k',
  CallId = 'i',
  Name = 'n',
};

struct Conversation {
  std::vector<ChatTurn> turns;
  Json tools; ///< tools of the model: an array, or null

  bool hasSystem() const {
    return !turns.empty() && turns.front().role == ChatRole::System;
  }
  /// Whether the last turn is one that an assistant answers.
  bool isAsked() const {
    return !turns.empty() && (turns.back().role == ChatRole::User ||
                              turns.back().role == ChatRole::Tool);
  }
};

/// A conversation as templates see it. Its values share memory with no other.
class ChatMessages {
public:
  /// Changes a text that is data, and says how often.
  using Mark = std::function<size_t(std::string &)>;

  /// Takes the texts of `turns`; `tools` is an array or null. `mark` is called
  /// for each text of both. Contents in parts are lists if `asParts` is set,
  /// else the parts with a line end between two.
  explicit ChatMessages(std::vector<ChatTurn> turns, const Json &tools = Json(),
                        const Mark &mark = {}, bool asParts = true);
  ChatMessages(const ChatMessages &) = delete;
  ChatMessages &operator=(const ChatMessages &) = delete;

  size_t size() const { return roles.size(); }
  ChatRole role(size_t i) const { return roles[i]; }
  /// The sum of the numbers that `mark` returned.
  size_t marked() const { return marks; }
  /// A number that no value is; the conversation cannot be rendered then.
  bool hasOddNumber() const { return isOdd; }

private:
  friend class ChatTemplate;
  TemplateValue textOf(std::string text, const Mark &mark);
  TemplateValue valueOf(const Json &json, const Mark &mark);
  TemplateValue turnOf(ChatTurn &turn, const Mark &mark, bool asParts);

  ValueMemory memory; // first: it outlives the values
  size_t marks = 0;
  bool isOdd = false;
  std::vector<ChatRole> roles;
  TemplateValue::List values;
  TemplateValue tools;
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

  /// Renders the first `count` of `messages` into `out`, then, if asked, the
  /// beginning of an assistant's turn. `place` is where the conversation is
  /// from; `answers`, if asked, becomes the spans of `out` that the template
  /// marks as an assistant's. Errors: ConversationRefused.
  Status render(ChatMessages &messages, size_t count, bool generationPrompt,
                const std::string &place, std::string &out,
                std::vector<TextSpan> *answers = nullptr) const;

  /// Whether it has such marks. Not if one is in a macro, or in a block that is
  /// set or filtered: where its text goes is not known there.
  bool marksAnswers() const { return isMarked; }

private:
  TemplateTree tree;
  bool isMarked = false;
  std::string name;
  Variables variables;
  TemplateDate date;
};

} // namespace hone::rt
