//===- Llama.cpp - Llama 2, Llama 3 and models like them ------------------===//
//
// Transformers' modeling_llama.py is the source.
//
//===----------------------------------------------------------------------===//

#include "compiler/import/families/Decoder.h"

using namespace hone;

namespace {

class Llama : public Decoder {
  void read(ConfigReader &config) override {
    Defaults defaults;
    defaults.asManyKeyValueHeads = true;
    defaults.rmsNormEps = 1e-6;
    defaults.ropeTheta = 10000.0;
    readDecoder(config, defaults);
    queriesHaveBias = outputHasBias = config.flag("attention_bias");
    mlpHasBias = config.flag("mlp_bias");
  }
};

} // namespace

const Family hone::llama = {
    "llama",
    "LlamaForCausalLM",
    create<Llama>,
    {"llama", /*interleavesHeads=*/true, /*isInMlx=*/true},
    "model.embed_tokens",
    /*tiesEmbeddings=*/false};
