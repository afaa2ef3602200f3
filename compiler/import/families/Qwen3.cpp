//===- Qwen3.cpp - Qwen3, dense -------------------------------------------===//
//
// Transformers' modeling_qwen3.py is the source: Qwen2 with norms of queries
// and keys, head by head, and without biases unless config.json says so.
//
//===----------------------------------------------------------------------===//

#include "compiler/import/families/Decoder.h"

using namespace hone;

namespace {

class Qwen3 : public Decoder {
  void read(ConfigReader &config) override {
    Defaults defaults;
    defaults.sliding = SlidingRule::FromLayer;
    readDecoder(config, defaults);
    queriesHaveBias = outputHasBias = config.flag("attention_bias");
    normsHeads = true;
  }
};

} // namespace

const Family hone::qwen3 = {
    "qwen3",
    "Qwen3ForCausalLM",
    create<Qwen3>,
    {"qwen3", /*interleavesHeads=*/false, /*isInMlx=*/true},
    "model.embed_tokens",
    /*tiesEmbeddings=*/false,
    /*headDim=*/128};
