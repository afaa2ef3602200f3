//===- BigramModule.h - A compiled module written by hand -----------------===//
//
// The smallest language model with a LoRA adapter: the logits after token t
// are row t of a frozen table plus (lora_alpha / r) * B A[:, t]. It obeys the
// ABI as generated code does, so the runtime is tested without a compiler.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "base/Status.h"
#include "hone/runtime.h"

#include <cstdint>
#include <string>

namespace hone::test {

constexpr int64_t bigramVocab = 47; // vectors do not fill their 64 bytes
constexpr int64_t bigramRank = 4;
constexpr int64_t bigramMaxRows = 128; // 4 sequences of 32 tokens
constexpr double bigramScale = 2.0;    // lora_alpha 8, r 4

/// Optimizers, each the number of vectors that it keeps.
enum BigramOptimizer : uint32_t { HONE_SGD, HONE_SGD_MOMENTUM, HONE_ADAMW };

/// Static modules; `optimizer` is a BigramOptimizer, `dtype` HONE_F32 or
/// HONE_F64.
const hone_module &bigramModule(uint32_t optimizer, uint32_t dtype = HONE_F32);

/// Writes the frozen table that all of them read.
rt::Status writeBigramWeights(const std::string &path,
                              const std::string &sourceHash = "bigram");

/// Writes `samples` lines of {"input_ids": [...]} of 5 to 32 tokens, in which
/// each token makes the next one likely.
rt::Status writeBigramData(const std::string &path, uint64_t samples,
                           uint64_t seed);

} // namespace hone::test
