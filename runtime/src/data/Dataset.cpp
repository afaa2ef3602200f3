//===- Dataset.cpp - From a data file to samples of token ids -------------===//
//
// A prompt and its completion are tokenised as one text, as TRL does, and the
// prompt alone once more to see how many tokens it has. Where a token spans
// the border, the prompt's length still decides; such samples are counted.
//
//===----------------------------------------------------------------------===//

#include "data/Dataset.h"

#include "base/Sha256.h"
#include "text/Utf8.h"

#include <algorithm>
#include <vector>

namespace hone::rt {

namespace {

class IdCollector : public TokenSink {
public:
  explicit IdCollector(std::vector<int32_t> &out) : out(out) {}
  bool append(const int32_t *ids, size_t count) override {
    out.insert(out.end(), ids, ids + count);
    return true;
  }

private:
  std::vector<int32_t> &out;
};

/// Tokenises one file into a cache. Used once.
class Preparation : public TokenSink {
public:
  Preparation(const DatasetOptions &options, const Tokenizer *tokenizer,
              std::string_view content)
      : options(options), tokenizer(tokenizer), content(content) {}

  Status run(const std::string &cachePath, const MappedFile &file);

private:
  bool looksLikeLines() const;
  Status packText();
  Status readLines(const MappedFile &file);
  Status encodeLine(const DataLine &line, const std::string &place);
  Status finishSample();
  Status checkTokenizer(const std::string &place) const;
  Status checkIds(const std::string &place) const;
  void addTemplate(uint32_t count,
                   uint32_t (TokenizerTable::*token)(uint32_t) const);
  void addEos();
  std::string leftOut() const;
  std::string notes() const;
  bool append(const int32_t *newIds, size_t count) override;

