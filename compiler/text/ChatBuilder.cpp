//===- ChatBuilder.cpp - From a model folder to its chat block ------------===//

#include "compiler/text/ChatBuilder.h"

#include "base/MappedFile.h"
#include "chat/ChatModel.h"
#include "chat/TemplateLexer.h"
#include "compiler/text/TokenizerFolder.h"

#include <algorithm>
#include <map>

namespace hone::rt {

static constexpr const char *GetAgain =
    "take the file again from where the model came from";

static constexpr const char *SpecialNames[] = {
    "bos_token", "eos_token", "unk_token", "sep_token",
    "pad_token", "cls_token", "mask_token"};

namespace {

struct Added {
  int64_t id;
  uint8_t flags;
};

class ChatBuilder {
public:
  explicit ChatBuilder(const std::string &modelDir) : folder(modelDir) {}
  Result<std::string> build();

private:
  Status findTemplate();
  Status addToken(int64_t id, const Json &token, const std::string &file);

  TokenizerFolder folder;
  std::string source, place;
  Json config, tokenizer;
  std::map<std::string, Added> added; // by text
};

} // namespace

static Status badFile(const std::string &place, const Json &where,
                      const std::string &problem) {
  return Status::error(ErrorCode::BadTokenizer,
                       {placeOf(place, where), problem, GetAgain});
}

/// Leaves `source` empty when there is none.
Status ChatBuilder::findTemplate() {
  if (folder.has("chat_template.jinja")) {
    place = folder.path("chat_template.jinja");
    Result<MappedFile> mapped = MappedFile::open(place);
    if (!mapped.isOk())
      return mapped.status();
    source = std::string(
        mapped.value().bytes().substr(0, TemplateLexer::LongestTemplate + 1));
    return Status::ok();
  }
  const std::string file = folder.path("tokenizer_config.json");
  place = file + ": chat_template";
  const Json *found = config.find("chat_template");
  if (found == nullptr || found->isNull())
    return Status::ok();
  if (found->isArray()) {
    const Json *standard = nullptr;
    for (const Json &each : found->array()) {
      const Json *name = each.find("name");
      if (name != nullptr && name->isString() && name->string() == "default")
        standard = each.find("template");
    }
    if (standard == nullptr)
      return badFile(file, *found,
                     "expected a chat template called \"default\" among "
                     "several but found none");
    found = standard;
  }
  if (!found->isString())
    return badFile(file, *found, "expected chat_template to be a string");
  source = found->string();
  return Status::ok();
}

Status ChatBuilder::addToken(int64_t id, const Json &token,
                             const std::string &file) {
  const Json *content = token.find("content");
  if (content == nullptr || !content->isString() || content->string().empty())
    return badFile(file, token, "expected an added token with a \"content\"");
  const auto flag = [&](const char *key, uint8_t bit, bool standard) {
    const Json *value = token.find(key);
    const bool isSet =
        value != nullptr && value->isBool() ? value->boolean() : standard;
    return isSet ? bit : uint8_t(0);
  };
  added.emplace(
      content->string(),
      Added{id, uint8_t(flag("special", AddedTokens::Special, true) |
                        flag("lstrip", AddedTokens::LeftStrip, false) |
                        flag("rstrip", AddedTokens::RightStrip, false) |
                        flag("single_word", AddedTokens::SingleWord, false))});
  return Status::ok();
}

Result<std::string> ChatBuilder::build() {
  Status status = folder.readMembers(
      "tokenizer_config.json",
      {"chat_template", "added_tokens_decoder", "bos_token", "eos_token",
       "unk_token", "sep_token", "pad_token", "cls_token", "mask_token"},
      config);
  if (status.isOk())
    status = findTemplate();
  if (!status.isOk())
    return status;
  if (source.empty())
    return std::string();
  if (status = folder.readMembers("tokenizer.json",
                                  {"added_tokens", "pre_tokenizer"}, tokenizer);
      !status.isOk())
    return status;

  // tokenizer.json goes before the settings, which repeat it.
  if (const Json *list = tokenizer.find("added_tokens"))
    for (const Json &token : list->array()) {
      const Json *id = token.find("id");
      if (id == nullptr || !id->isInteger())
        return badFile(folder.path("tokenizer.json"), token,
                       "expected an added token with an integer \"id\"");
      status = addToken(id->integer(), token, folder.path("tokenizer.json"));
      if (!status.isOk())
        return status;
    }
  if (const Json *list = config.find("added_tokens_decoder"))
    for (const auto &[key, token] : list->object()) {
      int64_t id = 0;
      for (char digit : key)
        id = std::min<int64_t>(id * 10 + (digit - '0'), INT32_MAX);
      status = addToken(id, token, folder.path("tokenizer_config.json"));
      if (!status.isOk())
        return status;
    }

  // Without the folder, so that equal models make equal files.
  std::string block = "{\"place\": ";
  appendJsonString(block, place.substr(folder.path("").size()));
  block += ", \"variables\": {";
  ChatTemplate::Variables variables;
  for (const char *name : SpecialNames) {
    const Json *token = config.find(name);
    if (token != nullptr && token->isObject())
      token = token->find("content");
    if (token == nullptr || !token->isString())
      continue;
    block += variables.empty() ? "" : ", ";
    appendJsonString(block, name);
    block += ": ";
    appendJsonString(block, token->string());
    variables.emplace_back(name, token->string());
  }
  Result<ChatTemplate> parsed = ChatTemplate::parse(source, place, variables);
  if (!parsed.isOk())
    return parsed.status();
  const Json *preTokenizer = tokenizer.find("pre_tokenizer");
  const Json *scheme =
      preTokenizer == nullptr ? nullptr : preTokenizer->find("prepend_scheme");
  const bool prefixOnce =
      scheme != nullptr && scheme->isString() && scheme->string() == "first";
  block +=
      "}, \"prefix_once\": " + std::to_string(prefixOnce) + ", \"added\": [";
  bool first = true;
  for (const auto &[text, token] : added) {
    block += first ? "" : ", ";
    block +=
        std::to_string(token.id) + ", " + std::to_string(token.flags) + ", ";
    appendJsonString(block, text);
    first = false;
  }
  block += "], \"template\": ";
  appendJsonString(block, source);
  return block + "}\n";
}

Result<std::string> buildChatBlock(const std::string &modelDir) {
  return ChatBuilder(modelDir).build();
}

} // namespace hone::rt
