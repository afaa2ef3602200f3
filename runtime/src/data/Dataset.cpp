//===- Dataset.cpp - From a data file to samples of token ids -------------===//
//
// A prompt and its completion are tokenised as one text, as TRL does, and the
// prompt alone once more to see how many tokens it has. Where a token spans
// the border, the prompt's length still decides; such samples are counted.
//
//===----------------------------------------------------------------------===//

#include "data/Dataset.h"

#include "base/Counted.h"
#include "base/Sha256.h"
#include "base/Utf8.h"
#include "data/Conversation.h"
#include "data/ConversationFile.h"
#include "data/DataFile.h"
#include "data/SampleIds.h"
#include "data/Unusable.h"
#include "platform/Files.h"
#include "text/TextBytes.h"

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <vector>

namespace hone::rt {

namespace {

/// Tokenises one file into a cache. Used once.
class Preparation : public TokenSink {
public:
  Preparation(const DatasetOptions &options, const Tokenizer *tokenizer,
              const DataFile &input)
      : options(options), tokenizer(tokenizer), input(input),
        content(input.content()), sample(keptIds(options)),
        prompt(keptIds(options)) {}

  /// `cachePath` may be empty; see TokenCacheWriter.
  Result<MappedFile> run(const std::string &directory,
                         const std::string &cachePath);

private:
  Status checkText();
  Status packText();
  Status readLines();
  Status addLine(DataLine &line, const std::string &place);
  bool passesOver(const Status &status);
  Status readTask();
  Status addExample(const CandidateExample &example);
  Status encodeLine(DataLine &line, const std::string &place);
  Status openChat();
  Status addConversation(DataLine &line, const std::string &place);
  /// The ids that a sample of a line keeps: all if it may be split.
  static uint64_t keptIds(const DatasetOptions &options) {
    return options.tooLong == TooLong::Split
               ? UINT64_MAX
               : uint64_t(options.maxSequenceLength);
  }
  Status finishSample(uint64_t length, const std::string &place);
  Status finishText(const std::string &place);
  Status refuseLong(uint64_t length, const std::string &place) const;
  Status addPart(uint64_t begin, uint64_t length);
  Status checkTokenizer(const std::string &place) const;
  Status checkIds(const std::string &place) const;
  bool put(int32_t id) { return append(&id, 1); }
  bool addTemplate(uint32_t count,
                   uint32_t (TokenizerTable::*token)(uint32_t) const);
  Status encodeText(std::string_view text, const std::string &place,
                    TokenSink &sink);
  Status checkSpecialTokens() const;
  bool addEos();
  std::string leftOut() const;
  std::string notes() const;
  bool append(const int32_t *newIds, size_t count) override;
  bool passed(size_t bytes) override;
  bool isOneText() const { return format == DataFormat::PlainText; }
  bool splitsTexts() const {
    return isOneText() ||
           (format == DataFormat::Text && (options.tooLong == TooLong::ByKind ||
                                           options.tooLong == TooLong::Split));
  }
  Status takePiece();
  Status letGo(uint64_t bytes);

