//===- Qwen3.cpp - Qwen3, dense -------------------------------------------===//
//
// Transformers' modeling_qwen3.py is the source: Qwen2 with norms of queries
// and keys, head by head, and without biases unless config.json says so.
//
//===----------------------------------------------------------------------===//

#include "compiler/import/families/Decoder.h"

using namespace hone;
using mlir::Value;

namespace {

class Qwen3 : public Decoder {
  void read(ConfigReader &config) override {
    Defaults defaults;
    defaults.sliding = SlidingRule::FromLayer;
    readDecoder(config, defaults);
    attentionBias = config.flag("attention_bias");
  }

  Value layer(ModelBuilder &builder, Value x, Value starts,
              const LayerKind &kind) const override {
    Value n = norm(builder, "input_layernorm", x);
    Queries queries = projectQueries(builder, n, attentionBias);
    queries = normalizeHeads(builder, queries);
    Value attention = attend(builder, queries, starts, kind, attentionBias);
    x = builder.add("self_attn.residual", x, attention);
    n = norm(builder, "post_attention_layernorm", x);
    return builder.add("mlp.residual", x,
                       gatedMlp(builder, n, /*hasBias=*/false));
  }

  bool attentionBias = false;
};

} // namespace

const Family hone::qwen3 = {
    "qwen3",
    "Qwen3ForCausalLM",
    create<Qwen3>,
    {"qwen3", /*interleavesHeads=*/false, /*isInMlx=*/true},
    /*tiesEmbeddings=*/false,
    /*headDim=*/128};
