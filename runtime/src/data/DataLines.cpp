//===- DataLines.cpp - JSON training data, one sample at a time -----------===//
//
// Samples are read token by token, so a long list of ids costs four bytes an id
// and not a tree node.
//
//===----------------------------------------------------------------------===//

#include "data/DataLines.h"

#include "base/Utf8.h"
#include "data/ConversationReader.h"

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
  SeenMessages = 64,
  SeenConversations = 128,
  SeenInstruction = 256,
  SeenInput = 512,
  SeenOutput = 1024,
  SeenSystem = 2048,
  SeenHistory = 4096,
  SeenTools = 8192,
};

/// Keys that are passed over where the format has other ones.
static constexpr unsigned WeakKeys = SeenInstruction | SeenInput | SeenOutput |
                                     SeenSystem | SeenHistory | SeenTools;

static constexpr const char *ShapeRemedy =
    "write every line as {\"text\"}, {\"prompt\", \"completion\"}, "
    "{\"messages\"}, {\"conversations\"}, {\"instruction\", \"output\"} or "
    "{\"input_ids\", \"labels\"}";

static constexpr struct {
  const char *key;
  unsigned bit;
} Keys[] = {
    {"text", SeenText},
    {"prompt", SeenPrompt},
    {"completion", SeenCompletion},
    {"input_ids", SeenIds},
    {"labels", SeenLabels},
    {"attention_mask", SeenMask},
    {"messages", SeenMessages},
    {"conversations", SeenConversations},
    {"instruction", SeenInstruction},
    {"input", SeenInput},
    {"output", SeenOutput},
    {"system", SeenSystem},
    {"history", SeenHistory},
    {"tools", SeenTools},
};

static constexpr const char *AnswersAlone =
    "write the answers to learn as {\"prompt\", \"completion\"} or "
    "{\"messages\"}, without the others";
static constexpr const char *TextAlone =
    "leave out samples that are more than text, and remove the key from all "
    "others";
static constexpr const char *MaskAsLabels =
    "write the mask as \"labels\", -100 for no loss";
static constexpr const char *OneByOne =
    "write each as a line of its own, without the key";
static constexpr const char *AsTemplate =
    "leave such samples out, or write the template's text as {\"prompt\", "
    "\"completion\"}";

/// Where a key says that a sample is of another kind than its other keys.
enum class Beside { Anything, Turns, Answers };

struct DataLines::OtherKey {
  const char *key, *meaning, *remedy;
  Beside beside = Beside::Anything;
  bool isTruth = false; ///< with other values it says nothing
};

static constexpr const char *BesideTurns =
    "text that the chat template writes beside the turns";

const DataLines::OtherKey DataLines::OtherKeys[] = {
    {"chosen", "an answer that is preferred to another, as for DPO",
     AnswersAlone},
    {"rejected", "an answer that another is preferred to, as for DPO",
     AnswersAlone},
    {"label", "a verdict on the answer, as for KTO", AnswersAlone,
     Beside::Answers, true},
    {"kto_tag", "a verdict on the answer, as for KTO", AnswersAlone,
     Beside::Answers, true},
    {"image", "more than text", TextAlone},
    {"images", "more than text", TextAlone},
    {"audio", "more than text", TextAlone},
    {"audios", "more than text", TextAlone},
    {"video", "more than text", TextAlone},
    {"videos", "more than text", TextAlone},
    {"completion_mask", "a mask of the loss", MaskAsLabels},
    {"assistant_masks", "a mask of the loss", MaskAsLabels},
    {"loss_mask", "a mask of the loss", MaskAsLabels},
    {"position_ids", "where several samples in one begin", OneByOne},
    {"seq_lengths", "where several samples in one begin", OneByOne},
    {"chat_template_kwargs", "settings of the chat template", AsTemplate,
     Beside::Turns},
    {"documents", BesideTurns, AsTemplate, Beside::Turns},
    {"functions", BesideTurns, AsTemplate, Beside::Turns},
};

/// The keys that lines of a format must have, and those that they may have.
static constexpr struct {
  DataFormat format;
  unsigned required, optional;
  const char *filled; ///< the key that must not be empty
} Shapes[] = {
    // An Alpaca line may repeat itself as one text.
    {DataFormat::Alpaca, SeenInstruction | SeenOutput,
     SeenInput | SeenSystem | SeenHistory | SeenText, "output"},
    {DataFormat::Text, SeenText, 0, "text"},
    {DataFormat::PromptCompletion, SeenPrompt | SeenCompletion, 0,
     "completion"},
    {DataFormat::TokenIds, SeenIds, SeenLabels | SeenMask, "input_ids"},
    {DataFormat::Messages, SeenMessages, SeenTools, "messages"},
    {DataFormat::ShareGpt, SeenConversations, SeenSystem | SeenTools,
     "conversations"},
};

static const auto &shapeOf(DataFormat format) {
  size_t i = 0;
  while (Shapes[i].format != format)
    ++i;
  return Shapes[i];
}

