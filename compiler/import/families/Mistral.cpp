//===- Mistral.cpp - Mistral 7B -------------------------------------------===//
//
// Transformers' modeling_mistral.py is the source. A window is on unless
// config.json says null, as it does from v0.2 on.
//
//===----------------------------------------------------------------------===//

#include "compiler/import/families/Decoder.h"

using namespace hone;
using mlir::Value;

namespace {

class Mistral : public Decoder {
  void read(ConfigReader &config) override {
    Defaults defaults;
    defaults.rmsNormEps = 1e-6;
    defaults.ropeTheta = 10000.0;
    defaults.sliding = SlidingRule::All;
    readDecoder(config, defaults);
  }

  Value layer(ModelBuilder &builder, Value x, Value starts,
              const LayerKind &kind) const override {
    Value n = norm(builder, "input_layernorm", x);
    Queries queries = projectQueries(builder, n, /*hasBias=*/false);
    Value attention = attend(builder, queries, starts, kind, /*hasBias=*/false);
    x = builder.add("self_attn.residual", x, attention);
    n = norm(builder, "post_attention_layernorm", x);
    return builder.add("mlp.residual", x,
                       gatedMlp(builder, n, /*hasBias=*/false));
  }
};

} // namespace

const Family hone::mistral = {
    "mistral",
    "MistralForCausalLM",
    create<Mistral>,
    {"llama", /*interleavesHeads=*/true, /*isInMlx=*/true},
    /*tiesEmbeddings=*/false};
