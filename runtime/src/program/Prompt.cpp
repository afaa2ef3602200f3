//===- Prompt.cpp - The tokens that a text goes on from -------------------===//

#include "program/Prompt.h"

#include "base/MappedFile.h"
#include "chat/ChatModel.h"
#include "chat/TemplateText.h"
#include "data/DataLines.h"
#include "data/SampleIds.h"

#include <algorithm>
#include <charconv>
#include <optional>

namespace hone::rt {

namespace {

/// The text of a prompt, as it was given or in its file, which is not copied.
struct PromptText {
  std::string place;
  std::optional<MappedFile> file;
  std::string_view bytes;
};

/// Up to `limit` ids; one more stops the encoding. What was read of a file does
/// not stay resident.
class PromptIds : public SampleIds {
public:
  PromptIds(uint64_t limit, const PromptText *text = nullptr)
      : SampleIds(limit), limit(limit), text(text) {}
  bool append(const int32_t *ids, size_t size) override {
    return SampleIds::append(ids, size) && !isTooLong();
  }
  bool passed(size_t bytes) override {
    if (text && text->file)
      text->file->releaseBehind(bytes);
    return true;
  }
  bool isTooLong() const { return count > limit; }

private:
  uint64_t limit;
  const PromptText *text;
};

} // namespace

static Result<PromptText> readText(const GenerateOptions &options) {
  PromptText text{"--prompt", std::nullopt, options.prompt};
  if (options.promptFile.empty())
    return Result<PromptText>(std::move(text));
  HONE_ASSIGN(MappedFile file, MappedFile::open(options.promptFile));
  text.place = options.promptFile;
  text.file = std::move(file);
  text.bytes = text.file->bytes();
  return Result<PromptText>(std::move(text));
}

static Status tooLong(const std::string &place, int64_t capacity) {
  return Status(ErrorCode::PromptTooLong, place,
                "expects at most " + std::to_string(capacity) +
                    " tokens, for which the program was compiled, but got more",
                "shorten it, or compile with a larger generate.max_length");
}

static Status readIds(const Words &words, const ModuleConfig &config,
                      std::vector<int32_t> &ids) {
  for (const std::string &word : words) {
    int32_t id = -1;
    const char *end = word.data() + word.size();
    auto [stopped, error] = std::from_chars(word.data(), end, id);
    if (error == std::errc::invalid_argument || stopped != end)
      return Status(ErrorCode::WrongOption, "--prompt-ids",
                    "expects integers but got '" + word + "'",
                    "write --prompt-ids 1,403,407");
    if (error != std::errc() || id < 0 || uint64_t(id) >= config.vocabSize)
      return Status(ErrorCode::TokenOutOfRange, "--prompt-ids",
                    "expects ids from 0 to " +
                        std::to_string(config.vocabSize - 1) + " but got " +
                        word,
                    "tokenise with the model's own tokenizer");
    ids.push_back(id);
  }
  return Status::ok();
}

namespace {

/// Renders turns, and keeps what that needs.
class ChatPrompt {
public:
  explicit ChatPrompt(ChatModel model) : model(std::move(model)) {}

  /// Errors: PromptTooLong for more than `capacity` tokens.
  Status encode(const std::string &system, const PromptText &text,
                int64_t capacity, Prompt &prompt);

private:
  Status render(std::vector<ChatTurn> turns, bool generationPrompt,
                PromptIds &ids);

