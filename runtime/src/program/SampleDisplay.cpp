//===- SampleDisplay.cpp - Samples as a person can check them -------------===//

#include "program/SampleDisplay.h"

#include "base/Counted.h"
#include "base/Json.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>

namespace hone::rt {

namespace {
/// Tokens one after another that all have a loss, or all have none.
struct Stretch {
  int64_t begin, end;
  bool isTarget;
};
} // namespace

/// Token i is a target if the row before it has it as one.
static bool isTarget(const Sample &sample, int64_t i) {
  return i > 0 && sample.targets[i - 1] != NoTarget;
}

static std::vector<Stretch> stretchesOf(const Sample &sample, int64_t begin,
                                        int64_t end) {
  std::vector<Stretch> out;
  for (int64_t i = begin; i < end; ++i) {
    if (out.empty() || out.back().isTarget != isTarget(sample, i))
      out.push_back({i, i, isTarget(sample, i)});
    out.back().end = i + 1;
  }
  return out;
}

static void appendStretch(std::string &out, const std::string &text,
                          bool isTarget, bool inColour) {
  out += out.empty() ? "" : " ";
  if (isTarget)
    out += inColour ? "\x1b[32m[" : "[";
  out += text;
  if (isTarget)
    out += inColour ? "]\x1b[0m" : "]";
}

/// "12 tokens, 5 of them in the loss"
static std::string describeCounts(const Sample &sample) {
  const auto targets =
      std::count_if(sample.targets, sample.targets + sample.length,
                    [](int32_t target) { return target != NoTarget; });
  return counted(uint64_t(sample.length), "token") + ", " +
         std::to_string(targets) + " of them in the loss";
}

std::string describeSample(const Sample &sample, const Tokenizer *tokenizer,
                           bool inColour) {
  const int64_t hidden = std::max<int64_t>(sample.length - 2 * ShownTokens, 0);
  const int64_t first = hidden ? ShownTokens : sample.length;
  std::vector<Stretch> shown = stretchesOf(sample, 0, first);
  const std::vector<Stretch> rest =
      stretchesOf(sample, first + hidden, sample.length);
  shown.insert(shown.end(), rest.begin(), rest.end());
  std::string texts, ids, labels;
  bool areOthers = false;
  for (const Stretch &stretch : shown) {
    if (hidden && stretch.begin == first + hidden)
      for (std::string *line : {&texts, &ids, &labels})
        *line += " ... " + counted(uint64_t(hidden), "token") + " ...";
    std::string text, numbers, wanted;
    if (tokenizer != nullptr)
      text += jsonString(tokenizer->decode(
          sample.ids + stretch.begin, size_t(stretch.end - stretch.begin)));
    for (int64_t i = stretch.begin; i < stretch.end; ++i) {
      const char *space = i == stretch.begin ? "" : " ";
      numbers += space + std::to_string(sample.ids[i]);
      if (!stretch.isTarget)
        continue;
      wanted += space + std::to_string(sample.targets[i - 1]);
      areOthers |= sample.targets[i - 1] != sample.ids[i];
    }
    appendStretch(texts, printable(text), stretch.isTarget, inColour);
    appendStretch(ids, numbers, stretch.isTarget, inColour);
    if (stretch.isTarget)
      appendStretch(labels, wanted, true, inColour);
  }
  std::string out;
  if (tokenizer != nullptr)
    out += "  text   " + texts + "\n";
  out += "  ids    " + ids + "\n";
  return areOthers ? out + "  labels " + labels + "\n" : out;
}

SamplePrompt promptOf(const Sample &sample, const Tokenizer *tokenizer) {
  constexpr int64_t mostExpected = 128, mostOfText = 32;
  SamplePrompt out;
  int64_t first = 1;
  while (first < sample.length && !isTarget(sample, first))
    ++first;
  if (first == 1) // perhaps after a token that begins every text
    first = std::min(mostOfText, sample.length / 2);
  if (first < 1 || first >= sample.length || first > SamplePrompt::MostTokens)
    return out;
  int64_t end = first;
  while (end < sample.length && end - first < mostExpected &&
         isTarget(sample, end))
    ++end;
  out.ids.assign(sample.ids, sample.ids + first);
  if (tokenizer != nullptr) {
    out.prompt = tokenizer->decode(sample.ids, size_t(first));
    out.expected = tokenizer->decode(sample.ids + first, size_t(end - first));
  }
  return out;
}

void showSamples(const Dataset &data, const Tokenizer *tokenizer,
                 uint64_t count, bool inColour,
                 const std::function<void(const std::string &)> &write) {
  count = std::min(count, data.sampleCount());
  if (count > 0)
    write(std::string("samples      the loss counts the tokens in [brackets]") +
          (inColour ? ", in green\n" : "\n"));
  for (uint64_t i = 0; i < count; ++i) {
    const Sample sample = data.sample(i);
    char number[32];
    snprintf(number, sizeof(number), "sample %-6" PRIu64, i + 1);
    write(number + describeCounts(sample) + "\n" +
          describeSample(sample, tokenizer, inColour));
  }
  data.release();
}

} // namespace hone::rt
