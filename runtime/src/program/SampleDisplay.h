//===- SampleDisplay.h - Samples as a person can check them ---------------===//

#pragma once

#include "data/Dataset.h"

#include <cstdint>
#include <string>

namespace hone::rt {

/// Tokens of a sample that are shown, from its start and its end.
inline constexpr int64_t ShownTokens = 256;

/// The sample as text, a JSON string for each stretch of tokens, and as ids.
/// Targets of the loss are in brackets, or green `inColour`. Without a
/// tokenizer only ids.
std::string describeSample(const Sample &sample, const Tokenizer *tokenizer,
                           bool inColour);

/// Prints the first `count` samples of `data`.
void showSamples(const Dataset &data, const Tokenizer *tokenizer,
                 uint64_t count, bool inColour);

} // namespace hone::rt
