//===- TokenizerBuilder.cpp - From a model folder to a tokenizer table ----===//
//
// Byte-level vocabularies spell bytes with printable characters; the table
// holds the bytes themselves, so nothing is spelled at training time.
//
// Vocabulary and merges are read value by value, and unknown keys are passed
// over: memory is a small multiple of the file, whatever is in it.
//
//===----------------------------------------------------------------------===//

#include "compiler/text/TokenizerBuilder.h"

#include "base/JsonReader.h"
#include "base/MappedFile.h"
#include "base/Utf8.h"
#include "compiler/text/TokenizerFolder.h"
#include "compiler/text/TokenizerPipeline.h"
#include "text/Normalizer.h"
#include "text/TokenizerTable.h"

#include <algorithm>
#include <cstdio>
#include <map>

using namespace hone::rt;

namespace hone {

namespace {

class TokenizerBuilder {
public:
  explicit TokenizerBuilder(const std::string &modelDir) : folder(modelDir) {}
  Result<std::string> build();

private:
  Status readTokenizerJson();
  Status readModel(JsonReader &reader, const std::string &file);
  Status checkModelSettings(const Json &model, const std::string &file);
  Status readVocabAndMerges();
  Status chooseStages();

  void limitIds(const MappedFile &file);
  Status addVocabulary(JsonReader &reader, const std::string &file);
  Status addToken(int64_t id, const std::string &name, const std::string &place,
                  const Json *where);
  Status addAddedToken(int64_t id, const Json &token, const std::string &file);
  Status addAddedTokens(const Json *list, const std::string &file);
  Status addToSettings(const Json &list, const std::string &file);
  Status normalizeAdded(const std::string &file);
  Status addMerges(JsonReader &reader, const std::string &file);
  Status addMergesText(const std::string &file);
  std::string addMerge(std::string_view left, std::string_view right);

  Status readSpecialTokens();
  Result<int64_t> specialToken(const char *key) const;
  Status setTemplateToken(const char *key, const char *token,
                          std::vector<uint32_t> &side, bool front);
  Status findByteIds(const std::string &file);
  void spellBytes();
  bool findJoined();