  ChatModel model;
  TokenizerScratch scratch;
};

} // namespace

Status ChatPrompt::render(std::vector<ChatTurn> turns, bool generationPrompt,
                          PromptIds &ids) {
  for (ChatTurn &turn : turns)
    model.mark(turn.content);
  ChatMessages messages(std::move(turns));
  std::string rendered;
  Status status = model.chatTemplate().render(
      messages, messages.size(), generationPrompt, "--prompt", rendered);
  return status.isOk() ? model.encode(rendered, "--prompt", ids, scratch)
                       : status;
}

Status ChatPrompt::encode(const std::string &system, const PromptText &text,
                          int64_t capacity, Prompt &prompt) {
  constexpr uint64_t longest = DataLines::LongestConversation;
  if (text.bytes.size() > longest)
    return Status(ErrorCode::PromptTooLong, text.place,
                  "expects a turn of at most " + std::to_string(longest) +
                      " bytes but got " + std::to_string(text.bytes.size()),
                  "shorten it");
  std::vector<ChatTurn> turns;
  if (!system.empty())
    turns.push_back({ChatRole::System, system, "", false});
  turns.push_back({ChatRole::User, std::string(text.bytes), "", false});
  PromptIds asked{uint64_t(capacity)};
  HONE_TRY(render(turns, /*generationPrompt=*/true, asked));
  if (asked.isTooLong())
    return tooLong(text.place, capacity);
  prompt.ids = std::move(asked.kept);
  // The end of a turn is the first special token after what an answer adds.
  PromptIds unasked{UINT64_MAX}, answered{UINT64_MAX};
  HONE_TRY(render(turns, /*generationPrompt=*/false, unasked));
  turns.push_back({ChatRole::Assistant, "a", "", false});
  HONE_TRY(render(turns, /*generationPrompt=*/false, answered));
  const std::vector<int32_t> &without = unasked.kept, &with = answered.kept;
  auto common = [&](const std::vector<int32_t> &other) {
    return size_t(
        std::mismatch(other.begin(), other.end(), with.begin(), with.end())
            .first -
        other.begin());
  };
  for (size_t i = std::max(common(prompt.ids), common(without)) + 1;
       i < with.size(); ++i)
    if (model.isSpecial(with[i])) {
      prompt.stopTokens.push_back(with[i]);
      break;
    }
  return Status::ok();
}

/// Of text without a template.
static Status encodeText(const Tokenizer &tokenizer, const PromptText &text,
                         bool parse, int64_t capacity, Prompt &prompt) {
  PromptIds sink(uint64_t(capacity), &text);
  const TokenizerTable &table = tokenizer.contents();
  for (uint32_t i = 0; i < tokenizer.missingBefore(text.bytes, parse); ++i)
    sink.add(int32_t(table.before(i)));
  TokenizerScratch scratch;
  HONE_TRY(tokenizer.encode(text.bytes, text.place, sink, scratch,
                            {parse, nullptr, &prompt.specialAsText}));
  prompt.ids = std::move(sink.kept);
  return sink.isTooLong() ? tooLong(text.place, capacity) : Status::ok();
}

static Status encodePrompt(const GenerateOptions &options,
                           const ModelFiles &files, const ModuleConfig &config,
                           int64_t capacity, Prompt &prompt) {
  if (!options.promptIds.empty()) {
    Status status = readIds(options.promptIds, config, prompt.ids);
    return status.isOk() && prompt.ids.size() > uint64_t(capacity)
               ? tooLong("--prompt-ids", capacity)
               : status;
  }
  if (!files.tokenizer)
    return Status(ErrorCode::NoTokenizer, "--prompt",
                  "the program was compiled without a tokenizer",
                  "give --prompt-ids, or compile from a folder with "
                  "tokenizer.json");
  HONE_ASSIGN(PromptText text, readText(options));
  if (!options.chat)
    return encodeText(*files.tokenizer, text, options.specialTokens == "parse",
                      capacity, prompt);
  if (files.chat.empty())
    return Status(ErrorCode::NoChatTemplate, "--chat",
                  "the model has no chat template",
                  "leave --chat out, or compile from the folder of the "
                  "model's chat version");
  TemplateDate date;
  if (!options.chatDate.empty())
    parseDate(options.chatDate, date);
  HONE_ASSIGN(ChatModel model, ChatModel::open(files.chat, *files.tokenizer,
                                               files.chatPlace(), date));
  return ChatPrompt(std::move(model))
      .encode(options.system, text, capacity, prompt);
}

Result<Prompt> readPrompt(const GenerateOptions &options,
                          const ModelFiles &files, const ModuleConfig &config,
                          int64_t capacity) {
  Prompt prompt;
  HONE_TRY(encodePrompt(options, files, config, capacity, prompt));
  for (int64_t id : config.stopTokens)
    prompt.stopTokens.push_back(int32_t(id));
  if (config.stopTokens.empty() && files.tokenizer &&
      files.tokenizer->eosToken() >= 0)
    prompt.stopTokens.push_back(files.tokenizer->eosToken());
  if (prompt.ids.empty())
    return Status(ErrorCode::EmptyPrompt, "--prompt",
                  "expects at least one token but got none",
                  "write something for the text to go on from");
  for (int32_t id : prompt.ids)
    if (uint64_t(id) >= config.vocabSize)
      return Status(ErrorCode::TokenOutOfRange, "--prompt",
                    "expects token ids below " +
                        std::to_string(config.vocabSize) +
                        " but the tokenizer gives " + std::to_string(id),
                    "compile with the model's own tokenizer");
  return prompt;
}

} // namespace hone::rt
