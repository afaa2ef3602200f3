//===- ChatTemplate.cpp - Conversations as a model's text -----------------===//

#include "chat/ChatTemplate.h"

#include "chat/TemplateParser.h"

#include <cmath>

namespace hone::rt {

const char *roleName(ChatRole role) {
  static constexpr const char *Names[] = {"system", "user", "assistant",
                                          "tool"};
  return Names[size_t(role)];
}

TemplateValue ChatMessages::textOf(std::string text, const Mark &mark) {
  if (mark)
    marks += mark(text);
  return TemplateValue::string(memory, std::move(text));
}

/// JSON as Python reads it. Numbers beyond 64 bits are odd: JSON does not say
/// whether they are integers.
TemplateValue ChatMessages::valueOf(const Json &json, const Mark &mark) {
  switch (json.kind()) {
  case Json::Kind::Null:
    return TemplateValue::none();
  case Json::Kind::Bool:
    return TemplateValue::boolean(json.boolean());
  case Json::Kind::Number:
    isOdd |= !json.isInteger() && std::fabs(json.number()) >= 0x1p63;
    return json.isInteger() ? TemplateValue::integer(json.integer())
                            : TemplateValue::real(json.number());
  case Json::Kind::String:
    return textOf(json.string(), mark);
  case Json::Kind::Array: {
    TemplateValue::List items;
    items.reserve(json.array().size());
    for (const Json &item : json.array())
      items.push_back(valueOf(item, mark));
    return TemplateValue::list(memory, std::move(items));
  }
  case Json::Kind::Object: {
    TemplateValue::Members members;
    members.reserve(json.object().size());
    for (const auto &[key, value] : json.object()) {
      std::string name = key;
      if (mark)
        marks += mark(name);
      members.emplace_back(std::move(name), valueOf(value, mark));
    }
    return TemplateValue::dict(memory, std::move(members));
  }
  }
  return TemplateValue::none();
}

/// With reasoning under the names and in the order of Transformers 5.
TemplateValue ChatMessages::turnOf(ChatTurn &turn, const Mark &mark,
                                   bool asParts) {
  if (turn.keys.empty()) {
    turn.keys = {char(ChatKey::Role), char(ChatKey::Content)};
    if (turn.hasReasoning)
      turn.keys.push_back(char(ChatKey::ReasoningContent));
    if (turn.calls.isArray())
      turn.keys.push_back(char(ChatKey::Calls));
  }
  TemplateValue::Members members;
  members.reserve(turn.keys.size() + 2);
  TemplateValue reasoning;
  bool isNamed = false; // as templates read it
  if (turn.hasReasoning) {
    reasoning = textOf(std::move(turn.reasoning), mark);
    members.emplace_back("thinking", reasoning);
  }
  for (char key : turn.keys)
    switch (ChatKey(key)) {
    case ChatKey::Role:
      members.emplace_back("role",
                           TemplateValue::string(memory, roleName(turn.role)));
      break;
    case ChatKey::Content:
      if (!turn.hasContent)
        break; // Transformers leaves out nulls
      if (turn.isInParts && asParts) {
        TemplateValue::List parts;
        for (std::string &part : turn.parts)
          parts.push_back(TemplateValue::dict(
              memory, {{"type", TemplateValue::string(memory, "text")},
                       {"text", textOf(std::move(part), mark)}}));
        members.emplace_back("content",
                             TemplateValue::list(memory, std::move(parts)));
      } else {
        for (const std::string &part : turn.parts)
          turn.content += (&part == &turn.parts.front() ? "" : "\n") + part;
        members.emplace_back("content", textOf(std::move(turn.content), mark));
      }
      break;
    case ChatKey::ReasoningContent:
      isNamed = true;
      members.emplace_back("reasoning_content", reasoning);
      break;
    case ChatKey::Reasoning:
      members.emplace_back("reasoning", reasoning);
      break;
    case ChatKey::Thinking:
      break; // it is the first
    case ChatKey::Calls:
      members.emplace_back("tool_calls", valueOf(turn.calls, mark));
      break;
    case ChatKey::CallId:
      members.emplace_back("tool_call_id",
                           textOf(std::move(turn.callId), mark));
      break;
    case ChatKey::Name:
      members.emplace_back("name", textOf(std::move(turn.name), mark));
      break;
    }
  if (turn.hasReasoning && !isNamed)
    members.emplace_back("reasoning_content", reasoning);
  return TemplateValue::dict(memory, std::move(members));
}

ChatMessages::ChatMessages(std::vector<ChatTurn> turns, const Json &givenTools,
                           const Mark &mark, bool asParts) {
  values.reserve(turns.size());
  for (ChatTurn &turn : turns) {
    roles.push_back(turn.role);
    values.push_back(turnOf(turn, mark, asParts));
    turn = ChatTurn(); // its trees go as their values come
  }
  tools = valueOf(givenTools, mark);
}

/// Whether there are marks, all of them of the text itself.
static bool hasMarksInPlace(const TemplateTree &tree) {
  struct Visit {
    uint32_t node;
    bool isElsewhere; ///< its text becomes a value
  };
  bool found = false;
  std::vector<Visit> left = {{tree.root, false}};
  while (!left.empty()) {
    const auto [index, isElsewhere] = left.back();
    left.pop_back();
    const SyntaxNode &node = tree.nodes[index];
    if (node.kind == Syntax::Generation && isElsewhere)
      return false;
    found |= node.kind == Syntax::Generation;
    const bool isValue = isElsewhere || node.kind == Syntax::Macro ||
                         node.kind == Syntax::SetBlock ||
                         node.kind == Syntax::FilterBlock;
    for (uint32_t i = 0; i < node.count; ++i)
      if (const uint32_t child = tree.child(node, i))
        left.push_back({child, isValue});
  }
  return found;
}

Result<ChatTemplate> ChatTemplate::parse(std::string_view source,
                                         const std::string &place,
                                         Variables variables,
                                         const TemplateDate &date) {
  HONE_ASSIGN(TemplateTree tree, parseTemplate(source, place));
  ChatTemplate out;
  out.tree = std::move(tree);
  out.isMarked = hasMarksInPlace(out.tree);
  out.name = place;
  out.variables = std::move(variables);
  out.date = date;
  return out;
}

Status ChatTemplate::render(ChatMessages &messages, size_t count,
                            bool generationPrompt, const std::string &place,
                            std::string &out,
                            std::vector<TextSpan> *answers) const {
  if (messages.hasOddNumber())
    return Status(ErrorCode::ConversationRefused, place,
                  "a call or a tool has a number beyond 64 bits",
                  "write such numbers as strings, or remove the conversation");
  TemplateInterpreter::Variables given;
  const auto add = [&](const char *key, TemplateValue value) {
    given.emplace_back(key, std::move(value));
  };
  for (const auto &[key, text] : variables)
    add(key.c_str(), TemplateValue::string(messages.memory, text));
  TemplateValue::List shown(messages.values.begin(),
                            messages.values.begin() + ptrdiff_t(count));
  add("messages", TemplateValue::list(messages.memory, std::move(shown)));
  add("tools", messages.tools);
  add("documents", TemplateValue::none());
  add("add_generation_prompt", TemplateValue::boolean(generationPrompt));
  // The conversation itself is not the template's doing.
  TemplateLimits limits;
  limits.values += messages.memory.bytes;
  TemplateInterpreter interpreter(tree, messages.memory, limits);
  const TemplateFault fault = interpreter.render(given, date, out);
  if (answers)
    *answers = interpreter.takeGenerated();
  if (fault.problem.empty())
    return Status::ok();
  return Status(
      ErrorCode::ConversationRefused, place,
      std::string("the chat template ") +
          (fault.isRaised ? "refuses it: " : "fails: ") + fault.problem + " (" +
          name + ":" + std::to_string(fault.line) + ")",
      date.isKnown() || fault.problem.find("today's date") == std::string::npos
          ? "change the conversation as the template wants it, or remove it"
          : "give --chat-date YYYY-MM-DD");
}

} // namespace hone::rt
