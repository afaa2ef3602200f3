//===- Qwen2.cpp - Qwen2 and Qwen2.5 --------------------------------------===//
//
// Transformers' modeling_qwen2.py is the source. It has biases on queries, keys
// and values that config.json does not speak of. Its defaults differ between
// versions, so keys that decide numerics must be written out.
//
//===----------------------------------------------------------------------===//

#include "compiler/import/families/Decoder.h"

using namespace hone;

namespace {

class Qwen2 : public Decoder {
  void read(ConfigReader &config) override {
    Defaults defaults;
    defaults.sliding = SlidingRule::FromLayer;
    readDecoder(config, defaults);
    queriesHaveBias = true;
  }
};

} // namespace

const Family hone::qwen2 = {
    "qwen2",
    "Qwen2ForCausalLM",
    create<Qwen2>,
    {"qwen2", /*interleavesHeads=*/false, /*isInMlx=*/true},
    "model.embed_tokens",
    /*tiesEmbeddings=*/false};
