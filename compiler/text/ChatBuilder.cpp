//===- ChatBuilder.cpp - From a model folder to its chat block ------------===//

#include "compiler/text/ChatBuilder.h"

#include "base/MappedFile.h"
#include "chat/ChatModel.h"
#include "chat/TemplateLexer.h"
#include "compiler/text/TokenizerFolder.h"

using namespace hone::rt;

namespace hone {

static constexpr const char *GetAgain =
    "download the file again from the place of the model";

static constexpr const char *SpecialNames[] = {
    "bos_token", "eos_token", "unk_token", "sep_token",
    "pad_token", "cls_token", "mask_token"};

namespace {

class ChatBuilder {
public:
  explicit ChatBuilder(const std::string &modelDir) : folder(modelDir) {}
  Result<std::string> build();

private:
  Status findTemplate();

  TokenizerFolder folder;
  std::string source, place;
  Json config;
};

} // namespace

static Status badFile(const std::string &place, const Json &where,
                      const std::string &problem) {
  return Status(ErrorCode::BadTokenizer, placeOf(place, where), problem,
                GetAgain);
}

/// Leaves `source` empty when there is none.
Status ChatBuilder::findTemplate() {
  if (folder.has("chat_template.jinja")) {
    place = folder.path("chat_template.jinja");
    HONE_ASSIGN(MappedFile mapped, MappedFile::open(place));
    source = std::string(
        mapped.bytes().substr(0, TemplateLexer::LongestTemplate + 1));
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
      if (each.has("name", "default"))
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

Result<std::string> ChatBuilder::build() {
  Status status = folder.readMembers("tokenizer_config.json",
                                     {"chat_template", "bos_token", "eos_token",
                                      "unk_token", "sep_token", "pad_token",
                                      "cls_token", "mask_token"},
                                     config);
  if (status.isOk())
    status = findTemplate();
  HONE_TRY(status);
  if (source.empty())
    return std::string();
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
  HONE_TRY(ChatTemplate::parse(source, place, variables));
  block += "}, \"template\": ";
  appendJsonString(block, source);
  return block + "}\n";
}

Result<std::string> buildChatBlock(const std::string &modelDir) {
  return ChatBuilder(modelDir).build();
}

} // namespace hone