const char *describe(DataFormat format) {
  switch (format) {
  case DataFormat::PlainText:
    return "plain text, packed";
  case DataFormat::Text:
    return "JSON with \"text\"";
  case DataFormat::PromptCompletion:
    return "JSON with \"prompt\" and \"completion\"";
  case DataFormat::TokenIds:
    return "JSON with \"input_ids\"";
  case DataFormat::Messages:
    return "conversations with \"messages\"";
  case DataFormat::ShareGpt:
    return "conversations as ShareGPT has them";
  case DataFormat::Alpaca:
    return "instructions as Alpaca has them";
  case DataFormat::Task:
    return "examples of a task";
  }
  return "";
}

static unsigned bitOf(const std::string &key) {
  for (const auto &each : Keys)
    if (key == each.key)
      return each.bit;
  return 0;
}

/// Keys whose values are lists.
static constexpr unsigned ListKeys = SeenIds | SeenLabels | SeenMask |
                                     SeenMessages | SeenConversations |
                                     SeenHistory | SeenTools;

DataLines::DataLines(std::string_view content, std::string path,
                     int64_t vocabularySize, uint64_t keptIds, KeyMap given)
    : path(std::move(path)), vocabularySize(vocabularySize), keptIds(keptIds),
      map(std::move(given)) {
  records = openRecords(content, this->path, [this](const std::string &column) {
    const std::string *name = map.nameOf(column);
    return name && (bitOf(*name) & ListKeys) != 0;
  });
}

Status DataLines::bad(ErrorCode code, uint64_t lineNumber,
                      const std::string &problem,
                      const std::string &remedy) const {
  return Status(code, path + ":" + std::to_string(lineNumber), problem, remedy);
}

/// Reads only the kind of an array or an object: as a tree it would take a
/// hundred times its bytes, and no key asks for one.
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

bool DataLines::isKey(const std::string &name) { return bitOf(name) != 0; }

bool DataLines::isObject(std::string_view line) {
  JsonReader reader(line, "", ErrorCode::BadLine);
  Json::Kind kind;
  return reader.peek(kind) && kind == Json::Kind::Object && reader.skip() &&
         reader.finish();
}

void DataLines::noteIgnored(const std::string &key) {
  const std::string start = shortened(key, 64);
  if (ignored.size() < 16 &&
      std::find(ignored.begin(), ignored.end(), start) == ignored.end())
    ignored.push_back(start);
}