  TokenizerFolder folder;
  Json config = Json(), tokenizerConfig = Json();
  TokenizerDefinition out;
  PipelineStages stages;
  // Ids by name as the files spell it. A tree, because no choice of names makes
  // it slow, as it could a hash table.
  std::map<std::string, uint32_t, std::less<>> ids;
  int64_t largestId = 0;
  std::map<int64_t, size_t> added; // by id, where in out.added
  /// Of tokenizer.json, whose library gives ids to added tokens: how many
  /// tokens the vocabulary has. -1: any id that is free.
  int64_t vocabularySize = -1;
};

} // namespace

static constexpr int64_t LargestId = (1 << 24) - 1;

static constexpr const char *GetAgain =
    "download the file again from the place of the model";

static std::string longAdded() {
  return "is longer than " + std::to_string(AddedTokens::LongestText) +
         " bytes";
}

static Status badFile(const std::string &place, std::string problem,
                      std::string remedy = GetAgain) {
  return Status(ErrorCode::BadTokenizer, place, std::move(problem),
                std::move(remedy));
}

/// A name of the file, for messages: it may be as long as the file.
static std::string quoted(std::string_view name) {
  return "\"" + shortened(name, 80) + "\"";
}

/// GPT-2's bytes_to_unicode: the printable characters of Latin-1 stand for
/// themselves, the other bytes for U+0100 onwards in order.
static uint32_t spellingOf(uint32_t byte) {
  const auto isPrintable = [](uint32_t b) {
    return (b >= 33 && b <= 126) || (b >= 161 && b != 173);
  };
  if (isPrintable(byte))
    return byte;
  uint32_t next = 256;
  for (uint32_t b = 0; b < byte; ++b)
    next += !isPrintable(b);
  return next;
}

/// The table has a place for every id up to the largest, so that one number
/// must not size it: an entry of a vocabulary has at least 6 bytes.
void TokenizerBuilder::limitIds(const MappedFile &file) {
  largestId = std::min(LargestId, int64_t(file.size() / 6) + 65535);
}

Status TokenizerBuilder::addToken(int64_t id, const std::string &name,
                                  const std::string &place, const Json *where) {
  const std::string at = where == nullptr ? place : placeOf(place, *where);
  if (id < 0 || id > largestId)
    return badFile(at, "expected an id from 0 to " + std::to_string(largestId) +
                           " but found " + std::to_string(id));
  if (name.empty())
    return badFile(at, "expected a token but its name is empty");
  if (size_t(id) >= out.tokens.size())
    out.tokens.resize(size_t(id) + 1);
  if (!out.tokens[size_t(id)].empty())
    return badFile(
        at, "the id " + std::to_string(id) + " is given to two tokens, " +
                quoted(out.tokens[size_t(id)]) + " and " + quoted(name));
  if (!ids.emplace(name, uint32_t(id)).second)
    return badFile(at, "the token " + quoted(name) + " has two ids");
  out.tokens[size_t(id)] = name;
  return Status::ok();
}

/// The object of ids that the reader is at.
Status TokenizerBuilder::addVocabulary(JsonReader &reader,
                                       const std::string &file) {
  const uint64_t start = reader.lastValue();
  Json::Kind kind;
  if (reader.peek(kind) && kind != Json::Kind::Object)
    reader.failAt(start,
                  std::string("expected the vocabulary as an object of token "
                              "ids but found ") +
                      describe(kind),
                  GetAgain);
  std::string name;
  for (reader.beginObject(); reader.nextMember(name);) {
    if (reader.peek(kind) && kind != Json::Kind::Number)
      reader.failAt(reader.lastValue(),
                    "expected an integer id for " + quoted(name) +
                        " but found " + describe(kind),
                    GetAgain);
    Json id;
    if (!reader.value(id))
      break;
    if (!id.isInteger())
      return badFile(placeOf(file, id), "expected an integer id for " +
                                            quoted(name) +
                                            " but found a fraction");
    HONE_TRY(addToken(id.integer(), name, file, &id));
  }
  if (out.tokens.empty())
    reader.failAt(start, "expected a vocabulary but found none", GetAgain);
  out.unreachable.assign(out.tokens.size(), false);
  return reader.status();
}

/// The flags of AddedToken; a truth that is not there is as Python's
/// AddedToken has it.
static uint32_t addedFlags(const Json &token) {
  const auto flag = [&](const char *key, uint32_t bit, bool standard) {
    return token.flag(key, standard) ? bit : 0;
  };
  const uint32_t special = flag("special", AddedToken::Special, true);
  return special | flag("lstrip", AddedToken::LeftStrip, false) |
         flag("rstrip", AddedToken::RightStrip, false) |
         flag("normalized", AddedToken::Normalized, special == 0);
}

Status TokenizerBuilder::addAddedToken(int64_t id, const Json &token,
                                       const std::string &file) {
  const Json *content = token.find("content");
  if (content == nullptr || !content->isString())
    return badFile(placeOf(file, token),
                   "expected an added token with a \"content\"");
  const std::string &name = content->string();
  const auto unsupported = [&](const std::string &problem) {
    return unsupportedTokenizer(
        file, &token, "the added token " + quoted(name) + " " + problem);
  };
  if (token.flag("single_word", false))
    return unsupported("has single_word, which is not supported");
  if (name.size() > AddedTokens::LongestText)
    return unsupported(longAdded());
  const uint32_t flags = addedFlags(token);
  const auto known = ids.find(name);
  if (known != ids.end() && known->second != id)
    return badFile(placeOf(file, token),
                   "the added token " + quoted(name) + " has the id " +
                       std::to_string(id) + " but the vocabulary gives it " +
                       std::to_string(known->second));
  if (known == ids.end()) {
    const int64_t next =
        std::max(vocabularySize, added.empty() ? 0 : added.rbegin()->first + 1);
    if (vocabularySize >= 0 && id != next)
      return unsupported("has the id " + std::to_string(id) +
                         ", but Hugging Face's library gives it " +
                         std::to_string(next));
    HONE_TRY(addToken(id, name, file, &token));
    out.unreachable.resize(out.tokens.size(), false);
    out.unreachable[size_t(id)] = true;
  } else if (added.count(id) != 0) {
    return badFile(placeOf(file, token),
                   "the added token " + quoted(name) + " is there twice");
  }
  added[id] = out.added.size();
  out.added.push_back({uint32_t(id), flags, name});
  return Status::ok();
}

/// Adds the tokens that tokenizer_config.json repeats, or adds. Transformers
/// prefers them to those of tokenizer.json, but for how special tokens are
/// normalized.
Status TokenizerBuilder::addToSettings(const Json &list,
                                       const std::string &file) {
  std::map<int64_t, const Json *> sorted;
  for (const auto &[key, token] : list.object()) {
    int64_t id = 0;
    for (char digit : key)
      id = digit < '0' || digit > '9' || id > LargestId
               ? LargestId + 1
               : id * 10 + (digit - '0');
    sorted[id] = &token;
  }
  for (const auto &[id, token] : sorted) {
    const auto found = added.find(id);
    if (found == added.end() ||
        !token->has("content", out.added[found->second].text)) {
      HONE_TRY(addAddedToken(id, *token, file));
      continue;
    }
    TokenizerDefinition::Added &same = out.added[found->second];
    const uint32_t flags = addedFlags(*token);
    uint32_t other = (flags ^ same.flags) & ~uint32_t(AddedToken::Special);
    if ((same.flags & AddedToken::Special) != 0)
      other &= ~uint32_t(AddedToken::Normalized);
    if (other != 0 || token->flag("single_word", false))
      return unsupportedTokenizer(
          file, token,
          "the added token " + quoted(same.text) +
              " is another one in tokenizer.json (lstrip, rstrip, "
              "single_word, normalized)");
    same.flags |= flags & AddedToken::Special;
  }
  return Status::ok();
}

/// Applies the normalizer to the added tokens that are normalized.
Status TokenizerBuilder::normalizeAdded(const std::string &file) {
  static constexpr std::string_view Metaspace = "\xE2\x96\x81";
  std::map<std::string, std::string> seen; // as normalized, as in the file
  for (TokenizerDefinition::Added &token : out.added) {
    if ((token.flags & AddedToken::Normalized) == 0)
      continue;
    const std::string name = token.text;
    if (out.nfc) {
      NfcNormalizer normalizer;
      normalizer.reset(name);
      token.text.clear();
      normalizer.append(token.text, SIZE_MAX, name.size());
    }
    if (out.replacesSpaces)
      for (size_t at = 0; (at = token.text.find(Metaspace, at)) != name.npos;)
        token.text.replace(at, Metaspace.size(), " ");
    if (token.text.size() > AddedTokens::LongestText)
      return unsupportedTokenizer(
          file, nullptr, "the added token " + quoted(name) + " " + longAdded());
    const auto [same, isNew] = seen.emplace(token.text, name);
    if (!isNew)
      return unsupportedTokenizer(file, nullptr,
                                  "the normalizer makes one of the added "
                                  "tokens " +
                                      quoted(same->second) + " and " +
                                      quoted(name));
  }
  return Status::ok();
}

Status TokenizerBuilder::addAddedTokens(const Json *list,
                                        const std::string &file) {
  if (list == nullptr || list->isNull())
    return Status::ok();
  if (!list->isArray())
    return badFile(placeOf(file, *list), "expected added_tokens as an array");
  for (const Json &token : list->array()) {
    const Json *id = token.find("id");
    if (id == nullptr || !id->isInteger())
      return badFile(placeOf(file, token),
                     "expected an added token with an integer \"id\"");
    HONE_TRY(addAddedToken(id->integer(), token, file));
  }
  return Status::ok();
}

/// Returns what is wrong with it, or nothing.
std::string TokenizerBuilder::addMerge(std::string_view left,
                                       std::string_view right) {
  const std::string whole = std::string(left) + std::string(right);
  const std::string_view names[] = {left, right, whole};
  uint32_t found[3];
  for (int i = 0; i < 3; ++i) {
    const auto at = ids.find(names[i]);
    if (at == ids.end())
      return "the merge of " + quoted(left) + " and " + quoted(right) +
             " needs the token " + quoted(names[i]) +
             ", which the vocabulary does not have";
    found[i] = at->second;
  }
  out.merges.push_back({found[0], found[1], found[2]});
  return "";
}

/// Splits "a b" at its only space. Returns false when there is none or more.
static bool splitMerge(std::string_view line, std::string_view &left,
                       std::string_view &right) {
  const size_t space = line.find(' ');
  if (space == std::string_view::npos ||
      line.find(' ', space + 1) != std::string_view::npos)
    return false;
  left = line.substr(0, space);
  right = line.substr(space + 1);
  return !left.empty() && !right.empty();
}

/// ["a", "b"]; the reader keeps the error.
static bool readPair(JsonReader &reader, std::string &left,
                     std::string &right) {
  return reader.beginArray() && reader.nextElement() && reader.string(left) &&
         reader.nextElement() && reader.string(right) && !reader.nextElement();
}

/// The array of merges that the reader is at.
Status TokenizerBuilder::addMerges(JsonReader &reader,
                                   const std::string &file) {
  Json::Kind kind;
  if (reader.peek(kind) && kind != Json::Kind::Array)
    reader.failAt(reader.lastValue(), "expected merges as an array", GetAgain);
  std::string text, other;
  for (reader.beginArray(); reader.nextElement();) {
    const uint64_t start = reader.lastValue();
    std::string_view left, right;
    bool isPair = false;
    if (reader.peek(kind) && kind == Json::Kind::String) {
      isPair = reader.string(text) && splitMerge(text, left, right);
    } else if (reader.ok() && kind == Json::Kind::Array) {
      isPair = readPair(reader, text, other);
      left = text;
      right = other;
    }
    if (!isPair)
      reader.failAt(start, "expected a merge as \"a b\" or [\"a\", \"b\"]",
                    GetAgain);
    if (!reader.ok())
      break;
    if (std::string problem = addMerge(left, right); !problem.empty())
      reader.failAt(start, problem, GetAgain);
  }
  return reader.status();
}

Status TokenizerBuilder::addMergesText(const std::string &file) {
  HONE_ASSIGN(MappedFile mapped, MappedFile::open(file));
  std::string_view rest = mapped.bytes();
  for (size_t number = 1; !rest.empty(); ++number) {
    const size_t end = rest.find('\n');
    std::string_view line = rest.substr(0, end);
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
    if (!line.empty() && line.back() == '\r')
      line.remove_suffix(1);
    if (line.substr(0, 8) == "#version" || (line.empty() && rest.empty()))
      continue;
    const std::string place = file + ":" + std::to_string(number);
    std::string_view left, right;
    if (!splitMerge(line, left, right))
      return badFile(place, "expected two tokens with a space between them");
    if (std::string problem = addMerge(left, right); !problem.empty())
      return badFile(place, problem);
  }
  return Status::ok();
}

Status TokenizerBuilder::checkModelSettings(const Json &model,
                                            const std::string &file) {
  static constexpr const char *Ignored[] = {"type", "unk_token", "fuse_unk"};
  const Json *type = model.find("type");
  if (type != nullptr && type->isString() && type->string() != "BPE")
    return unsupportedTokenizer(file, type,
                                "the tokenizer model " +
                                    quoted(type->string()) +
                                    " is not supported; expected BPE with "
                                    "vocab and merges");
  for (const auto &[key, value] : model.object()) {
    bool known = value.isNull() ||
                 (value.isString() && value.string().empty()) ||
                 (value.isNumber() && value.number() == 0) ||
                 (value.isBool() && !value.boolean());
    for (const char *ignored : Ignored)
      known |= key == ignored;
    if (key == "byte_fallback" && value.isBool())
      known = true, out.byteFallback = value.boolean();
    else if (key == "ignore_merges" && value.isBool())
      known = true, out.ignoreMerges = value.boolean();
    if (!known)
      return unsupportedTokenizer(
          file, &value, "the BPE setting " + quoted(key) + " is not supported");
  }
  return Status::ok();
}

/// The object "model" that the reader is at.
Status TokenizerBuilder::readModel(JsonReader &reader,
                                   const std::string &file) {
  const uint64_t start = reader.lastValue();
  uint64_t vocabulary = 0, merges = 0;
  Json settings;
  bool read = reader.members(settings, [&](const std::string &key) {
    uint64_t *found = key == "vocab"    ? &vocabulary
                      : key == "merges" ? &merges
                                        : nullptr;
    if (found == nullptr)
      return true;
    if (*found != 0)
      reader.failAt(reader.lastValue(),
                    "expected \"" + key + "\" once, found it again", GetAgain);
    *found = reader.lastValue();
    return false;
  });
  if (!read)
    return reader.status();
  HONE_TRY(checkModelSettings(settings, file));
  if (vocabulary == 0 || merges == 0)
    return unsupportedTokenizer(reader.placeOf(start), nullptr,
                                "expected a tokenizer model with vocab and "
                                "merges but found one without");
  // In this order, whichever comes first in the file.
  reader.seek(vocabulary);
  HONE_TRY(addVocabulary(reader, file));
  reader.seek(merges);
  return addMerges(reader, file);
}

Status TokenizerBuilder::readTokenizerJson() {
  static constexpr std::string_view Wanted[] = {
      "added_tokens", "normalizer", "pre_tokenizer", "post_processor"};
  const std::string file = folder.path("tokenizer.json");
  HONE_ASSIGN(MappedFile mapped, MappedFile::open(file));
  JsonReader reader(mapped.bytes(), file, ErrorCode::BadTokenizer);
  uint64_t model = 0;
  Json root;
  if (reader.members(root, [&](const std::string &key) {
        if (key == "model" && model != 0)
          reader.failAt(reader.lastValue(),
                        "expected \"model\" once, found it again", GetAgain);
        if (key == "model")
          model = reader.lastValue();
        return std::find(std::begin(Wanted), std::end(Wanted), key) !=
               std::end(Wanted);
      }))
    reader.finish();
  Json::Kind kind = Json::Kind::Null;
  if (reader.ok() && model != 0) {
    reader.seek(model);
    reader.peek(kind);
  }
  if (!reader.ok())
    return reader.status();
  if (kind != Json::Kind::Object)
    return badFile(file, "expected the object \"model\"");
  limitIds(mapped);
  HONE_TRY(readModel(reader, file));
  vocabularySize = int64_t(ids.size());
  HONE_TRY(addAddedTokens(root.find("added_tokens"), file));
  HONE_TRY(readPipeline(root, file, out, stages));
  if (stages.byteLevel == out.byteFallback ||
      (out.byteFallback && out.ignoreMerges))
    return unsupportedTokenizer(
        file, nullptr,
        "expected either a ByteLevel pre-tokenizer, or byte_fallback without "
        "ignore_merges");
  return Status::ok();
}

/// Without tokenizer.json the stages follow from the class, or from the kind
/// of model when there is no tokenizer_config.json.
Status TokenizerBuilder::chooseStages() {
  static constexpr std::string_view Gpt2Names[] = {
      "GPT2Tokenizer", "GPT2TokenizerFast", "gpt2", "opt", "gpt_neo"};
  static constexpr std::string_view Qwen2Names[] = {
      "Qwen2Tokenizer", "Qwen2TokenizerFast", "qwen2", "qwen3"};
  const Json *name = tokenizerConfig.find("tokenizer_class");
  if (name == nullptr)
    name = config.find("model_type");
  const std::string kind =
      name != nullptr && name->isString() ? name->string() : std::string();
  stages.byteLevel = true;
  for (std::string_view known : Gpt2Names) {
    if (kind != known)
      continue;
    out.preTokenizer = PreTokenizerKind::Gpt2;
    out.prefixSpace = tokenizerConfig.flag("add_prefix_space", false);
    return Status::ok();
  }
  for (std::string_view known : Qwen2Names) {
    if (kind != known)
      continue;
    out.preTokenizer = PreTokenizerKind::Qwen2;
    out.nfc = true;
    return Status::ok();
  }
  return Status(ErrorCode::UnsupportedTokenizer, folder.path("vocab.json"),
                "the way to split text is unknown: expected tokenizer_class in "
                "tokenizer_config.json or model_type in config.json to name "
                "GPT-2, OPT, GPT-Neo or Qwen2 but found \"" +
                    kind + "\"",
                "add the model's tokenizer.json to the folder");
}

Status TokenizerBuilder::readVocabAndMerges() {
  for (const char *file : {"vocab.json", "merges.txt"})
    if (!folder.has(file))
      return Status(ErrorCode::IncompleteTokenizer, folder.path(file),
                    "vocab.json and merges.txt make a tokenizer "
                    "together, but this one is missing",
                    "add it, or the model's tokenizer.json");
  HONE_ASSIGN(MappedFile mapped, MappedFile::open(folder.path("vocab.json")));
  limitIds(mapped);
  JsonReader reader(mapped.bytes(), folder.path("vocab.json"),
                    ErrorCode::BadTokenizer);
  HONE_TRY(addVocabulary(reader, folder.path("vocab.json")));
  if (!reader.finish())
    return reader.status();
  HONE_TRY(addMergesText(folder.path("merges.txt")));
  return chooseStages();
}

/// The id of the token that tokenizer_config.json names, or -1.
Result<int64_t> TokenizerBuilder::specialToken(const char *key) const {
  const Json *token = tokenizerConfig.find(key);
  if (token != nullptr && token->isObject())
    token = token->find("content");
  if (token == nullptr || token->isNull())
    return int64_t(-1);
  const std::string file = folder.path("tokenizer_config.json");
  if (!token->isString())
    return badFile(placeOf(file, *token),
                   std::string("expected ") + key + " to name a token");
  const auto found = ids.find(token->string());
  if (found == ids.end())
    return badFile(placeOf(file, *token),
                   std::string(key) + " is " + quoted(token->string()) +
                       ", which is not a token of this tokenizer");
  return int64_t(found->second);
}

/// add_bos_token and add_eos_token overrule the template, as they do in
/// transformers' Llama tokenizers; absent, the template stands.
Status TokenizerBuilder::setTemplateToken(const char *key, const char *token,
                                          std::vector<uint32_t> &side,
                                          bool front) {
  const Json *wanted = tokenizerConfig.find(key);
  if (wanted == nullptr || !wanted->isBool())
    return Status::ok();
  HONE_ASSIGN(int64_t id, specialToken(token));
  if (id < 0)
    return wanted->boolean()
               ? badFile(placeOf(folder.path("tokenizer_config.json"), *wanted),
                         std::string(key) + " is true but there is no " + token)
               : Status::ok();
  const uint32_t value = uint32_t(id);
  for (size_t i = side.size(); i-- > 0;)
    if (side[i] == value)
      side.erase(side.begin() + ptrdiff_t(i));
  if (wanted->boolean())
    side.insert(front ? side.begin() : side.end(), value);
  return Status::ok();
}

Status TokenizerBuilder::readSpecialTokens() {
  const std::string file = folder.path("tokenizer_config.json");
  if (const Json *added = tokenizerConfig.find("added_tokens_decoder"))
    HONE_TRY(addToSettings(*added, file));
  HONE_TRY(setTemplateToken("add_bos_token", "bos_token", out.before, true));
  HONE_TRY(setTemplateToken("add_eos_token", "eos_token", out.after, false));
  HONE_ASSIGN(int64_t eos, specialToken("eos_token"));
  out.eosToken = int32_t(eos);
  const Json *id = config.find("eos_token_id");
  if (id != nullptr && id->isArray() && !id->array().empty())
    id = &id->array().front();
  if (out.eosToken < 0 && id != nullptr && id->isInteger() &&
      id->integer() >= 0 && id->integer() < int64_t(out.tokens.size()))
    out.eosToken = int32_t(id->integer());
  return Status::ok();
}

Status TokenizerBuilder::findByteIds(const std::string &file) {
  for (uint32_t byte = 0; byte < 256; ++byte) {
    char fallback[8];
    std::snprintf(fallback, sizeof fallback, "<0x%02X>", byte);
    std::string name = fallback;
    if (!out.byteFallback) {
      name.clear();
      appendUtf8(name, spellingOf(byte));
    }
    const auto found = ids.find(name);
    if (found == ids.end())
      return unsupportedTokenizer(file, nullptr,
                                  "the vocabulary has no token for the byte " +
                                      std::string(fallback) + " (\"" + name +
                                      "\"), so some text could not be encoded");
    out.byteIds[byte] = found->second;
  }
  return Status::ok();
}

/// Maps byte-level names back to the bytes they spell.
void TokenizerBuilder::spellBytes() {
  std::array<int, 512> byteOf;
  byteOf.fill(-1);
  for (uint32_t byte = 0; byte < 256; ++byte)
    byteOf[spellingOf(byte)] = int(byte);
  for (size_t id = 0; id < out.tokens.size(); ++id) {
    const std::string &name = out.tokens[id];
    std::string spelled;
    bool isBytes = !out.unreachable[id];
    for (size_t at = 0; isBytes && at < name.size();) {
      const uint32_t point = decodeUtf8(name, at);
      isBytes = point < byteOf.size() && byteOf[point] >= 0;
      if (isBytes)
        spelled.push_back(char(byteOf[point]));
    }
    if (isBytes)
      out.tokens[id] = spelled;
    else
      out.unreachable[id] = true;
  }
}

/// Finds the characters that merges join; false where one joins bytes. A symbol
/// is spelled as the text that it came from, so that a merge of two has joined
/// the last character of one and the first of the other.
bool TokenizerBuilder::findJoined() {
  std::vector<bool> isByte(out.tokens.size(), false);
  for (uint32_t id : out.byteIds)
    isByte[id] = true;
  for (const TokenizerDefinition::Merge &merge : out.merges) {
    const std::string &left = out.tokens[merge.left];
    const std::string &right = out.tokens[merge.right];
    if (isByte[merge.left] || isByte[merge.right] || left.empty() ||
        right.empty())
      return false;
    size_t last = utf8CharacterStart(left, left.size() - 1), first = 0;
    const uint32_t before = decodeUtf8(left, last);
    out.joined.emplace_back(before, decodeUtf8(right, first));
  }
  return true;
}

Result<std::string> TokenizerBuilder::build() {
  const bool hasJson = folder.has("tokenizer.json");
  if (!hasJson && !folder.has("vocab.json") && !folder.has("merges.txt")) {
    if (folder.has("tokenizer.model"))
      return unsupportedTokenizer(folder.path("tokenizer.model"), nullptr,
                                  "a SentencePiece model without "
                                  "tokenizer.json is not supported");
    return std::string();
  }
  HONE_TRY(folder.readMembers("tokenizer_config.json",
                              {"tokenizer_class", "add_prefix_space",
                               "add_bos_token", "add_eos_token", "bos_token",
                               "eos_token", "added_tokens_decoder"},
                              tokenizerConfig));
  HONE_TRY(folder.readMembers("config.json", {"model_type", "eos_token_id"},
                              config));
  const std::string file =
      folder.path(hasJson ? "tokenizer.json" : "vocab.json");
  HONE_TRY(hasJson ? readTokenizerJson() : readVocabAndMerges());
  HONE_TRY(readSpecialTokens());
  HONE_TRY(findByteIds(file));
  HONE_TRY(normalizeAdded(file));
  if (!out.byteFallback)
    spellBytes();
  else if (findJoined())
    out.preTokenizer = PreTokenizerKind::UnmergedBorder;
  return writeTokenizerTable(out, file);
}

Result<std::string> buildTokenizerTable(const std::string &modelDir) {
  return TokenizerBuilder(modelDir).build();
}

} // namespace hone
