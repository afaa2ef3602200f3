//===- DataLines.cpp - JSONL training data, one line at a time ------------===//
//
// Lines are read token by token, so a long list of ids costs four bytes an id
// and not a tree node.
//
//===----------------------------------------------------------------------===//

#include "data/DataLines.h"

#include <algorithm>

namespace hone::rt {

// Keys that were seen in a line.
enum : unsigned {
  SeenText = 1,
  SeenPrompt = 2,
  SeenCompletion = 4,
  SeenIds = 8,
  SeenLabels = 16,
  SeenMask = 32,
};

static constexpr const char *ShapeRemedy =
    "write every line as {\"text\"}, {\"prompt\", \"completion\"} or "
    "{\"input_ids\", \"labels\"}";

const char *describe(DataFormat format) {
  switch (format) {
  case DataFormat::PlainText:
    return "plain text, packed";
  case DataFormat::Text:
    return "JSONL with \"text\"";
  case DataFormat::PromptCompletion:
    return "JSONL with \"prompt\" and \"completion\"";
  case DataFormat::TokenIds:
    return "JSONL with \"input_ids\"";
  }
  return "";
}

static unsigned bitOf(const std::string &key) {
  if (key == "text")
    return SeenText;
  if (key == "prompt")
    return SeenPrompt;
  if (key == "completion")
    return SeenCompletion;
  if (key == "input_ids")
    return SeenIds;
  if (key == "labels")
    return SeenLabels;
  return key == "attention_mask" ? SeenMask : 0;
}

Status DataLines::bad(uint64_t lineNumber, const std::string &problem,
                      const std::string &remedy) const {
  return Status::error(
      ExitCode::BadData,
      {path + ":" + std::to_string(lineNumber), problem, remedy});
}

/// Without its line end.
std::string_view DataLines::takeLine() {
  const size_t end = content.find('\n', at);
  const size_t stop = std::min(end, content.size());
  const std::string_view line = content.substr(at, stop - at);
  at = end == std::string_view::npos ? content.size() : end + 1;
  ++number;
  return line;
}

/// Of an array or an object only the kind: as a tree it would take a hundred
/// times its bytes, and no key asks for one.
static bool readScalar(JsonReader &reader, Json &value) {
  Json::Kind kind;
  if (!reader.peek(kind))
    return false;
  if (kind != Json::Kind::Array && kind != Json::Kind::Object)
    return reader.value(value);
  return reader.failAt(reader.lastValue(),
                       std::string("expected a number but found ") +
                           describe(kind),
                       "write lists of token ids, one list for a sample");
}

bool DataLines::readIds(JsonReader &reader, const char *key, bool allowNoTarget,
                        std::vector<int32_t> &out) {
  out.clear();
  for (reader.beginArray(); reader.nextElement();) {
    Json id;
    if (!readScalar(reader, id))
      return false;
    const bool isId =
        id.isInteger() && id.integer() >= 0 && id.integer() < vocabularySize;
    if (isId || (allowNoTarget && id.isInteger() && id.integer() == NoTarget)) {
      out.push_back(int32_t(id.integer()));
      continue;
    }
    const std::string found =
        id.isInteger() ? std::to_string(id.integer()) : describe(id.kind());
    return reader.failAt(
        reader.lastToken(),
        std::string("expected in \"") + key + "\" a token id from 0 to " +
            std::to_string(vocabularySize - 1) +
            (allowNoTarget ? " or -100" : "") + " but found " + found,
        "tokenise the data with the tokenizer of this model");
  }
  return reader.ok();
}

/// Batches have no padding, so a mask that is not all ones means nothing.
bool DataLines::readMask(JsonReader &reader) {
  for (reader.beginArray(); reader.nextElement();) {
    Json value;
    if (!readScalar(reader, value))
      return false;
    if (!value.isInteger() || value.integer() != 1)
      return reader.failAt(
          reader.lastToken(),
          "expected \"attention_mask\" to be all 1 but found another value",
          "remove the padding tokens from \"input_ids\" and the mask");
  }
  return reader.ok();
}

bool DataLines::skipValue(JsonReader &reader, const std::string &key) {
  if (!reader.skip())
    return false;
  if (ignored.size() < 16 &&
      std::find(ignored.begin(), ignored.end(), key) == ignored.end())
    ignored.push_back(key);
  return true;
}

bool DataLines::readKey(JsonReader &reader, const std::string &key,
                        DataLine &line, unsigned &seen) {
  const unsigned bit = bitOf(key);
  if (bit == 0)
    return skipValue(reader, key);
  if ((seen & bit) != 0)
    return reader.failAt(reader.lastToken(),
                         "the key \"" + key + "\" is there twice",
                         "keep one of the two");
  seen |= bit;
  switch (bit) {
  case SeenText:
  case SeenPrompt:
    return reader.string(line.text);
  case SeenCompletion:
    return reader.string(line.completion);
  case SeenIds:
    return readIds(reader, "input_ids", /*allowNoTarget=*/false, line.ids);
  case SeenLabels:
    line.hasLabels = true;
    return readIds(reader, "labels", /*allowNoTarget=*/true, line.labels);
  default:
    return readMask(reader);
  }
}

Status DataLines::read(std::string_view text, DataLine &line, unsigned &seen) {
  line.number = number;
  line.hasLabels = false;
  seen = 0;
  JsonReader reader(text, path);
  std::string key;
  for (reader.beginObject(); reader.nextMember(key);)
    if (!readKey(reader, key, line, seen))
      break;
  if (reader.ok() && reader.finish())
    return Status::ok();
  // The reader saw a single line and calls it line 1.
  Message message = reader.status().message();
  const std::string prefix = path + ":1:";
  if (message.place.compare(0, prefix.size(), prefix) == 0)
    message.place = path + ":" + std::to_string(number) + ":" +
                    message.place.substr(prefix.size());
  return Status::error(reader.status().code(), std::move(message));
}

static std::string keysOf(unsigned seen) {
  static constexpr const char *Names[] = {
      "text", "prompt", "completion", "input_ids", "labels", "attention_mask"};
  std::string out;
  for (unsigned i = 0; i < 6; ++i)
    if ((seen >> i & 1) != 0)
      out += std::string(out.empty() ? "\"" : ", \"") + Names[i] + "\"";
  return out.empty() ? "none of these keys" : out;
}

Status DataLines::checkShape(const DataLine &line, unsigned seen) const {
  const unsigned required = shape == DataFormat::Text ? SeenText
                            : shape == DataFormat::PromptCompletion
                                ? SeenPrompt | SeenCompletion
                                : SeenIds;
  const unsigned optional =
      shape == DataFormat::TokenIds ? SeenLabels | SeenMask : 0u;
  if ((seen & required) != required || (seen & ~(required | optional)) != 0)
    return bad(line.number,
               std::string("expected ") + describe(shape) +
                   " as in the first line but found " + keysOf(seen),
               ShapeRemedy);
  const bool isEmpty = shape == DataFormat::Text ? line.text.empty()
                       : shape == DataFormat::PromptCompletion
                           ? line.completion.empty()
                           : line.ids.empty();
  if (isEmpty)
    return bad(line.number,
               std::string("expected a sample but its ") +
                   (shape == DataFormat::Text               ? "\"text\""
                    : shape == DataFormat::PromptCompletion ? "\"completion\""
                                                            : "\"input_ids\"") +
                   " is empty",
               "remove the line or fill it");
  if (line.hasLabels && line.labels.size() != line.ids.size())
    return bad(line.number,
               "expected as many \"labels\" as \"input_ids\", " +
                   std::to_string(line.ids.size()) + ", but found " +
                   std::to_string(line.labels.size()),
               "give every token a label, -100 for no loss; do not shift them");
  return Status::ok();
}

Status DataLines::detect() {
  DataLine line;
  unsigned seen;
  Status status = read(takeLine(), line, seen);
  at = 0;
  number = 0;
  if (!status.isOk())
    return status;
  const bool isText = (seen & SeenText) != 0;
  const bool isPrompt = (seen & (SeenPrompt | SeenCompletion)) != 0;
  const bool isIds = (seen & SeenIds) != 0;
  if (isText + isPrompt + isIds != 1) {
    std::string found = keysOf(seen);
    if (seen == 0)
      for (const std::string &key : ignored)
        found += (&key == &ignored.front() ? ": \"" : ", \"") + key + "\"";
    return bad(1, "expected the keys of one data format but found " + found,
               ShapeRemedy);
  }
  shape = isText     ? DataFormat::Text
          : isPrompt ? DataFormat::PromptCompletion
                     : DataFormat::TokenIds;
  return Status::ok();
}

Status DataLines::next(DataLine &line, bool &more) {
  // Empty lines are allowed at the end, where editors leave them.
  more = content.find_first_not_of(" \t\r\n", at) != std::string_view::npos;
  if (!more)
    return Status::ok();
  unsigned seen;
  if (Status status = read(takeLine(), line, seen); !status.isOk())
    return status;
  return checkShape(line, seen);
}

} // namespace hone::rt
