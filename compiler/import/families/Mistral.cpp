//===- Mistral.cpp - Mistral 7B -------------------------------------------===//
//
// Transformers' modeling_mistral.py is the source. A window is on unless
// config.json says null, as it does from v0.2 on.
//
//===----------------------------------------------------------------------===//

#include "compiler/import/families/Decoder.h"

using namespace hone;

namespace {

class Mistral : public Decoder {
  void read(ConfigReader &config) override {
    Defaults defaults;
    defaults.rmsNormEps = 1e-6;
    defaults.ropeTheta = 10000.0;
    defaults.sliding = SlidingRule::All;
    readDecoder(config, defaults);
  }
};

} // namespace

const Family hone::mistral = {
    "mistral",
    "MistralForCausalLM",
    create<Mistral>,
    {"llama", /*interleavesHeads=*/true, /*isInMlx=*/true},
    "model.embed_tokens",
    /*tiesEmbeddings=*/false};
