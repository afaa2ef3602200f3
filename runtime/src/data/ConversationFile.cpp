//===- ConversationFile.cpp - A file with one conversation ----------------===//

#include "data/ConversationFile.h"

#include "base/Json.h"

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

Result<std::vector<ChatTurn>> readConversation(std::string_view content,
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
  return std::move(line.turns);
}

std::string conversationLine(const std::vector<ChatTurn> &turns) {
  static constexpr const char *Names[] = {"system", "user", "assistant"};
  std::string out = "{\"messages\": [";
  for (const ChatTurn &turn : turns) {
    out += &turn == &turns.front() ? "" : ", ";
    out += std::string("{\"role\": \"") + Names[size_t(turn.role)] +
           "\", \"content\": ";
    appendJsonString(out, turn.content);
    if (turn.hasReasoning) {
      out += ", \"reasoning_content\": ";
      appendJsonString(out, turn.reasoning);
    }
    out += "}";
  }
  return out + "]}\n";
}

} // namespace hone::rt
