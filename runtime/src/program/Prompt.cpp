//===- Prompt.cpp - The tokens that a text goes on from -------------------===//

#include "program/Prompt.h"

#include "base/MappedFile.h"
#include "chat/ChatModel.h"
#include "chat/TemplateText.h"
#include "data/SampleIds.h"

#include <algorithm>
#include <charconv>

namespace hone::rt {

/// No prompt of more bytes could have room.
static constexpr uint64_t LargestText = uint64_t(64) << 20;

static Result<std::string> readText(const GenerateOptions &options) {
  if (options.promptFile.empty())
    return std::string(options.prompt);
  Result<MappedFile> file = MappedFile::open(options.promptFile);
  if (!file.isOk())
    return file.status();
  const std::string_view bytes = file.value().bytes();
  if (bytes.size() > LargestText)
    return Status::error(ErrorCode::PromptTooLong,
                         {options.promptFile,
                          "expects a prompt of at most " +
                              std::to_string(LargestText) + " bytes but got " +
                              std::to_string(bytes.size()),
                          "shorten it"});
  return std::string(bytes);
}

static Status readIds(const Words &words, const ModuleConfig &config,
                      std::vector<int32_t> &ids) {
  for (const std::string &word : words) {
    int32_t id = -1;
    const char *end = word.data() + word.size();
    auto [stopped, error] = std::from_chars(word.data(), end, id);
    if (error == std::errc::invalid_argument || stopped != end)
      return Status::error(ErrorCode::WrongOption,
                           {"--prompt-ids",
                            "expects integers but got '" + word + "'",
                            "write --prompt-ids 1,403,407"});
    if (error != std::errc() || id < 0 || uint64_t(id) >= config.vocabSize)
      return Status::error(ErrorCode::TokenOutOfRange,
                           {"--prompt-ids",
                            "expects ids from 0 to " +
                                std::to_string(config.vocabSize - 1) +
                                " but got " + word,
                            "tokenise with the model's own tokenizer"});
    ids.push_back(id);
  }
  return Status::ok();
}

namespace {

/// Renders turns, and keeps what that needs.
class ChatPrompt {
public:
  ChatPrompt(const ModelFiles &files, ChatModel model)
      : files(files), model(std::move(model)) {}

  Status encode(const std::string &system, const std::string &text,
                Prompt &prompt);

private:
  Status render(std::vector<ChatTurn> turns, bool generationPrompt,
                std::vector<int32_t> &ids);

  const ModelFiles &files;
  ChatModel model;
  TokenizerScratch scratch;
};

} // namespace

Status ChatPrompt::render(std::vector<ChatTurn> turns, bool generationPrompt,
                          std::vector<int32_t> &ids) {
  for (ChatTurn &turn : turns)
    model.mark(turn.content);
  ChatMessages messages(std::move(turns));
  std::string rendered;
  Status status = model.chatTemplate().render(
      messages, messages.size(), generationPrompt, "--prompt", rendered);
  if (!status.isOk())
    return status;
  SampleIds sink(UINT64_MAX);
  status = model.encode(rendered, *files.tokenizer, "--prompt", sink, scratch);
  ids = std::move(sink.kept);
  return status;
}

Status ChatPrompt::encode(const std::string &system, const std::string &text,
                          Prompt &prompt) {
  std::vector<ChatTurn> turns;
  if (!system.empty())
    turns.push_back({ChatRole::System, system, "", false});
  turns.push_back({ChatRole::User, text, "", false});
  if (Status s = render(turns, /*generationPrompt=*/true, prompt.ids);
      !s.isOk())
    return s;
  // The end of a turn is the first special token behind what an answer adds.
  std::vector<int32_t> without, with;
  if (Status s = render(turns, /*generationPrompt=*/false, without); !s.isOk())
    return s;
  turns.push_back({ChatRole::Assistant, "a", "", false});
  if (Status s = render(turns, /*generationPrompt=*/false, with); !s.isOk())
    return s;
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
static Status encodeText(const Tokenizer &tokenizer, const std::string &text,
                         std::vector<int32_t> &ids) {
  SampleIds sink(UINT64_MAX);
  const TokenizerTable &table = tokenizer.contents();
  for (uint32_t i = 0; i < table.beforeCount(); ++i)
    sink.add(int32_t(table.before(i)));
  TokenizerScratch scratch;
  Status status = tokenizer.encode(text, "--prompt", sink, scratch);
  ids = std::move(sink.kept);
  return status;
}

static Status encodePrompt(const GenerateOptions &options,
                           const ModelFiles &files, const ModuleConfig &config,
                           Prompt &prompt) {
  if (!options.promptIds.empty())
    return readIds(options.promptIds, config, prompt.ids);
  if (!files.tokenizer)
    return Status::error(ErrorCode::NoTokenizer,
                         {"--prompt",
                          "the program was compiled without a tokenizer",
                          "give --prompt-ids, or compile from a folder with "
                          "tokenizer.json"});
  Result<std::string> text = readText(options);
  if (!text.isOk())
    return text.status();
  if (!options.chat)
    return encodeText(*files.tokenizer, text.value(), prompt.ids);
  if (files.chat.empty())
    return Status::error(ErrorCode::NoChatTemplate,
                         {"--chat", "the model has no chat template",
                          "leave --chat out, or compile from the folder of the "
                          "model's chat version"});
  TemplateDate date;
  if (!options.chatDate.empty())
    parseDate(options.chatDate, date);
  Result<ChatModel> model =
      ChatModel::open(files.chat, *files.tokenizer, files.chatPlace(), date);
  if (!model.isOk())
    return model.status();
  return ChatPrompt(files, std::move(model.value()))
      .encode(options.system, text.value(), prompt);
}

Result<Prompt> readPrompt(const GenerateOptions &options,
                          const ModelFiles &files, const ModuleConfig &config,
                          int64_t capacity) {
  Prompt prompt;
  if (Status s = encodePrompt(options, files, config, prompt); !s.isOk())
    return s;
  for (int64_t id : config.stopTokens)
    prompt.stopTokens.push_back(int32_t(id));
  if (config.stopTokens.empty() && files.tokenizer &&
      files.tokenizer->eosToken() >= 0)
    prompt.stopTokens.push_back(files.tokenizer->eosToken());
  if (prompt.ids.empty())
    return Status::error(ErrorCode::EmptyPrompt,
                         {"--prompt", "expects at least one token but got none",
                          "write something for the text to go on from"});
  for (int32_t id : prompt.ids)
    if (uint64_t(id) >= config.vocabSize)
      return Status::error(
          ErrorCode::TokenOutOfRange,
          {"--prompt",
           "expects token ids below " + std::to_string(config.vocabSize) +
               " but the tokenizer gives " + std::to_string(id),
           "compile with the model's own tokenizer"});
  if (prompt.ids.size() > uint64_t(capacity))
    return Status::error(ErrorCode::PromptTooLong,
                         {"--prompt",
                          "expects at most " + std::to_string(capacity) +
                              " tokens, for which the program was compiled, "
                              "but got " +
                              std::to_string(prompt.ids.size()),
                          "shorten it, or compile with a larger "
                          "generate.max_length"});
  return prompt;
}

} // namespace hone::rt
