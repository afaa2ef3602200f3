//===- ChatBuilder.cpp - From a model folder to its chat block ------------===//

#include "compiler/text/ChatBuilder.h"

#include "base/MappedFile.h"
#include "chat/ChatModel.h"
#include "chat/TemplateLexer.h"
#include "compiler/text/ChatPresets.h"
#include "compiler/text/TokenizerFolder.h"
#include "text/TokenizerTable.h"

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
  Result<std::string> build(const std::string &preset,
                            std::string_view tokenizer);

private:
  Status findTemplate();
  Status takePreset(const std::string &name, std::string_view tokenizer);

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

Status ChatBuilder::takePreset(const std::string &name,
                               std::string_view tokenizer) {
  const ChatPreset *preset = findChatPreset(name);
  place = "chat_template: " + name;
  if (preset == nullptr)
    return Status(ErrorCode::WrongOption, place, "there is no such preset",
                  "write model, chatml, llama3, gemma or plain");
  HONE_ASSIGN(const TokenizerTable table,
              TokenizerTable::open(tokenizer, folder.path("tokenizer.json")));
  for (const char *token : preset->tokens)
    if (!table.added().spellsSpecial(token, 0))
      return Status(ErrorCode::TokenizerMisfit, place,
                    std::string("it writes ") + token +
                        ", which is no special token of this tokenizer",
                    "take a preset whose tokens it has, or plain, which needs "
                    "none");
  source = preset->source;
  return Status::ok();
}

Result<std::string> ChatBuilder::build(const std::string &preset,
                                       std::string_view tokenizer) {
  Status status = folder.readMembers("tokenizer_config.json",
                                     {"chat_template", "bos_token", "eos_token",
                                      "unk_token", "sep_token", "pad_token",
                                      "cls_token", "mask_token"},
                                     config);
  if (status.isOk())
    status = preset == "model" ? findTemplate() : takePreset(preset, tokenizer);
  HONE_TRY(status);
  if (source.empty())
    return std::string();
  // Without the folder, so that equal models make equal files.
  std::string block = "{\"place\": ";
  block += jsonString(preset == "model" ? place.substr(folder.path("").size())
                                        : place) +
           ", \"variables\": {";
  ChatTemplate::Variables variables;
  for (const char *name : SpecialNames) {
    const Json *token = config.find(name);
    if (token != nullptr && token->isObject())
      token = token->find("content");
    if (token == nullptr || !token->isString())
      continue;
    block += variables.empty() ? "" : ", ";
    block += jsonString(name) + ": " + jsonString(token->string());
    variables.emplace_back(name, token->string());
  }
  HONE_TRY(ChatTemplate::parse(source, place, variables));
  block += "}, \"template\": " + jsonString(source);
  return block + "}\n";
}

Result<std::string> buildChatBlock(const std::string &modelDir,
                                   const std::string &preset,
                                   std::string_view tokenizer) {
  return ChatBuilder(modelDir).build(preset, tokenizer);
}

} // namespace hone
