//===- Llama.cpp - Llama 2, Llama 3 and what is made like them ------------===//
//
// Transformers' modeling_llama.py is the source.
//
//===----------------------------------------------------------------------===//

#include "compiler/import/families/Decoder.h"

using namespace hone;
using mlir::Value;

namespace {

class Llama : public Decoder {
  void read(ConfigReader &config) override {
    Defaults defaults;
    defaults.asManyKeyValueHeads = true;
    defaults.rmsNormEps = 1e-6;
    defaults.ropeTheta = 10000.0;
    readDecoder(config, defaults);
    attentionBias = config.flag("attention_bias");
    mlpBias = config.flag("mlp_bias");
  }

  Value layer(ModelBuilder &builder, Value x, Value starts,
              const LayerKind &kind) const override {
    Value n = norm(builder, "input_layernorm", x);
    Queries queries = projectQueries(builder, n, attentionBias);
    Value attention = attend(builder, queries, starts, kind, attentionBias);
    x = builder.add("self_attn.residual", x, attention);
    n = norm(builder, "post_attention_layernorm", x);
    return builder.add("mlp.residual", x, gatedMlp(builder, n, mlpBias));
  }

  bool attentionBias = false, mlpBias = false;
};

} // namespace

const Family hone::llama = {
    "llama",
    "LlamaForCausalLM",
    create<Llama>,
    {"llama", /*interleavesHeads=*/true, /*isInMlx=*/true},
    /*tiesEmbeddings=*/false};