bool DataLines::readKey(JsonReader &reader, const std::string &given,
                        DataLine &line, unsigned &seen) {
  const std::string *name = map.nameOf(given);
  if (name == nullptr) {
    noteIgnored(given);
    return reader.skip();
  }
  const std::string &key = *name;
  const unsigned bit = bitOf(key);
  if ((bit & WeakKeys) != 0 && !isDetected) {
    seen |= bit;
    return reader.skip();
  }
  for (const OtherKey &other : OtherKeys)
    if (key == other.key)
      return readOther(reader, other);
  const unsigned own =
      isDetected ? shapeOf(shape).required | shapeOf(shape).optional : ~0u;
  if (bit == 0 || ((bit & WeakKeys) != 0 && (bit & own) == 0)) {
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
    if (shape == DataFormat::Alpaca) // the line once more, as one text
      return reader.skip();
    [[fallthrough]];
  case SeenPrompt:
  case SeenInstruction:
    line.text.reserve(lineBytes); // growing would take three times as much
    return reader.string(line.text);
  case SeenCompletion:
  case SeenOutput:
    line.completion.reserve(lineBytes);
    return reader.string(line.completion);
  case SeenInput:
    return reader.string(line.input);
  case SeenSystem:
    return reader.string(line.system);
  case SeenMessages:
  case SeenConversations:
    return readTurns(reader, MostTurns, map, line.turns,
                     [this](const std::string &name) { noteIgnored(name); });
  case SeenTools:
    return readTools(reader, path, line.tools);
  case SeenHistory:
    return readEmpty(reader, key);
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

bool DataLines::readOther(JsonReader &reader, const OtherKey &other) {
  const bool hasTurns = isDetected && (shape == DataFormat::Messages ||
                                       shape == DataFormat::ShareGpt);
  const bool hasAnswers =
      hasTurns || (isDetected && shape != DataFormat::Text &&
                   shape != DataFormat::TokenIds);
  const uint64_t start = reader.lastValue();
  Json::Kind kind;
  if (!reader.peek(kind))
    return false;
  if ((other.isTruth && kind != Json::Kind::Bool) ||
      (other.beside == Beside::Turns && !hasTurns) ||
      (other.beside == Beside::Answers && !hasAnswers)) {
    noteIgnored(other.key);
    return reader.skip();
  }
  if (!other.isTruth && isEmptyValue(reader))
    return true;
  return reader.ok() &&
         reader.failAt(ErrorCode::OtherData, start,
                       std::string("\"") + other.key + "\" is " +
                           other.meaning + ", which Hone does not train on",
                       other.remedy);
}

/// An unsupported key that would change a conversation must be empty.
bool DataLines::readEmpty(JsonReader &reader, const std::string &key) {
  const uint64_t start = reader.lastValue();
  if (isEmptyValue(reader))
    return true;
  return reader.ok() && reader.failAt(ErrorCode::UnsupportedTurn, start,
                                      "\"" + key + "\" is not supported",
                                      "write earlier turns as \"messages\"");
}

Status DataLines::read(std::string_view text, DataLine &line, unsigned &seen) {
  line.number = records->number();
  lineBytes = text.size();
  line.hasLabels = false;
  line.input.clear();
  line.system.clear();
  line.turns.clear();
  line.tools = Json();
  seen = 0;
  JsonReader reader(text, path, ErrorCode::BadLine);
  std::string key;
  for (reader.beginObject(); reader.nextMember(key);)
    if (!readKey(reader, key, line, seen))
      break;
  if (reader.ok() && reader.finish())
    return Status::ok();
  return records->moved(reader.status());
}

static std::string keysOf(unsigned seen) {
  std::string out;
  for (const auto &each : Keys)
    if ((seen & each.bit) != 0)
      out += std::string(out.empty() ? "\"" : ", \"") + each.key + "\"";
  return out.empty() ? "none of these keys" : out;
}

Status DataLines::checkShape(const DataLine &line, unsigned seen) const {
  const auto &wanted = shapeOf(shape);
  if ((seen & wanted.required) != wanted.required ||
      (seen & ~(wanted.required | wanted.optional)) != 0)
    return bad(ErrorCode::MixedFormats, line.number,
               std::string("expected ") + describe(shape) +
                   " as in the first " + records->unit() + " but found " +
                   keysOf(seen),
               ShapeRemedy);
  const bool isEmpty =
      shape == DataFormat::Text       ? line.text.empty()
      : shape == DataFormat::TokenIds ? line.ids.empty()
      : shape == DataFormat::Messages || shape == DataFormat::ShareGpt
          ? line.turns.empty()
          : line.completion.empty();
  if (isEmpty)
    return bad(ErrorCode::BadLine, line.number,
               std::string("expected a sample but its \"") + wanted.filled +
                   "\" is empty",
               "remove the line or fill it");
  if (line.hasLabels && line.labelCount != line.idCount)
    return bad(ErrorCode::BadLine, line.number,
               "expected as many \"labels\" as \"input_ids\", " +
                   std::to_string(line.idCount) + ", but found " +
                   std::to_string(line.labelCount),
               "give every token a label, -100 for no loss; do not shift them");
  return Status::ok();
}

Status DataLines::detect(bool passesOver) {
  static constexpr unsigned MostPassedOver = 1000;
  Status first = Status::ok();
  for (unsigned i = 0; i <= (passesOver ? MostPassedOver : 0); ++i) {
    std::string_view text;
    bool more = true;
    // How long lines may be is known with their format.
    Status status = records->next(text, more, LongestLine);
    if (status.isOk() && !more)
      status = Status(
          ErrorCode::EmptyData, path,
          std::string("expected training data but the ") +
              (isTable(kindOf(path)) ? "table has no rows" : "array is empty"),
          "give a file with samples");
    if (status.isOk())
      status = detectFrom(text);
    if (first.isOk())
      first = status;
    if (status.isOk() || !more || records->isBroken()) {
      if (status.isOk())
        first = status;
      break;
    }
  }
  records->rewind();
  return first;
}

Status DataLines::detectFrom(std::string_view text) {
  DataLine line;
  unsigned seen = 0;
  HONE_TRY(read(text, line, seen));
  const unsigned alpaca = SeenInstruction | SeenOutput;
  unsigned found = 0;
  for (const auto &each : Shapes)
    if (each.format == DataFormat::Alpaca
            ? (seen & alpaca) == alpaca
            : (seen & each.required) != 0 && (each.format != DataFormat::Text ||
                                              (seen & alpaca) != alpaca)) {
      ++found;
      shape = each.format;
    }
  if (found == 0 && (seen & alpaca) != 0) {
    ++found; // which checkShape will say is not whole
    shape = DataFormat::Alpaca;
  }
  if (found != 1) {
    std::string keys = keysOf(seen);
    if (seen == 0)
      for (const std::string &key : ignored)
        keys += (&key == &ignored.front() ? ": \"" : ", \"") + key + "\"";
    return bad(ErrorCode::MixedFormats, line.number,
               "expected the keys of one data format but found " + keys,
               std::string(ShapeRemedy) +
                   (seen == 0 && !ignored.empty()
                        ? "; --map prompt=question,completion=answer reads "
                          "keys of other names"
                        : ""));
  }
  if (shape == DataFormat::Messages || shape == DataFormat::ShareGpt ||
      shape == DataFormat::Alpaca)
    limitTo(LongestConversation);
  isDetected = true;
  return Status::ok();
}

Status DataLines::next(DataLine &line, bool &more) {
  std::string_view text;
  unsigned seen;
  line.number = 0; // until it is known
  if (Status status = records->next(text, more, longest);
      !status.isOk() || !more)
    return status;
  HONE_TRY(read(text, line, seen));
  return checkShape(line, seen);
}

} // namespace hone::rt
