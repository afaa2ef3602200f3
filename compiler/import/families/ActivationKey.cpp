//===- ActivationKey.cpp - The activation that a config.json names --------===//

#include "compiler/import/families/ActivationKey.h"

using namespace hone;
using rt::Json;

namespace {
struct Word {
  const char *word;
  Activation activation;
};
} // namespace

/// Several words are one function.
static constexpr Word words[] = {
    {"silu", Activation::Silu},
    {"swish", Activation::Silu},
    {"gelu", Activation::Gelu},
    {"gelu_pytorch_tanh", Activation::GeluTanh},
    {"gelu_new", Activation::GeluTanh},
    {"relu", Activation::Relu},
};

Activation hone::readActivation(ConfigReader &config, llvm::StringRef key,
                                Activation fallback) {
  const Json *found = config.take(key);
  if (!found)
    return fallback;
  std::string known;
  for (const Word &word : words) {
    if (found->is(word.word))
      return word.activation;
    known += (known.empty() ? "" : ", ") + std::string(word.word);
  }
  config.failAt(ErrorCode::UnsupportedModel, key,
                "expected an activation that is known but found " +
                    describeValue(*found),
                "supported: " + known);
  return fallback;
}
