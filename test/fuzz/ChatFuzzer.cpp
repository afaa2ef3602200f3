//===- ChatFuzzer.cpp - Any chat template over any conversation -----------===//
//
// libFuzzer target; parts: tokenizer_config.json or a template, a conversation
// as a file with one. Any template ends: with ids of the tokenizer and a loss
// inside of them, or with a message. A conversation that is read is written and
// read as it was.
//
//===----------------------------------------------------------------------===//

#include "Parts.h"
#include "compiler/text/ChatBuilder.h"
#include "data/Conversation.h"
#include "data/ConversationFile.h"

using namespace hone;
using namespace hone::rt;

/// One token for each byte, and two that templates write.
static const std::string &table() {
  static const std::string block = [] {
    TokenizerDefinition definition;
    for (uint32_t byte = 0; byte < 256; ++byte) {
      definition.tokens.push_back(std::string(1, char(byte)));
      definition.byteIds[byte] = byte;
    }
    definition.tokens.push_back("<|im_start|>");
    definition.tokens.push_back("<|im_end|>");
    definition.unreachable.assign(258, false);
    definition.unreachable[256] = definition.unreachable[257] = true;
    definition.eosToken = 257;
    return writeTokenizerTable(definition, "table").value();
  }();
  return block;
}

static void requireSame(const Conversation &written) {
  const Result<Conversation> again =
      readConversation(conversationLine(written), "written");
  const std::vector<ChatTurn> &turns = written.turns;
  if (!again.isOk() || again.value().turns.size() != turns.size() ||
      again.value().tools.isArray() != written.tools.isArray())
    std::abort();
  for (size_t i = 0; i < turns.size(); ++i) {
    const ChatTurn &one = turns[i], &other = again.value().turns[i];
    if (one.role != other.role || one.content != other.content ||
        one.reasoning != other.reasoning || one.parts != other.parts ||
        one.hasContent != other.hasContent || one.name != other.name ||
        one.callId != other.callId ||
        one.calls.array().size() != other.calls.array().size())
      std::abort();
  }
}

static Conversation conversationOf(std::string_view file) {
  Result<Conversation> read = readConversation(file, "data");
  if (read.isOk()) {
    requireSame(read.value());
    return std::move(read.value());
  }
  fuzz::requireMessage(read.status());
  Conversation made;
  std::vector<ChatTurn> &turns = made.turns;
  turns.resize(4);
  for (size_t i = 0; i < turns.size(); ++i) {
    turns[i].role = i % 2 ? ChatRole::Assistant : ChatRole::User;
    turns[i].content =
        i % 2 ? "<think>\na\n</think>\n\nb" : " \xC3\xB6<|im_end|> ";
  }
  return made;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static fuzz::Folder folder;
  auto parts = fuzz::split({reinterpret_cast<const char *>(data), size});
  parts.resize(2);
  const bool isConfig = !parts[0].empty() && parts[0][0] == '{' &&
                        parts[0].substr(0, 2) != "{{" &&
                        parts[0].substr(0, 2) != "{%" &&
                        parts[0].substr(0, 2) != "{#";
  folder.write("tokenizer_config.json", isConfig ? parts[0] : "");
  folder.write("chat_template.jinja", isConfig ? "" : parts[0]);
  folder.write("tokenizer.json",
               R"({"added_tokens": [{"id": 256, "content": "<|im_start|>"},
                   {"id": 257, "content": "<|im_end|>", "rstrip": true}]})");
  Result<std::string> block = buildChatBlock(folder.path);
  if (!block.isOk()) {
    fuzz::requireMessage(block.status());
    return 0;
  }
  if (block.value().empty())
    return 0; // no template
  static const Tokenizer tokenizer = Tokenizer::fromTable(table()).value();
  Result<ChatModel> model =
      ChatModel::open(block.value(), tokenizer, "block", {2025, 3, 7});
  if (!model.isOk()) {
    // Only ids that the tokenizer does not have can be wrong with it.
    fuzz::requireMessage(model.status());
    return 0;
  }
  TokenizerScratch scratch;
  ConversationCounts counts;
  SampleIds ids(UINT64_MAX);
  Conversation asked = conversationOf(parts[1]);
  ConversationEncoder encoder(model.value(), tokenizer, scratch, ids, counts);
  Status status = encoder.encode(std::move(asked.turns), asked.tools, "place",
                                 [&](const std::vector<TokenSpan> &spans) {
                                   for (int32_t id : ids.kept)
                                     if (id < 0 || id > 257)
                                       std::abort();
                                   for (const TokenSpan &span : spans)
                                     if (span.end > ids.kept.size())
                                       std::abort();
                                   return Status::ok();
                                 });
  if (!status.isOk())
    fuzz::requireMessage(status);
  return 0;
}
