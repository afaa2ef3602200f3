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
  model.probe();
  return model;
}

//===----------------------------------------------------------------------===//
// Traits of a template
//===----------------------------------------------------------------------===//

static ChatTurn turnOf(ChatRole role, const char *content) {
  ChatTurn turn;
  turn.role = role;
  turn.content = content;
  return turn;
}

/// Finds out by rendering: a template says of itself neither.
void ChatModel::probe() {
  static constexpr const char *Word = "hone";
  std::vector<ChatTurn> turns(1);
  turns[0].parts = {Word};
  turns[0].isInParts = true;
  ChatMessages messages(std::move(turns));
  std::string text;
  // A list that is printed as it is writes its keys, too.
  takesParts = layout.render(messages, 1, true, "probe", text).isOk() &&
               text.find(Word) != std::string::npos &&
               text.find("'type'") == std::string::npos &&
               text.find("\"type\"") == std::string::npos;
  endlessPrompt = findEndlessPrompt();
}

/// The prompt of a next answer that a template writes whether it is asked to or
/// not, as the first of Llama 3 did; else nothing.
std::string ChatModel::findEndlessPrompt() const {
  static constexpr const char *Answer = "hone";
  std::vector<ChatTurn> turns = {turnOf(ChatRole::User, "a"),
                                 turnOf(ChatRole::Assistant, Answer),
                                 turnOf(ChatRole::User, "b")};
  ChatMessages messages(std::move(turns));
  std::string asked, whole, prompted, longer;
  const auto renders = [&](size_t count, bool prompt, std::string &out) {
    return layout.render(messages, count, prompt, "probe", out).isOk();
  };
  if (!renders(1, false, asked) || !renders(2, false, whole) ||
      !renders(2, true, prompted) || !renders(3, false, longer) ||
      whole != prompted)
    return "";
  const size_t answer = whole.rfind(Answer);
  if (answer == std::string::npos)
    return "";
  const size_t end = answer + std::string_view(Answer).size();
  size_t common = end;
  while (common < whole.size() && common < longer.size() &&
         whole[common] == longer[common])
    ++common;
  if (common == whole.size())
    return ""; // a next turn follows it
  // Headers of users and assistants may begin alike: with a special token, or
  // with a line.
  size_t start = end, line = end;
  bool isSpecial = false;
  for (size_t at = end; at < common; ++at) {
    if (whole[at] == '\n')
      line = at + 1;
    if (!tokenizer.contents().added().spellsSpecial(whole, at))
      continue;
    if (at > end)
      start = at;
    isSpecial |= at > end;
  }
  if (!isSpecial)
    start = line > end ? line : common;
  const std::string prompt = whole.substr(start);
  return asked.size() >= prompt.size() &&
                 asked.compare(asked.size() - prompt.size(), prompt.size(),
                               prompt) == 0
             ? prompt
             : "";
}

Status ChatModel::render(ChatMessages &messages, size_t count,
                         bool generationPrompt, const std::string &place,
                         std::string &out) const {
  HONE_TRY(layout.render(messages, count, generationPrompt, place, out));
  const size_t size = endlessPrompt.size();
  if (!generationPrompt && size != 0 && out.size() >= size &&
      out.compare(out.size() - size, size, endlessPrompt) == 0)
    out.resize(out.size() - size);
  return Status::ok();
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
