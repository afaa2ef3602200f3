//===- ChatTemplate.cpp - Conversations as a model's text -----------------===//

#include "chat/ChatTemplate.h"

#include "chat/TemplateParser.h"

namespace hone::rt {

ChatMessages::ChatMessages(std::vector<ChatTurn> turns) {
  static constexpr const char *Names[] = {"system", "user", "assistant"};
  TemplateValue names[3];
  for (size_t i = 0; i < 3; ++i)
    names[i] = TemplateValue::string(memory, Names[i]);
  values.reserve(turns.size());
  for (ChatTurn &turn : turns) {
    roles.push_back(turn.role);
    TemplateValue::Members members;
    members.reserve(2 + 2 * turn.hasReasoning);
    // Under both names and in this order, as Transformers 5 gives it.
    TemplateValue reasoning;
    if (turn.hasReasoning) {
      reasoning = TemplateValue::string(memory, std::move(turn.reasoning));
      members.emplace_back("thinking", reasoning);
    }
    members.emplace_back("role", names[size_t(turn.role)]);
    members.emplace_back(
        "content", TemplateValue::string(memory, std::move(turn.content)));
    if (turn.hasReasoning)
      members.emplace_back("reasoning_content", reasoning);
    values.push_back(TemplateValue::dict(memory, std::move(members)));
  }
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
                         node.kind == Syntax::SetBlock;
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
  TemplateInterpreter::Variables given;
  const auto add = [&](const char *key, TemplateValue value) {
    given.emplace_back(key, std::move(value));
  };
  for (const auto &[key, text] : variables)
    add(key.c_str(), TemplateValue::string(messages.memory, text));
  TemplateValue::List shown(messages.values.begin(),
                            messages.values.begin() + ptrdiff_t(count));
  add("messages", TemplateValue::list(messages.memory, std::move(shown)));
  add("tools", TemplateValue::none());
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