  const DatasetOptions &options;
  const Tokenizer *tokenizer;
  std::string_view content;
  DataFormat format = DataFormat::PlainText;
  TokenCacheWriter writer;
  TokenizerScratch scratch;
  std::vector<int32_t> ids, labels, prompt;
  std::vector<std::string> ignoredKeys;
  Status packed = Status::ok();
  uint64_t samples = 0, tooLong = 0, longest = 0, withoutTarget = 0,
           mergedPrompts = 0;
};

} // namespace

static Status badData(std::string place, std::string problem,
                      std::string remedy) {
  return Status::error(ExitCode::BadData, {std::move(place), std::move(problem),
                                           std::move(remedy)});
}

static bool endsWith(std::string_view text, std::string_view ending) {
  return text.size() >= ending.size() &&
         text.substr(text.size() - ending.size()) == ending;
}

/// The name decides when it says so, else whether line 1 is a JSON object.
bool Preparation::looksLikeLines() const {
  if (endsWith(options.path, ".txt"))
    return false;
  if (endsWith(options.path, ".jsonl") || endsWith(options.path, ".json"))
    return true;
  const std::string_view line = content.substr(0, content.find('\n'));
  const size_t first = line.find_first_not_of(" \t");
  return first != std::string_view::npos && line[first] == '{' &&
         Json::parse(line, options.path).isOk();
}

Status Preparation::checkTokenizer(const std::string &place) const {
  if (tokenizer != nullptr)
    return Status::ok();
  return badData(place,
                 std::string("the data is ") + describe(format) +
                     ", but this program was compiled from a model folder "
                     "without a tokenizer",
                 "compile it from a folder with tokenizer.json, or give JSONL "
                 "with \"input_ids\"");
}

Status Preparation::checkIds(const std::string &place) const {
  for (int32_t id : ids)
    if (id >= options.vocabularySize)
      return badData(place,
                     "the tokenizer gives the id " + std::to_string(id) +
                         ", but the model's vocabulary has " +
                         std::to_string(options.vocabularySize) + " entries",
                     "compile the model with the tokenizer that belongs to it");
  return Status::ok();
}

/// Appends the post-processor's tokens before or after a text.
void Preparation::addTemplate(uint32_t count,
                              uint32_t (TokenizerTable::*token)(uint32_t)
                                  const) {
  for (uint32_t i = 0; i < count; ++i)
    ids.push_back(int32_t((tokenizer->contents().*token)(i)));
}

void Preparation::addEos() {
  const int32_t eos = tokenizer->eosToken();
  if (eos >= 0 && (ids.empty() || ids.back() != eos))
    ids.push_back(eos);
}

/// Takes `ids` and `labels` as a sample, or counts why not.
Status Preparation::finishSample() {
  ++samples;
  longest = std::max<uint64_t>(longest, ids.size());
  if (ids.size() > uint64_t(options.maxSequenceLength)) {
    ++tooLong;
    return Status::ok();
  }
  const bool hasTarget =
      std::any_of(labels.begin() + 1, labels.end(),
                  [](int32_t label) { return label != NoTarget; });
  if (!hasTarget) {
    ++withoutTarget;
    return Status::ok();
  }
  return writer.add(ids.data(), labels.data(), ids.size());
}

bool Preparation::append(const int32_t *newIds, size_t count) {
  const size_t length = size_t(options.maxSequenceLength);
  for (size_t i = 0; i < count; ++i) {
    ids.push_back(newIds[i]);
    if (ids.size() < length)
      continue;
    packed = checkIds(options.path);
    labels = ids;
    if (packed.isOk())
      packed = finishSample();
    ids.clear();
    if (!packed.isOk())
      return false;
  }
  return true;
}

Status Preparation::packText() {
  if (Status s = checkTokenizer(options.path); !s.isOk())
    return s;
  const size_t invalid = findInvalidUtf8(content);
  if (invalid != std::string_view::npos) {
    const std::string_view before = content.substr(0, invalid);
    const size_t line =
        1 + size_t(std::count(before.begin(), before.end(), '\n'));
    return badData(options.path + ":" + std::to_string(line),
                   "expected UTF-8 text but byte " + std::to_string(invalid) +
                       " of the file begins no valid character",
                   "convert the file, for example with iconv -t UTF-8");
  }
  // Template tokens are fewer than a sequence has room for only by chance, so
  // they take the same way as text.
  const TokenizerTable &table = tokenizer->contents();
  const auto put = [&](uint32_t token) {
    const int32_t id = int32_t(token);
    return append(&id, 1);
  };
  for (uint32_t i = 0; i < table.beforeCount(); ++i)
    if (!put(table.before(i)))
      return packed;
  Status status = tokenizer->encode(content, options.path, *this, scratch);
  if (!status.isOk() || !packed.isOk())
    return status.isOk() ? packed : status;
  for (uint32_t i = 0; i < table.afterCount(); ++i)
    if (!put(table.after(i)))
      return packed;
  if (ids.empty())
    return Status::ok();
  if (Status s = checkIds(options.path); !s.isOk())
    return s;
  labels = ids;
  return finishSample();
}

Status Preparation::encodeLine(const DataLine &line, const std::string &place) {
  ids.clear();
  const TokenizerTable &table = tokenizer->contents();
  addTemplate(table.beforeCount(), &TokenizerTable::before);
  const size_t begin = ids.size();
  IdCollector collector(ids);
  size_t masked = 0;
  if (format == DataFormat::PromptCompletion) {
    prompt.clear();
    IdCollector promptCollector(prompt);
    if (Status s =
            tokenizer->encode(line.text, place, promptCollector, scratch);
        !s.isOk())
      return s;
    if (Status s = tokenizer->encode(line.text + line.completion, place,
                                     collector, scratch);
        !s.isOk())
      return s;
    masked = begin + prompt.size();
    mergedPrompts += prompt.size() > ids.size() - begin ||
                     !std::equal(prompt.begin(), prompt.end(),
                                 ids.begin() + ptrdiff_t(begin));
  } else if (Status s = tokenizer->encode(line.text, place, collector, scratch);
             !s.isOk()) {
    return s;
  }
  addTemplate(table.afterCount(), &TokenizerTable::after);
  addEos();
  labels = ids;
  std::fill_n(labels.begin(), std::min(masked, labels.size()), NoTarget);
  return checkIds(place);
}

Status Preparation::readLines(const MappedFile &file) {
  // Released pages are read again only if the run needs them; it does not.
  constexpr uint64_t ReleaseBytes = uint64_t(16) << 20;
  DataLines lines(content, options.path, options.vocabularySize);
  if (Status s = lines.detect(); !s.isOk())
    return s;
  format = lines.format();
  if (format != DataFormat::TokenIds)
    if (Status s = checkTokenizer(options.path); !s.isOk())
      return s;
  const uint64_t skipped = uint64_t(content.data() - file.data());
  uint64_t released = 0;
  DataLine line;
  for (bool more = true;;) {
    if (Status s = lines.next(line, more); !s.isOk())
      return s;
    if (!more)
      break;
    if (format == DataFormat::TokenIds) {
      ids.swap(line.ids);
      if (line.hasLabels)
        labels.swap(line.labels);
      else
        labels = ids;
    } else {
      Status s =
          encodeLine(line, options.path + ":" + std::to_string(line.number));
      if (!s.isOk())
        return s;
    }
    if (Status s = finishSample(); !s.isOk())
      return s;
    if (lines.position() - released >= ReleaseBytes) {
      file.release(skipped + released, lines.position() - released);
      released = lines.position();
    }
  }
  ignoredKeys = lines.ignoredKeys();
  return Status::ok();
}

static std::string countOf(uint64_t part, uint64_t all) {
  return std::to_string(part) + " of " + std::to_string(all) + " samples ";
}

/// What is left out and why, a line each.
std::string Preparation::leftOut() const {
  std::string out;
  if (tooLong != 0)
    out += "\n" + countOf(tooLong, samples) + "are longer than " +
           std::to_string(options.maxSequenceLength) +
           " tokens and are left out; the longest has " +
           std::to_string(longest);
  if (withoutTarget != 0)
    out += "\n" + countOf(withoutTarget, samples) +
           "have no target token and are left out";
  return out;
}

std::string Preparation::notes() const {
  std::string out = std::string("data is ") + describe(format) + ": " +
                    std::to_string(writer.samples()) + " samples, " +
                    std::to_string(writer.tokens()) + " tokens, " +
                    std::to_string(writer.targets()) + " of them targets" +
                    leftOut();
  if (mergedPrompts != 0)
    out += "\nin " + countOf(mergedPrompts, samples) +
           "a token spans the end of the prompt and the start of the "
           "completion; end the prompts at a word boundary";
  if (!ignoredKeys.empty()) {
    out += "\nkeys that are not used:";
    for (const std::string &key : ignoredKeys)
      out += " \"" + key + "\"";
  }
  return out;
}

Status Preparation::run(const std::string &cachePath, const MappedFile &file) {
  if (Status s = writer.open(cachePath); !s.isOk())
    return s;
  Status read = looksLikeLines() ? readLines(file) : packText();
  if (!read.isOk())
    return read;
  if (writer.samples() == 0)
    return badData(options.path, "no sample is left to train on" + leftOut(),
                   tooLong != 0 ? "compile with a larger max_seq_length or "
                                  "split the samples"
                                : "give every sample at least one token with "
                                  "a target after its first");
  return writer.commit(format, options.vocabularySize, notes());
}

/// What the samples depend on, and nothing else.
static std::string cacheName(const DatasetOptions &options,
                             const Tokenizer *tokenizer,
                             std::string_view content) {
  static constexpr std::string_view Extensions[] = {".txt", ".jsonl", ".json"};
  std::string key = "token cache 1\n";
  for (std::string_view extension : Extensions)
    key += endsWith(options.path, extension) ? '1' : '0';
  key += "\n" + std::to_string(options.maxSequenceLength) + "\n" +
         std::to_string(options.vocabularySize) + "\n" + Sha256::hex(content) +
         "\n" +
         (tokenizer == nullptr ? std::string("no tokenizer")
                               : Sha256::hex(tokenizer->contents().block()));
  return Sha256::hex(key).substr(0, 32) + ".tokens";
}

Result<Dataset> Dataset::prepare(const DatasetOptions &options,
                                 const Tokenizer *tokenizer) {
  Result<MappedFile> mapped = MappedFile::open(options.path);
  if (!mapped.isOk())
    return mapped.status();
  const MappedFile &file = mapped.value();
  std::string_view content = file.bytes();
  if (content.substr(0, 3) == "\xEF\xBB\xBF") // a byte order mark is no text
    content.remove_prefix(3);
  if (content.find_first_not_of(" \t\r\n") == std::string_view::npos)
    return badData(options.path, "expected training data but the file is empty",
                   "give a text file or a JSONL file with samples");
  Dataset dataset;
  dataset.path =
      options.cacheDirectory + "/" + cacheName(options, tokenizer, content);
  Result<TokenCache> cache = TokenCache::open(
      dataset.path, options.vocabularySize, options.maxSequenceLength);
  dataset.cached = cache.isOk();
  if (!cache.isOk()) {
    if (Status s = createDirectories(options.cacheDirectory); !s.isOk())
      return s;
    Preparation preparation(options, tokenizer, content);
    if (Status s = preparation.run(dataset.path, file); !s.isOk())
      return s;
    cache = TokenCache::open(dataset.path, options.vocabularySize,
                             options.maxSequenceLength);
    if (!cache.isOk())
      return cache.status();
  }
  dataset.cache = std::move(cache.value());
  return dataset;
}

} // namespace hone::rt
