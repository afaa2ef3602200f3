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

Status DataLines::bad(ErrorCode code, uint64_t lineNumber,
                      const std::string &problem,
                      const std::string &remedy) const {
  return Status::error(
      code, {path + ":" + std::to_string(lineNumber), problem, remedy});
}

/// Without its line end.
Status DataLines::takeLine(std::string_view &line) {
  const std::string_view start = content.substr(at, LongestLine + 1);
  ++number;
  line = start.substr(0, start.find('\n'));
  if (line.size() > LongestLine)
    return bad(ErrorCode::LineTooLong, number,
               "expected lines of at most " + std::to_string(LongestLine) +
                   " bytes but found a longer one",
               "split the sample, or leave out keys that are not used");
  at = std::min<uint64_t>(at + line.size() + 1, content.size());
  return Status::ok();
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
                        std::vector<int32_t> &out, uint64_t &count) {
  out.clear();
  count = 0;
  for (reader.beginArray(); reader.nextElement();) {
    Json id;
    if (!readScalar(reader, id))
      return false;
    const bool isId =
        id.isInteger() && id.integer() >= 0 && id.integer() < vocabularySize;
    if (isId || (allowNoTarget && id.isInteger() && id.integer() == NoTarget)) {
      if (count++ < keptIds)
        out.push_back(int32_t(id.integer()));
      continue;
    }
    const std::string found =
        id.isInteger() ? std::to_string(id.integer()) : describe(id.kind());
    return reader.failAt(
        ErrorCode::TokenOutOfRange, reader.lastToken(),
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

bool DataLines::isObject(std::string_view line) {
  JsonReader reader(line, "", ErrorCode::BadLine);
  Json::Kind kind;
  return reader.peek(kind) && kind == Json::Kind::Object && reader.skip() &&
         reader.finish();
}

void DataLines::noteIgnored(const std::string &key) {
  const std::string start = key.substr(0, 64);
  if (ignored.size() < 16 &&
      std::find(ignored.begin(), ignored.end(), start) == ignored.end())
    ignored.push_back(start);
}

bool DataLines::readKey(JsonReader &reader, const std::string &key,
                        DataLine &line, unsigned &seen) {
  const unsigned bit = bitOf(key);
  if (bit == 0) {
    noteIgnored(key);
    return reader.skip();
  }
  if ((seen & bit) != 0)
    return reader.failAt(reader.lastToken(),
                         "the key \"" + key + "\" is there twice",
                         "keep one of the two");
  seen |= bit;
  switch (bit) {
  case SeenText:
  case SeenPrompt:
    line.text.reserve(lineBytes); // growing would take three times as much
    return reader.string(line.text);
  case SeenCompletion:
    line.completion.reserve(lineBytes);
    return reader.string(line.completion);
  case SeenIds:
    return readIds(reader, "input_ids", /*allowNoTarget=*/false, line.ids,
                   line.idCount);
  case SeenLabels:
    line.hasLabels = true;
    return readIds(reader, "labels", /*allowNoTarget=*/true, line.labels,
                   line.labelCount);
  default:
    return readMask(reader);
  }
}

Status DataLines::read(std::string_view text, DataLine &line, unsigned &seen) {
  line.number = number;
  lineBytes = text.size();
  line.hasLabels = false;
  seen = 0;
  JsonReader reader(text, path, ErrorCode::BadLine);
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
  return Status::error(*reader.status().errorCode(), std::move(message));
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
    return bad(ErrorCode::MixedFormats, line.number,
               std::string("expected ") + describe(shape) +
                   " as in the first line but found " + keysOf(seen),
               ShapeRemedy);
  const bool isEmpty = shape == DataFormat::Text ? line.text.empty()
                       : shape == DataFormat::PromptCompletion
                           ? line.completion.empty()
                           : line.ids.empty();
  if (isEmpty)
    return bad(ErrorCode::BadLine, line.number,
               std::string("expected a sample but its ") +
                   (shape == DataFormat::Text               ? "\"text\""
                    : shape == DataFormat::PromptCompletion ? "\"completion\""
                                                            : "\"input_ids\"") +
                   " is empty",
               "remove the line or fill it");
  if (line.hasLabels && line.labelCount != line.idCount)
    return bad(ErrorCode::BadLine, line.number,
               "expected as many \"labels\" as \"input_ids\", " +
                   std::to_string(line.idCount) + ", but found " +
                   std::to_string(line.labelCount),
               "give every token a label, -100 for no loss; do not shift them");
  return Status::ok();
}

Status DataLines::detect() {
  DataLine line;
  std::string_view text;
  unsigned seen;
  Status status = takeLine(text);
  if (status.isOk())
    status = read(text, line, seen);
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
    return bad(ErrorCode::MixedFormats, 1,
               "expected the keys of one data format but found " + found,
               ShapeRemedy);
  }
  shape = isText     ? DataFormat::Text
          : isPrompt ? DataFormat::PromptCompletion
                     : DataFormat::TokenIds;
  return Status::ok();
}

Status DataLines::next(DataLine &line, bool &more) {
  more = at < content.size();
  if (!more)
    return Status::ok();
  std::string_view text;
  unsigned seen;
  if (Status status = takeLine(text); !status.isOk())
    return status;
  if (Status status = read(text, line, seen); !status.isOk())
    return status;
  return checkShape(line, seen);
}

} // namespace hone::rt
