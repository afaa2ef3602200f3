//===- ConversationFile.cpp - A file with one conversation ----------------===//

#include "data/ConversationFile.h"

#include "base/Json.h"
#include "chat/TemplateText.h"

#include <tuple>

namespace hone::rt {

Status joinSystem(DataLine &line, const std::string &place) {
  if (line.system.empty())
    return Status::ok();
  if (line.turns.front().role == ChatRole::System)
    return Status(ErrorCode::BadLine, place,
                  "the conversation has a system turn and a key "
                  "\"system\"",
                  "keep one of the two");
  line.turns.insert(line.turns.begin(), ChatTurn());
  line.turns.front().role = ChatRole::System;
  line.turns.front().content = std::move(line.system);
  return Status::ok();
}

Result<Conversation> readConversation(std::string_view content,
                                      const std::string &path) {
  if (content.substr(0, 3) == "\xEF\xBB\xBF") // a byte order mark is no text
    content.remove_prefix(3);
  content = content.substr(0, content.find_last_not_of(" \t\r\n") + 1);
  const char *remedy = "write one conversation as {\"messages\": [{\"role\", "
                       "\"content\"}]}";
  if (content.empty())
    return Status(ErrorCode::EmptyData, path,
                  "expected a conversation but the file is empty", remedy);
  // Ids, which are refused below, need no room.
  DataLines lines(content, path, /*vocabularySize=*/1, /*keptIds=*/0);
  HONE_TRY(lines.detect());
  if (lines.format() != DataFormat::Messages &&
      lines.format() != DataFormat::ShareGpt)
    return lines.bad(ErrorCode::MixedFormats, 1,
                     std::string("expected a conversation but found ") +
                         describe(lines.format()),
                     remedy);
  DataLine line, other;
  bool more = false;
  HONE_TRY(lines.next(line, more));
  HONE_TRY(joinSystem(line, path + ":" + std::to_string(line.number)));
  HONE_TRY(lines.next(other, more));
  if (more)
    return lines.bad(ErrorCode::BadLine, other.number,
                     "expected one conversation but found another",
                     "give a file for each");
  return Conversation{std::move(line.turns), std::move(line.tools)};
}

static void appendJson(std::string &out, const Json &value) {
  switch (value.kind()) {
  case Json::Kind::Null:
    out += "null";
    return;
  case Json::Kind::Bool:
    out += value.boolean() ? "true" : "false";
    return;
  case Json::Kind::Number:
    if (value.isInteger())
      out += std::to_string(value.integer());
    else
      appendFloat(out, value.number());
    return;
  case Json::Kind::String:
    out += jsonString(value.string());
    return;
  case Json::Kind::Array:
    out += "[";
    for (const Json &item : value.array()) {
      out += &item == &value.array().front() ? "" : ", ";
      appendJson(out, item);
    }
    out += "]";
    return;
  case Json::Kind::Object:
    out += "{";
    for (const auto &[key, member] : value.object()) {
      out += &key == &value.object().front().first ? "" : ", ";
      out += jsonString(key) + ": ";
      appendJson(out, member);
    }
    out += "}";
    return;
  }
}

std::string conversationLine(const Conversation &conversation) {
  const std::vector<ChatTurn> &turns = conversation.turns;
  std::string out = "{\"messages\": [";
  for (const ChatTurn &turn : turns) {
    out += &turn == &turns.front() ? "" : ", ";
    out += std::string("{\"role\": \"") + roleName(turn.role) + "\"";
    if (turn.isInParts) {
      out += ", \"content\": [";
      for (const std::string &part : turn.parts) {
        out += &part == &turn.parts.front() ? "" : ", ";
        out += "{\"type\": \"text\", \"text\": " + jsonString(part) + "}";
      }
      out += "]";
    } else if (turn.hasContent) {
      out += ", \"content\": " + jsonString(turn.content);
    }
    if (turn.calls.isArray()) {
      out += ", \"tool_calls\": ";
      appendJson(out, turn.calls);
    }
    for (const auto &[key, name, text] :
         {std::tuple(ChatKey::CallId, "tool_call_id", &turn.callId),
          {ChatKey::Name, "name", &turn.name}})
      if (turn.keys.find(char(key)) != std::string::npos) {
        out += std::string(", \"") + name + "\": " + jsonString(*text);
      }
    if (turn.hasReasoning) {
      out += ", \"reasoning_content\": " + jsonString(turn.reasoning);
    }
    out += "}";
  }
  out += "]";
  if (conversation.tools.isArray()) {
    out += ", \"tools\": ";
    appendJson(out, conversation.tools);
  }
  return out + "}\n";
}

} // namespace hone::rt
