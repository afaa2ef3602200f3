//===- ChatModel.cpp - A model's chat template in its weights file --------===//

#include "chat/ChatModel.h"

#include "base/JsonReader.h"
#include "chat/TemplateLexer.h"

#include <algorithm>

namespace hone::rt {

//===----------------------------------------------------------------------===//
// Added tokens
//===----------------------------------------------------------------------===//

void AddedTokens::add(uint32_t id, uint8_t flags, std::string_view text) {
  tokens.push_back({id, uint32_t(texts.size()), uint32_t(text.size()), flags});
  texts += text;
}

void AddedTokens::sort() {
  std::sort(tokens.begin(), tokens.end(),
            [&](const Token &a, const Token &b) { return text(a) < text(b); });
  for (const Token &token : tokens) {
    sizes.push_back(token.size);
    begins[uint8_t(texts[token.offset])] = true;
  }
  std::sort(sizes.begin(), sizes.end(), std::greater<>());
  sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
}

static bool isWordByte(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
         (c >= '0' && c <= '9') || c == '_' || uint8_t(c) >= 0x80;
}

const AddedTokens::Token *AddedTokens::match(std::string_view all, size_t at,
                                             bool maySpecial) const {
  if (!begins[uint8_t(all[at])])
    return nullptr;
  for (uint32_t size : sizes) {
    const std::string_view wanted = all.substr(at, size);
    if (wanted.size() != size)
      continue;
    const auto found =
        std::lower_bound(tokens.begin(), tokens.end(), wanted,
                         [&](const Token &token, std::string_view key) {
                           return text(token) < key;
                         });
    if (found == tokens.end() || text(*found) != wanted ||
        (!maySpecial && (found->flags & Special) != 0))
      continue;
    if ((found->flags & SingleWord) != 0 &&
        ((at > 0 && isWordByte(all[at - 1])) ||
         (at + size < all.size() && isWordByte(all[at + size]))))
      continue;
    return &*found;
  }
  return nullptr;
}

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

/// [id, flags, text, id, flags, text, ...]
static bool readAdded(JsonReader &reader, const Tokenizer &tokenizer,
                      AddedTokens &out) {
  std::string text;
  for (reader.beginArray(); reader.nextElement();) {
    int64_t id = 0, flags = 0;
    const uint64_t start = reader.lastValue();
    if (!reader.unsignedInteger(id) || !reader.nextElement() ||
        !reader.unsignedInteger(flags) || !reader.nextElement() ||
        !reader.string(text))
      break;
    if (id >= int64_t(tokenizer.vocabularySize()) ||
        flags > AddedTokens::AllFlags || text.empty())
      return reader.failAt(start, "expected an added token of the tokenizer",
                           "compile the model again with honec");
    out.add(uint32_t(id), uint8_t(flags), text);
  }
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
    int64_t truth = 0;
    if (key == "template")
      reader.string(source);
    else if (key == "place")
      reader.string(name);
    else if (key == "variables")
      readVariables(reader, variables);
    else if (key == "added")
      readAdded(reader, tokenizer, model.added);
    else if (key == "prefix_once" && reader.unsignedInteger(truth))
      model.prefixOnce = truth != 0;
    else
      reader.failAt(reader.lastToken(), "there is no key \"" + key + "\"",
                    "compile the model again with honec");
  }
  if (!reader.ok() || !reader.finish())
    return reader.status();
  model.added.sort();
  Result<ChatTemplate> parsed =
      ChatTemplate::parse(source, name, std::move(variables), date);
  if (!parsed.isOk())
    return parsed.status();
  model.layout = std::move(parsed.value());
  return model;
}

//===----------------------------------------------------------------------===//
// Text and ids
//===----------------------------------------------------------------------===//

bool ChatModel::isSpecial(int32_t id) const {
  for (const AddedTokens::Token &token : added.all())
    if (int32_t(token.id) == id)
      return (token.flags & AddedTokens::Special) != 0;
  return false;
}

size_t ChatModel::mark(std::string &text) const {
  size_t count = 0;
  std::string marked;
  size_t done = 0;
  for (size_t at = 0; at < text.size(); ++at) {
    const AddedTokens::Token *token = added.match(text, at, true);
    if (token == nullptr || (token->flags & AddedTokens::Special) == 0)
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

namespace {
/// For a part of a text, whose ends are those of the whole.
class PartSink : public TokenSink {
public:
  PartSink(TokenSink &whole, size_t begin) : whole(whole), begin(begin) {}

  bool append(const int32_t *ids, size_t count) override {
    return whole.append(ids, count);
  }
  bool wantsEnds() const override { return whole.wantsEnds(); }
  bool appendOne(int32_t id, size_t end) override {
    return whole.appendOne(id, begin + end);
  }
  bool passed(size_t bytes) override { return whole.passed(begin + bytes); }

private:
  TokenSink &whole;
  const size_t begin;
};
} // namespace

/// As Rust's char::is_whitespace has it: without the four separators.
static size_t spaceAt(std::string_view text, size_t at) {
  if (at < text.size() && text[at] >= 0x1c && text[at] <= 0x1f)
    return 0;
  return pythonSpaceAt(text, at);
}

Status ChatModel::encode(std::string &text, const Tokenizer &tokenizer,
                         const std::string &place, TokenSink &sink,
                         TokenizerScratch &scratch) const {
  std::vector<size_t> marks; // places where special tokens are text
  size_t kept = 0;
  for (char c : text) {
    if (c == DataMark)
      marks.push_back(kept);
    else
      text[kept++] = c;
  }
  text.resize(kept);
  const std::string_view all = text;
  size_t begin = 0; // of the text that is not yet encoded
  size_t nextMark = 0;
  const auto encodeUntil = [&](size_t end) {
    if (begin >= end)
      return Status::ok();
    PartSink part(sink, begin);
    return tokenizer.encode(all.substr(begin, end - begin), place, part,
                            scratch, begin == 0 || !prefixOnce);
  };
  for (size_t at = 0; at < all.size();) {
    while (nextMark < marks.size() && marks[nextMark] < at)
      ++nextMark;
    const bool isMarked = nextMark < marks.size() && marks[nextMark] == at;
    const AddedTokens::Token *token = added.match(all, at, !isMarked);
    if (token == nullptr) {
      ++at;
      continue;
    }
    size_t end = at;
    if ((token->flags & AddedTokens::LeftStrip) != 0)
      while (end > begin) {
        size_t last = end - 1;
        while (last > begin && (uint8_t(all[last]) & 0xC0) == 0x80)
          --last;
        if (spaceAt(all, last) == 0)
          break;
        end = last;
      }
    if (Status s = encodeUntil(end); !s.isOk())
      return s;
    at += token->size;
    if ((token->flags & AddedTokens::RightStrip) != 0)
      while (size_t space = spaceAt(all, at))
        at += space;
    begin = at;
    const auto id = int32_t(token->id);
    if (!(sink.wantsEnds() ? sink.appendOne(id, at) : sink.append(&id, 1)))
      return Status::ok();
  }
  return encodeUntil(all.size());
}

} // namespace hone::rt
