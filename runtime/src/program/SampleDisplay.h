//===- SampleDisplay.h - Samples as a person can check them ---------------===//

#pragma once

#include "data/Dataset.h"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace hone::rt {

/// Tokens of a sample that are shown, from its start and its end.
inline constexpr int64_t ShownTokens = 256;

/// The sample as text, a JSON string for each stretch of tokens, and as ids.
/// Targets of the loss are in brackets, and green `inColour`; labels follow
/// where they are other tokens than the sample has there. Without a tokenizer
/// there is no text.
std::string describeSample(const Sample &sample, const Tokenizer *tokenizer,
                           bool inColour);

/// Where a sample is cut to see how a model goes on: before its first target,
/// or in a text that is all targets early in it.
struct SamplePrompt {
  static constexpr int64_t MostTokens = 512; ///< more are no prompt
  std::vector<int32_t> ids;                  ///< empty: there is none
  std::string prompt, expected;
};

/// Without a tokenizer both texts are empty.
SamplePrompt promptOf(const Sample &sample, const Tokenizer *tokenizer);

/// Writes the first `count` samples of `data`, after a line on the meaning of
/// brackets.
void showSamples(const Dataset &data, const Tokenizer *tokenizer,
                 uint64_t count, bool inColour,
                 const std::function<void(const std::string &)> &write);

} // namespace hone::rt
