//===- ChatPrompt.cpp - A conversation as the tokens of its next answer ---===//

#include "program/ChatPrompt.h"

#include "chat/TemplateText.h"

#include <algorithm>

namespace hone::rt {

Result<ChatPrompt> ChatPrompt::open(const GenerateOptions &options,
                                    const ModelFiles &files) {
  if (!files.tokenizer)
    return noTokenizer(options.messages.empty() ? "--chat" : "--messages");
  if (files.chat.empty())
    return Status(ErrorCode::NoChatTemplate,
                  options.chat ? "--chat" : "--messages",
                  "the model has no chat template",
                  "leave it out, or compile from the folder of the "
                  "model's chat version");
  TemplateDate date;
  if (!options.chatDate.empty())
    parseDate(options.chatDate, date);
  ChatPrompt prompt;
  HONE_ASSIGN(prompt.model, ChatModel::open(files.chat, *files.tokenizer,
                                            files.chatPlace(), date));
  return Result<ChatPrompt>(std::move(prompt));
}

Status ChatPrompt::render(const Conversation &given, bool generationPrompt,
                          const std::string &place, SampleIds &ids) {
  ChatMessages messages = model.messages(given.turns, given.tools);
  std::string rendered;
  HONE_TRY(model.render(messages, messages.size(), generationPrompt, place,
                        rendered));
  return model.encode(rendered, place, ids, scratch);
}

/// The first special token after the text of an answer.
Status ChatPrompt::findEnd(Conversation given, const std::string &place,
                           const std::vector<int32_t> &prompt) {
  SampleIds unasked(UINT64_MAX), answered(UINT64_MAX);
  HONE_TRY(render(given, /*generationPrompt=*/false, place, unasked));
  given.turns.push_back({ChatRole::Assistant, "a", "", false});
  HONE_TRY(render(given, /*generationPrompt=*/false, place, answered));
  const std::vector<int32_t> &with = answered.kept;
  const auto common = [&](const std::vector<int32_t> &other) {
    return size_t(
        std::mismatch(other.begin(), other.end(), with.begin(), with.end())
            .first -
        other.begin());
  };
  isEndKnown = true;
  const auto first =
      with.begin() +
      ptrdiff_t(std::min(std::max(common(prompt), common(unasked.kept)) + 1,
                         with.size()));
  const auto found = std::find_if(
      first, with.end(), [&](int32_t id) { return model.isSpecial(id); });
  end = found == with.end() ? -1 : *found;
  return Status::ok();
}

Status ChatPrompt::encode(const Conversation &asked, const std::string &place,
                          int64_t capacity, Prompt &prompt) {
  uint64_t bytes = 0;
  for (const ChatTurn &turn : asked.turns)
    bytes += turn.content.size() + turn.reasoning.size() + turn.callId.size() +
             turn.name.size();
  if (bytes > LongestConversation)
    return Status(ErrorCode::PromptTooLong, place,
                  "expects turns of at most " +
                      std::to_string(LongestConversation) +
                      " bytes but got more",
                  "shorten them");
  // One more is seen than there is room for; a template bounds the others.
  SampleIds ids(uint64_t(capacity) + 1);
  HONE_TRY(render(asked, /*generationPrompt=*/true, place, ids));
  if (ids.count > uint64_t(capacity))
    return promptTooLong(place, capacity);
  if (!isEndKnown)
    HONE_TRY(findEnd(asked, place, ids.kept));
  prompt.ids = std::move(ids.kept);
  if (end >= 0)
    prompt.stopTokens.push_back(end);
  return Status::ok();
}

} // namespace hone::rt
