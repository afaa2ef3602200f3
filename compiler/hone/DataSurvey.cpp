//===- DataSurvey.cpp - A data file as a model's tokens -------------------===//

#include "compiler/hone/DataSurvey.h"

#include "chat/TemplateText.h"
#include "compiler/text/ChatBuilder.h"
#include "compiler/text/TokenizerBuilder.h"

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

std::vector<llvm::StringRef> hone::linesOf(llvm::StringRef text) {
  std::vector<llvm::StringRef> lines;
  while (!text.empty()) {
    auto [line, after] = text.split('\n');
    lines.push_back(line);
    text = after;
  }
  return lines;
}

Result<DataSurvey> DataSurvey::make(const std::string &folder,
                                    const SurveyOptions &options) {
  DataSurvey survey;
  survey.text = std::make_unique<Text>();
  Text &text = *survey.text;
  HONE_ASSIGN(text.table, buildTokenizerTable(folder));
  HONE_ASSIGN(text.chat, buildChatBlock(folder));
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
  auto prepare = [&] {
    return rt::Dataset::prepare(wanted, survey.tokenizer());
  };
  HONE_ASSIGN(survey.samples, prepare());
  if (survey.isPacked() && options.longest == 0) {
    wanted.maxSequenceLength = kTextLength;
    HONE_ASSIGN(survey.samples, prepare());
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
