//===- DataSurvey.cpp - A data file as a model's tokens -------------------===//

#include "compiler/hone/DataSurvey.h"

#include "chat/TemplateText.h"
#include "compiler/driver/CommandLine.h"
#include "compiler/text/ChatBuilder.h"
#include "compiler/text/TokenizerBuilder.h"
#include "data/DataFile.h"
#include "data/Gzip.h"

#include "llvm/Support/MathExtras.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

using namespace hone;

/// Rows of one text when its length is not the question.
static constexpr int64_t kTextLength = 512;

SampleLengths::SampleLengths(std::vector<uint32_t> lengths)
    : sorted(std::move(lengths)) {
  std::sort(sorted.begin(), sorted.end());
  sum = std::accumulate(sorted.begin(), sorted.end(), uint64_t(0));
}

int64_t SampleLengths::percentile(double part) const {
  if (sorted.empty())
    return 0;
  const auto rank = size_t(std::ceil(part * double(sorted.size())));
  return sorted[std::clamp<size_t>(rank, 1, sorted.size()) - 1];
}

uint64_t SampleLengths::longerThan(int64_t length) const {
  return uint64_t(sorted.end() -
                  std::upper_bound(sorted.begin(), sorted.end(), length));
}

uint64_t SampleLengths::splitAt(int64_t length) const {
  uint64_t samples = 0;
  for (uint32_t each : sorted)
    samples += llvm::divideCeil(each, uint64_t(length));
  return samples;
}

std::vector<llvm::StringRef> hone::linesOf(llvm::StringRef text) {
  std::vector<llvm::StringRef> lines;
  while (!text.empty()) {
    auto [line, after] = text.split('\n');
    lines.push_back(line);
    text = after;
  }
  return lines;
}

std::vector<std::string> DataReading::options() const {
  std::vector<std::string> out;
  if (!map.empty())
    out.insert(out.end(), {"--map", map});
  if (skipUnusable)
    out.push_back("--skip-unusable");
  return out;
}

DataReading DataReading::among(llvm::ArrayRef<std::string> options) {
  DataReading reading;
  for (size_t i = 0; i < options.size(); ++i) {
    if (options[i] == "--map" && i + 1 < options.size())
      reading.map = options[i + 1];
    reading.skipUnusable |= options[i] == "--skip-unusable";
  }
  return reading;
}

/// Whether the file is one text, as Dataset::prepare will find.
static Result<bool> isOneText(const std::string &path) {
  HONE_ASSIGN(rt::MappedFile file, rt::MappedFile::open(path));
  if (rt::isGzip(file.bytes())) // whose name alone is looked at
    return rt::kindOf(path) == rt::FileKind::Text;
  HONE_ASSIGN(const rt::DataFile data,
              rt::DataFile::open(std::move(file), "", {}));
  return !data.hasRecords();
}

/// Prints all errors but the last, which it returns.
static Status lastOf(const std::vector<Status> &errors, uint64_t count) {
  if (count > 1) {
    llvm::errs() << count << " samples cannot be used";
    if (errors.size() < count)
      llvm::errs() << ", of which these are the first " << errors.size();
    llvm::errs() << "; --skip-unusable leaves them out\n";
  }
  for (size_t i = 0; i + 1 < errors.size(); ++i)
    llvm::errs() << inWords(errors[i]);
  return errors.back();
}

Result<DataSurvey> DataSurvey::make(const std::string &folder,
                                    const SurveyOptions &options) {
  DataSurvey survey;
  survey.text = std::make_unique<Text>();
  Text &text = *survey.text;
  HONE_ASSIGN(text.table, buildTokenizerTable(folder));
  HONE_ASSIGN(text.chat,
              buildChatBlock(folder, options.chatTemplate, text.table));
  if (!text.table.empty()) {
    HONE_ASSIGN(text.tokenizer, rt::Tokenizer::fromTable(text.table, folder));
  }
  // Which rows the model's table has is checked when the program is there.
  rt::DatasetOptions wanted{
      options.path,
      options.longest != 0 ? options.longest
                           : int64_t(rt::DataLines::LongestConversation),
      /*cacheDirectory=*/"", std::numeric_limits<int32_t>::max()};
  wanted.chat = text.chat;
  wanted.chatPlace = folder + ": chat template";
  wanted.parseSpecialTokens = options.parseSpecialTokens;
  if (!options.chatDate.empty())
    rt::parseDate(options.chatDate, wanted.date);
  wanted.mapText = options.reading.map;
  HONE_ASSIGN(wanted.map, rt::KeyMap::parse(options.reading.map));
  // The errors of all samples are seen by leaving these samples out.
  std::vector<Status> errors;
  uint64_t errorCount = 0;
  wanted.skipUnusable = options.reading.skipUnusable || options.shownErrors > 1;
  wanted.onUnusable = [&](const Status &status) {
    if (++errorCount <= options.shownErrors)
      errors.push_back(status);
  };
  if (options.longest == 0) {
    HONE_ASSIGN(const bool isText, isOneText(options.path));
    if (isText)
      wanted.maxSequenceLength = kTextLength;
  }
  Result<rt::Dataset> samples =
      rt::Dataset::prepare(wanted, survey.tokenizer());
  if (!options.reading.skipUnusable && errorCount > 0)
    return lastOf(errors, errorCount);
  HONE_TRY(samples);
  survey.samples = std::move(samples.value());
  if (survey.isPacked() && options.longest == 0 &&
      wanted.maxSequenceLength != kTextLength) { // a compressed one
    wanted.maxSequenceLength = kTextLength;
    HONE_ASSIGN(survey.samples,
                rt::Dataset::prepare(wanted, survey.tokenizer()));
  }
  if (!survey.isPacked()) {
    std::vector<uint32_t> lengths;
    for (uint64_t i = 0; i < survey.samples.sampleCount(); ++i)
      lengths.push_back(uint32_t(survey.samples.sample(i).length));
    survey.samples.release();
    survey.sampleLengths = SampleLengths(std::move(lengths));
  }
  return survey;
}
