//===- Prompt.cpp - The tokens that a text goes on from -------------------===//

#include "program/Prompt.h"

#include "base/MappedFile.h"
#include "data/ConversationFile.h"
#include "program/ChatPrompt.h"
#include "program/StandardInput.h"

#include <algorithm>
#include <charconv>
#include <optional>

namespace hone::rt {

namespace {

/// The text of a prompt, as it was given or in its file, which is not copied.
struct PromptText {
  std::string place;
  std::optional<MappedFile> file;
  std::string held; ///< without a file

  std::string_view bytes() const {
    return file ? file->bytes() : std::string_view(held);
  }
};

/// Up to `limit` ids; one more stops the encoding. Pages of a file that were
/// read do not stay resident.
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

/// All of standard input. It is held, so it is no longer than a line of data.
static Status readStandardInput(std::string &out) {
  for (bool isEnd = false; !isEnd;) {
    HONE_TRY(readSome(out, isEnd));
    if (out.size() > DataLines::LongestLine)
      return Status(ErrorCode::PromptTooLong, "standard input",
                    "expects at most " +
                        std::to_string(DataLines::LongestLine) +
                        " bytes but got more",
                    "give a file");
  }
  return Status::ok();
}

/// Reads the file `path`, or standard input for "-".
static Result<PromptText> readFile(const std::string &path) {
  PromptText text;
  if (path == "-") {
    text.place = "standard input";
    HONE_TRY(readStandardInput(text.held));
    return Result<PromptText>(std::move(text));
  }
  HONE_ASSIGN(MappedFile file, MappedFile::open(path));
  text.place = path;
  text.file = std::move(file);
  return Result<PromptText>(std::move(text));
}

static Result<PromptText> readText(const GenerateOptions &options) {
  if (!options.promptFile.empty())
    return readFile(options.promptFile);
  return PromptText{"--prompt", std::nullopt, options.prompt};
}

Status promptTooLong(const std::string &place, int64_t capacity) {
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

/// Encodes text without a template.
static Status encodeText(const Tokenizer &tokenizer, const PromptText &text,
                         bool parse, int64_t capacity, Prompt &prompt) {
  PromptIds sink(uint64_t(capacity), &text);
  const TokenizerTable &table = tokenizer.contents();
  for (uint32_t i = 0; i < tokenizer.missingBefore(text.bytes(), parse); ++i)
    sink.add(int32_t(table.before(i)));
  TokenizerScratch scratch;
  HONE_TRY(tokenizer.encode(text.bytes(), text.place, sink, scratch,
                            {parse, nullptr, &prompt.specialAsText}));
  prompt.ids = std::move(sink.kept);
  return sink.isTooLong() ? promptTooLong(text.place, capacity) : Status::ok();
}

static Status encodePrompt(const GenerateOptions &options,
                           const ModelFiles &files, const ModuleConfig &config,
                           int64_t capacity, Prompt &prompt) {
  if (!options.promptIds.empty()) {
    Status status = readIds(options.promptIds, config, prompt.ids);
    return status.isOk() && prompt.ids.size() > uint64_t(capacity)
               ? promptTooLong("--prompt-ids", capacity)
               : status;
  }
  if (!options.messages.empty()) {
    HONE_ASSIGN(ChatPrompt chat, ChatPrompt::open(options, files));
    HONE_ASSIGN(const Conversation asked, startingConversation(options));
    return chat.encode(asked, options.messages, capacity, prompt);
  }
  if (!files.tokenizer)
    return noTokenizer("--prompt");
  HONE_ASSIGN(PromptText text, readText(options));
  if (!options.chat)
    return encodeText(*files.tokenizer, text, options.specialTokens == "parse",
                      capacity, prompt);
  HONE_ASSIGN(ChatPrompt chat, ChatPrompt::open(options, files));
  HONE_ASSIGN(Conversation asked, startingConversation(options));
  asked.turns.push_back(
      {ChatRole::User,
       std::string(text.bytes().substr(0, ChatPrompt::LongestConversation + 1)),
       "", false});
  return chat.encode(asked, text.place, capacity, prompt);
}

Status noTokenizer(const char *option) {
  return Status(ErrorCode::NoTokenizer, option,
                "the program was compiled without a tokenizer",
                "give --prompt-ids, or compile from a folder with "
                "tokenizer.json");
}

Result<Conversation> startingConversation(const GenerateOptions &options) {
  Conversation given;
  if (!options.messages.empty()) {
    HONE_ASSIGN(const PromptText text, readFile(options.messages));
    HONE_ASSIGN(given, readConversation(text.bytes(), text.place));
    if (!options.isConversation() && !given.isAsked())
      return Status(ErrorCode::BadLine, text.place,
                    "expects a conversation that ends in a turn of the "
                    "user or of a tool, which is answered",
                    "leave the last answer out, or continue with --chat");
  }
  if (options.system.empty())
    return given;
  if (given.hasSystem())
    return Status(ErrorCode::OptionsDisagree, "--system",
                  options.messages + " has a system turn already",
                  "leave one of the two out");
  given.turns.insert(given.turns.begin(),
                     {ChatRole::System, options.system, "", false});
  return given;
}

Status completePrompt(const ModelFiles &files, const ModuleConfig &config,
                      Prompt &prompt) {
  for (int64_t id : config.stopTokens)
    prompt.stopTokens.push_back(int32_t(id));
  if (config.stopTokens.empty() && files.tokenizer &&
      files.tokenizer->eosToken() >= 0)
    prompt.stopTokens.push_back(files.tokenizer->eosToken());
  if (prompt.ids.empty())
    return Status(ErrorCode::EmptyPrompt, "--prompt",
                  "expects at least one token but got none",
                  "write a text to continue");
  for (int32_t id : prompt.ids)
    if (uint64_t(id) >= config.vocabSize)
      return Status(ErrorCode::TokenOutOfRange, "--prompt",
                    "expects token ids below " +
                        std::to_string(config.vocabSize) +
                        " but the tokenizer gives " + std::to_string(id),
                    "compile with the model's own tokenizer");
  return Status::ok();
}

Result<Prompt> readPrompt(const GenerateOptions &options,
                          const ModelFiles &files, const ModuleConfig &config,
                          int64_t capacity) {
  Prompt prompt;
  HONE_TRY(encodePrompt(options, files, config, capacity, prompt));
  HONE_TRY(completePrompt(files, config, prompt));
  return prompt;
}

} // namespace hone::rt
