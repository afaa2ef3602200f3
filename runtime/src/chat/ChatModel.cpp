//===- ChatModel.cpp - A model's chat template in its weights file --------===//

#include "chat/ChatModel.h"

#include "base/JsonReader.h"
#include "chat/TemplateLexer.h"

namespace hone::rt {

//===----------------------------------------------------------------------===//
// The block
//===----------------------------------------------------------------------===//

static bool readVariables(JsonReader &reader, ChatTemplate::Variables &out) {
  std::string name, value;
  for (reader.beginObject(); reader.nextMember(name);)
    if (reader.string(value))
      out.emplace_back(name, value);
  return reader.ok();
}

Result<ChatModel> ChatModel::open(std::string_view block,
                                  const Tokenizer &tokenizer,
                                  const std::string &place,
                                  const TemplateDate &date) {
  JsonReader reader(block, place, ErrorCode::BadTokenizerTable);
  ChatModel model;
  ChatTemplate::Variables variables;
  std::string key, source, name;
  for (reader.beginObject(); reader.nextMember(key);) {
    if (key == "template")
      reader.string(source);
    else if (key == "place")
      reader.string(name);
    else if (key == "variables")
      readVariables(reader, variables);
    else
      reader.failAt(reader.lastToken(), "there is no key \"" + key + "\"",
                    "compile the model again with honec");
  }
  if (!reader.ok() || !reader.finish())
    return reader.status();
  model.tokenizer = tokenizer;
  HONE_ASSIGN(model.layout,
              ChatTemplate::parse(source, name, std::move(variables), date));
  return model;
}

//===----------------------------------------------------------------------===//
// Text and ids
//===----------------------------------------------------------------------===//

size_t ChatModel::mark(std::string &text) const {
  size_t count = 0;
  std::string marked;
  size_t done = 0;
  for (size_t at = 0; at < text.size(); ++at) {
    if (!tokenizer.contents().added().spellsSpecial(text, at))
      continue;
    marked.append(text, done, at - done);
    marked.push_back(DataMark);
    done = at;
    ++count;
  }
  if (count != 0)
    text = std::move(marked.append(text, done, std::string::npos));
  return count;
}

Status ChatModel::encode(std::string &text, const std::string &place,
                         TokenSink &sink, TokenizerScratch &scratch) const {
  std::vector<size_t> marks; // places where special tokens are text
  size_t kept = 0;
  for (char c : text) {
    if (c == DataMark)
      marks.push_back(kept);
    else
      text[kept++] = c;
  }
  text.resize(kept);
  SpecialTokens special;
  special.parse = true;
  special.marks = &marks;
  return tokenizer.encode(text, place, sink, scratch, special);
}

} // namespace hone::rt