  const DatasetOptions &options;
  const Tokenizer *tokenizer;
  const DataFile &input;
  std::string_view content;
  DataFormat format = DataFormat::PlainText;
  TokenCacheWriter writer;
  TokenizerScratch scratch;
  SampleIds sample, prompt;
  std::vector<int32_t> labels;
  std::vector<std::string> ignoredKeys;
  std::optional<ChatModel> chat;
  ConversationCounts counts;
  UnusableSamples unusable;
  std::string textPlace;       ///< of the text whose ids come
  uint64_t ofText = 0;         ///< ids of it that pieces have
  Status taken = Status::ok(); ///< why append() said no
  uint64_t samples = 0, tooLong = 0, longest = 0, withoutTarget = 0,
           mergedPrompts = 0, parts = 0, specialAsText = 0;
  uint64_t ofLine = 0;           ///< samples that the line at hand gave
  std::vector<uint64_t> ofLabel; ///< examples
};

} // namespace

Status Preparation::checkTokenizer(const std::string &place) const {
  if (tokenizer != nullptr)
    return Status::ok();
  return Status(ErrorCode::NoTokenizer, place,
                std::string("the data is ") + describe(format) +
                    ", but this program was compiled from a model folder "
                    "without a tokenizer",
                "compile it from a folder with tokenizer.json, or give JSONL "
                "with \"input_ids\"");
}

Status Preparation::checkIds(const std::string &place) const {
  return checkLargest(sample, options.vocabularySize, place);
}

/// Appends the post-processor's tokens before or after a text. Returns as
/// append().
bool Preparation::addTemplate(uint32_t count,
                              uint32_t (TokenizerTable::*token)(uint32_t)
                                  const) {
  for (uint32_t i = 0; i < count; ++i)
    if (!put(int32_t((tokenizer->contents().*token)(i))))
      return false;
  return true;
}

/// Returns as append().
bool Preparation::addEos() {
  const int32_t eos = tokenizer->eosToken();
  const bool isThere = sample.count > 0 && sample.last == eos;
  return eos < 0 || isThere || put(eos);
}

/// Takes a part of the sample and `labels`, or counts why not.
Status Preparation::addPart(uint64_t begin, uint64_t length) {
  const auto first = labels.begin() + ptrdiff_t(begin);
  const bool hasTarget =
      std::any_of(first + 1, first + ptrdiff_t(length),
                  [](int32_t label) { return label != NoTarget; });
  if (!hasTarget) {
    ++withoutTarget;
    return Status::ok();
  }
  return writer.add(sample.kept.data() + begin, labels.data() + begin, length,
                    ofLine++ > 0 ? SampleMark::Continues : 0);
}

Status Preparation::refuseLong(uint64_t length,
                               const std::string &place) const {
  return Status(ErrorCode::SampleTooLong, place,
                "expected a sample of at most " +
                    std::to_string(options.maxSequenceLength) +
                    " tokens but found " + std::to_string(length),
                "split it, compile with a larger max_seq_length, or "
                "give another --too-long");
}

/// Takes the sample of `length` tokens and `labels`.
Status Preparation::finishSample(uint64_t length, const std::string &place) {
  const auto most = uint64_t(options.maxSequenceLength);
  ++samples;
  longest = std::max(longest, length);
  if (length <= most)
    return addPart(0, length);
  ++tooLong;
  switch (options.tooLong) {
  case TooLong::ByKind: // texts come in pieces
  case TooLong::LeaveOut:
    return Status::ok();
  case TooLong::Refuse:
    return refuseLong(length, place);
  case TooLong::Cut:
    return addPart(0, most);
  case TooLong::Split:
    break;
  }
  for (uint64_t begin = 0; begin < length; begin += most) {
    ++parts;
    HONE_TRY(addPart(begin, std::min(most, length - begin)));
  }
  return Status::ok();
}

/// Ends the work on `content` up to `bytes`.
Status Preparation::letGo(uint64_t bytes) {
  const MappedFile &file = input.file();
  file.releaseBehind(uint64_t(content.data() - file.data()) + bytes);
  return options.onProgress ? options.onProgress() : Status::ok();
}

bool Preparation::passed(size_t bytes) {
  taken = isOneText() ? letGo(bytes) : Status::ok();
  return taken.isOk();
}

/// Takes the sample as a piece of a text.
Status Preparation::takePiece() {
  HONE_TRY(checkIds(textPlace));
  labels = sample.kept;
  if (isOneText())
    ofLine = 0; // there are no lines whose pieces belong together
  ofText += sample.count;
  ++(isOneText() ? samples : parts);
  HONE_TRY(addPart(0, sample.count));
  sample.clear();
  return Status::ok();
}

/// A text that is split is never held as a whole.
bool Preparation::append(const int32_t *newIds, size_t count) {
  if (!splitsTexts())
    return sample.append(newIds, count);
  for (size_t i = 0; i < count && taken.isOk(); ++i) {
    if (sample.count == uint64_t(options.maxSequenceLength))
      taken = takePiece();
    sample.add(newIds[i]);
  }
  return taken.isOk();
}

/// Takes the end of a text whose ids append() had.
Status Preparation::finishText(const std::string &place) {
  HONE_TRY(taken);
  if (isOneText())
    return sample.count == 0 ? Status::ok() : takePiece();
  if (ofText == 0) // it was not split
    return finishSample(sample.count, place);
  ++samples;
  ++tooLong;
  HONE_TRY(takePiece());
  longest = std::max(longest, ofText);
  return Status::ok();
}

/// The tokenizer checks too, but does not know lines.
Status Preparation::checkText() {
  uint64_t line = 1;
  for (uint64_t at = 0; at < content.size();) {
    std::string_view part = content.substr(at, MappedFile::VisitBytes);
    while (at + part.size() < content.size() && !part.empty() &&
           isUtf8Continuation(content[at + part.size()]) &&
           part.size() > MappedFile::VisitBytes - 4)
      part.remove_suffix(1);
    const size_t invalid = findNoText(part);
    const std::string_view valid = part.substr(0, invalid);
    line += uint64_t(std::count(valid.begin(), valid.end(), '\n'));
    if (invalid != std::string_view::npos)
      return noTextAt(options.path + ":" + std::to_string(line), part[invalid],
                      at + invalid);
    at += part.size();
    HONE_TRY(letGo(at));
  }
  return Status::ok();
}

Status Preparation::encodeText(std::string_view text, const std::string &place,
                               TokenSink &sink) {
  return tokenizer->encode(
      text, place, sink, scratch,
      {options.parseSpecialTokens, nullptr, &specialAsText});
}

/// Ids have none, and conversations those of the template.
Status Preparation::checkSpecialTokens() const {
  if (!options.parseSpecialTokens)
    return Status::ok();
  return Status(
      ErrorCode::OptionsDisagree, "--special-tokens",
      std::string("only texts are read for special tokens, but the data is ") +
          describe(format),
      "leave it out");
}

Status Preparation::packText() {
  HONE_TRY(input.refuseUnnamedTable());
  HONE_TRY(checkTokenizer(options.path));
  HONE_TRY(checkText());
  // Template tokens are fewer than a sequence has room for only by chance, so
  // they take the same way as text.
  textPlace = options.path;
  const bool parse = options.parseSpecialTokens;
  if (addTemplate(tokenizer->missingBefore(content, parse),
                  &TokenizerTable::before)) {
    HONE_TRY(encodeText(content, options.path, *this));
    if (taken.isOk())
      addTemplate(tokenizer->missingAfter(content, parse),
                  &TokenizerTable::after);
  }
  return finishText(options.path);
}

/// Leaves the text with its completion in `line.text`. Of a text that is split
/// the sample is the last piece then.
Status Preparation::encodeLine(DataLine &line, const std::string &place) {
  sample.clear();
  textPlace = place;
  ofText = 0;
  taken = Status::ok();
  const bool parse = options.parseSpecialTokens;
  addTemplate(tokenizer->missingBefore(line.text, parse),
              &TokenizerTable::before);
  const uint64_t begin = sample.count;
  uint64_t masked = 0;
  // A text that is passed over at its end would have left pieces.
  const bool checksFirst = splitsTexts() && options.skipUnusable;
  if (format != DataFormat::Text || checksFirst) {
    prompt.clear();
    const uint64_t before = specialAsText; // it is counted with the whole
    HONE_TRY(encodeText(line.text, place, prompt));
    specialAsText = before;
  }
  if (format != DataFormat::Text) {
    line.text += line.completion;
    masked = begin + prompt.count;
  }
  HONE_TRY(encodeText(line.text, place, *this));
  HONE_TRY(taken);
  if (format != DataFormat::Text) {
    const auto text = sample.kept.begin() +
                      ptrdiff_t(std::min<uint64_t>(begin, sample.kept.size()));
    const auto common = std::min(ptrdiff_t(prompt.kept.size()),
                                 ptrdiff_t(sample.kept.end() - text));
    mergedPrompts +=
        prompt.count > sample.count - begin ||
        !std::equal(prompt.kept.begin(), prompt.kept.begin() + common, text);
  }
  addTemplate(tokenizer->missingAfter(line.text, parse),
              &TokenizerTable::after);
  addEos();
  labels = sample.kept;
  std::fill_n(labels.begin(), std::min<uint64_t>(masked, labels.size()),
              NoTarget);
  return checkIds(place);
}

Status Preparation::openChat() {
  if (options.chat.empty())
    return Status::ok();
  Result<ChatModel> opened = ChatModel::open(options.chat, *tokenizer,
                                             options.chatPlace, options.date);
  if (!opened.isOk())
    return opened.status();
  chat = std::move(opened.value());
  sample = SampleIds(UINT64_MAX); // prefixes are looked for in all of it
  return Status::ok();
}

Status Preparation::addConversation(DataLine &line, const std::string &place) {
  if (!chat)
    return Status(
        ErrorCode::NoChatTemplate, place,
        std::string("the data is ") + describe(format) +
            ", but this program was compiled from a model folder without a "
            "chat template",
        "compile with --set chat_template=plain or another preset, put the "
        "model's chat_template into its folder, or write the data as "
        "{\"prompt\", \"completion\"}");
  HONE_TRY(joinSystem(line, place));
  ConversationEncoder encoder(*chat, *tokenizer, scratch, sample, counts);
  return encoder.encode(
      std::move(line.turns), line.tools, place,
      [&](const std::vector<TokenSpan> &spans) {
        labels.assign(std::min(sample.count, keptIds(options)), NoTarget);
        for (const TokenSpan &span : spans)
          for (uint64_t i = span.begin; i < span.end && i < labels.size(); ++i)
            labels[i] = sample.kept[i];
        HONE_TRY(checkIds(place));
        return finishSample(sample.count, place);
      });
}

/// Stanford Alpaca's own words, for models without a chat template.
static std::string alpacaPrompt(const DataLine &line) {
  const bool hasInput = !line.input.empty();
  std::string out = "Below is an instruction that describes a task";
  out += hasInput ? ", paired with an input that provides further context. "
                  : ". ";
  out += "Write a response that appropriately completes the request.\n\n"
         "### Instruction:\n" +
         line.text + "\n\n";
  if (hasInput)
    out += "### Input:\n" + line.input + "\n\n";
  return out + "### Response:";
}

/// Makes turns as LLaMA-Factory does: the input in a line of its own.
static void makeTurns(DataLine &line) {
  line.turns.resize(2);
  line.turns[0].role = ChatRole::User;
  line.turns[0].content = std::move(line.text);
  if (!line.input.empty())
    line.turns[0].content += "\n" + line.input;
  line.turns[1].role = ChatRole::Assistant;
  line.turns[1].content = std::move(line.completion);
}

Status Preparation::addLine(DataLine &line, const std::string &place) {
  const bool isChat =
      format == DataFormat::Messages || format == DataFormat::ShareGpt;
  ofLine = 0;
  if (format == DataFormat::Alpaca && chat)
    makeTurns(line);
  if (isChat || (format == DataFormat::Alpaca && chat))
    return addConversation(line, place);
  if (format == DataFormat::TokenIds) {
    sample.kept.swap(line.ids);
    if (line.hasLabels)
      labels.swap(line.labels);
    else
      labels = sample.kept;
    return finishSample(line.idCount, place);
  }
  if (format == DataFormat::Alpaca) {
    if (!line.system.empty())
      return Status(ErrorCode::NoChatTemplate, place,
                    "the line has a \"system\" text, for which "
                    "Alpaca's own prompt has no place",
                    "leave it out, or compile a model with a chat "
                    "template");
    line.text = alpacaPrompt(line);
  }
  HONE_TRY(encodeLine(line, place));
  return finishText(place);
}

/// Whether an error is of a sample that is left out, which is then counted.
bool Preparation::passesOver(const Status &status) {
  if (status.isOk() || !options.skipUnusable ||
      !UnusableSamples::isOfSample(status))
    return false;
  unusable.add(status);
  if (options.onUnusable)
    options.onUnusable(status);
  return true;
}

Status Preparation::readLines() {
  // A tab at the end of a table may be an empty cell.
  DataLines lines(
      isTable(kindOf(options.path)) ? content : input.withoutSpaceAtEnd(),
      options.path, options.vocabularySize, keptIds(options), options.map);
  HONE_TRY(lines.detect(options.skipUnusable));
  format = lines.format();
  if (options.tooLong == TooLong::Split && !splitsTexts())
    lines.limitTo(DataLines::LongestConversation);
  if (format != DataFormat::TokenIds)
    HONE_TRY(checkTokenizer(options.path));
  const bool isChat =
      format == DataFormat::Messages || format == DataFormat::ShareGpt;
  if (isChat || format == DataFormat::Alpaca)
    HONE_TRY(openChat());
  if (isChat || chat || format == DataFormat::TokenIds)
    HONE_TRY(checkSpecialTokens());
  uint64_t released = 0;
  DataLine line;
  for (bool more = true; more;) {
    Status status = lines.next(line, more);
    if (status.isOk() && !more)
      break;
    if (!status.isOk()) {
      more = !lines.isBroken();
      if (!more || !passesOver(status))
        return status;
    } else {
      const ConversationCounts before = counts;
      const uint64_t spelled = specialAsText;
      status = addLine(line, options.path + ":" + std::to_string(line.number));
      if (!status.isOk()) {
        if (!passesOver(status))
          return status;
        counts = before;
        specialAsText = spelled;
      }
    }
    if (lines.position() - released >= MappedFile::VisitBytes) {
      HONE_TRY(letGo(lines.position()));
      released = lines.position();
    }
  }
  ignoredKeys = lines.ignoredKeys();
  return Status::ok();
}

//===----------------------------------------------------------------------===//
// Tasks
//===----------------------------------------------------------------------===//

/// All of its candidates, or none: a comparison has each of them.
Status Preparation::addExample(const CandidateExample &example) {
  ++samples;
  const uint64_t length = example.longest;
  longest = std::max(longest, length);
  if (length > uint64_t(options.maxSequenceLength)) {
    if (options.tooLong == TooLong::Refuse)
      return refuseLong(length, example.place);
    ++tooLong;
    if (options.tooLong != TooLong::Cut)
      return Status::ok();
  }
  ++ofLabel[example.label];
  for (size_t label = 0; label < example.candidates.size(); ++label) {
    const Candidate &own = example.candidates[label];
    const unsigned continues = label > 0 ? SampleMark::Continues : 0;
    const unsigned wrong = label != example.label ? SampleMark::Wrong : 0;
    HONE_TRY(writer.add(own.ids.data(), own.labels.data(), own.ids.size(),
                        uint16_t(continues | wrong)));
  }
  return Status::ok();
}

Status Preparation::readTask() {
  format = DataFormat::Task;
  HONE_TRY(checkTokenizer(options.path));
  ofLabel.assign(options.task->labelCount(), 0);
  const std::unique_ptr<CandidateReader> reader = options.task->read(
      {input.withoutSpaceAtEnd(), options.path, *tokenizer, scratch,
       options.vocabularySize, uint64_t(options.maxSequenceLength)});
  CandidateExample example;
  uint64_t released = 0;
  for (bool more = true;;) {
    const Status status = reader->next(example, more);
    if (status.isOk() && !more)
      return status;
    if (status.isOk())
      HONE_TRY(addExample(example));
    else if (!reader->goesOn() || !passesOver(status))
      return status;
    if (reader->position() - released >= MappedFile::VisitBytes) {
      HONE_TRY(letGo(reader->position()));
      released = reader->position();
    }
  }
}

/// "examples of rte: 277 with 2 candidates each, 146 Yes, 131 No, "
static std::string describeExamples(const CandidateFormat &task,
                                    const std::vector<uint64_t> &ofLabel) {
  uint64_t all = 0;
  std::string each;
  for (size_t i = 0; i < ofLabel.size(); ++i) {
    all += ofLabel[i];
    each += std::to_string(ofLabel[i]) + " " + task.word(i) + ", ";
  }
  return std::string("examples of ") + task.name() + ": " +
         std::to_string(all) + " with " + std::to_string(ofLabel.size()) +
         " candidates each, " + each;
}

/// Names the format in the file's words: keys, or columns of a table.
static std::string describeIn(const std::string &path, DataFormat format) {
  static constexpr std::string_view InJson = "JSON with";
  const std::string text = describe(format);
  return isTable(kindOf(path)) && text.compare(0, InJson.size(), InJson) == 0
             ? "a table with" + text.substr(InJson.size())
             : text;
}

/// The samples left out, with the reasons, a line each.
std::string Preparation::leftOut() const {
  std::string out;
  if (tooLong != 0)
    out += "\n" + countedOf(tooLong, samples, "sample") +
           plural(tooLong, " is", " are") + " longer than " +
           std::to_string(options.maxSequenceLength) + " tokens and " +
           plural(tooLong, "is", "are") + " " +
           (options.tooLong == TooLong::Cut && options.task
                ? "cut at the beginning"
            : options.tooLong == TooLong::Cut ? "cut at the end"
            : parts != 0 ? "split into " + counted(parts, "sample")
                         : "left out") +
           "; the longest has " + std::to_string(longest);
  if (withoutTarget != 0)
    out += "\n" +
           countedOf(withoutTarget, samples + parts - (parts ? tooLong : 0),
                     "sample") +
           plural(withoutTarget, " has no target token and is",
                  " have no target token and are") +
           " left out";
  return out + counts.leftOut() + unusable.notes();
}

std::string Preparation::notes() const {
  std::string out =
      "data is " +
      (options.task ? describeExamples(*options.task, ofLabel)
                    : describeIn(options.path, format) + ": " +
                          counted(writer.samples(), "sample") + ", ") +
      counted(writer.tokens(), "token") + ", " +
      std::to_string(writer.targets()) + " of them targets" + leftOut();
  if (specialAsText != 0)
    out += "\n" + describeSpecialAsText(specialAsText);
  if (mergedPrompts != 0)
    out += "\nin " + countedOf(mergedPrompts, samples, "sample") +
           " a token spans the end of the prompt and the start of the "
           "completion; end the prompts at a word boundary";
  if (format == DataFormat::Alpaca)
    out += chat ? "\ninstructions are turns of the model's chat template"
                : "\ninstructions are written with Alpaca's own prompt, since "
                  "the model has no chat template";
  if (chat)
    out += counts.notes();
  if (!ignoredKeys.empty()) {
    out += "\nkeys that are not used:";
    for (const std::string &key : ignoredKeys)
      out += " \"" + key + "\"";
  }
  return out;
}

Result<MappedFile> Preparation::run(const std::string &directory,
                                    const std::string &cachePath) {
  HONE_TRY(writer.open(directory, cachePath));
  Status read = options.task         ? readTask()
                : input.hasRecords() ? readLines()
                                     : packText();
  if (read.isOk() && options.onProgress)
    read = options.onProgress(); // all that it needed is still there
  HONE_TRY(read);
  if (writer.samples() == 0)
    return Status(ErrorCode::NoSample, options.path,
                  "no sample is left to train on" + leftOut(),
                  tooLong != 0 ? "compile with a larger max_seq_length or "
                                 "split the samples"
                               : "give every sample at least one token with "
                                 "a target after its first");
  return writer.commit(format, options.vocabularySize, notes());
}

/// The cache's name: a digest of all that the samples depend on, and nothing
/// else.
static std::string nameOf(const DatasetOptions &options,
                          const Tokenizer *tokenizer, const MappedFile &file) {
  std::string key = "token cache 5\n";
  if (options.task)
    key += std::string("task ") + options.task->name() + "\n";
  if (options.parseSpecialTokens)
    key += "special tokens\n";
  if (options.skipUnusable)
    key += "skip unusable\n";
  if (!options.map.isEmpty())
    key += "map " + options.mapText + "\n";
  key += std::to_string(int(kindOf(options.path))) + "\n" +
         std::to_string(options.maxSequenceLength) + "\n" +
         std::to_string(options.vocabularySize) + "\n" +
         std::to_string(int(options.tooLong)) + "\n" +
         std::to_string(options.date.year * 10000 + options.date.month * 100 +
                        options.date.day) +
         "\n" + Sha256::hex(options.chat) + "\n" + digestOf(file) + "\n" +
         (tokenizer == nullptr ? std::string("no tokenizer")
                               : Sha256::hex(tokenizer->contents().block()));
  return Sha256::hex(key).substr(0, 32) + ".tokens";
}

/// The cache of this name; if there is none, `make` writes it.
Result<Dataset> Dataset::fromCache(const DatasetOptions &options,
                                   const std::string &name, const Make &make) {
  Dataset dataset;
  dataset.cacheName = name;
  const auto open = [&](Result<MappedFile> from) -> Status {
    HONE_TRY(from);
    Result<TokenCache> cache =
        TokenCache::open(std::move(from.value()), options.vocabularySize,
                         options.maxSequenceLength);
    if (cache.isOk())
      dataset.cache = std::move(cache.value());
    return cache.status();
  };
  std::string directory = options.cacheDirectory, path;
  if (directory.empty()) {
    directory = platform::temporaryFolder();
  } else {
    path = directory + "/" + dataset.cacheName;
    removeStrayTemporaries(directory, TokenCache::isName);
    dataset.cached = open(MappedFile::open(path)).isOk();
    if (dataset.cached)
      return dataset;
    HONE_TRY(createDirectories(directory, FolderSync::Later));
  }
  HONE_TRY(open(make(directory, path)));
  return dataset;
}

Result<Dataset> Dataset::prepare(const DatasetOptions &options,
                                 const Tokenizer *tokenizer) {
  HONE_ASSIGN(MappedFile file, MappedFile::open(options.path));
  HONE_TRY(DataFile::check(file));
  const std::string name = nameOf(options, tokenizer, file);
  return fromCache(
      options, name,
      [&](const std::string &directory,
          const std::string &path) -> Result<MappedFile> {
        HONE_ASSIGN(
            const DataFile input,
            DataFile::open(std::move(file), directory, options.onProgress));
        return Preparation(options, tokenizer, input).run(directory, path);
      });
}

} // namespace hone::rt
