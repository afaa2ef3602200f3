//===- Qwen2.cpp - Qwen2 and Qwen2.5 --------------------------------------===//
//
// Transformers' modeling_qwen2.py is the source. It has biases on queries, keys
// and values that config.json does not speak of. Its defaults differ between
// versions, so what decides numerics must be written out.
//
//===----------------------------------------------------------------------===//

#include "compiler/import/families/Decoder.h"

using namespace hone;
using mlir::Value;

namespace {

class Qwen2 : public Decoder {
  void read(ConfigReader &config) override {
    Defaults defaults;
    defaults.sliding = SlidingRule::FromLayer;
    readDecoder(config, defaults);
  }

  Value layer(ModelBuilder &builder, Value x, Value starts,
              const LayerKind &kind) const override {
    Value n = norm(builder, "input_layernorm", x);
    Queries queries = projectQueries(builder, n, /*hasBias=*/true);
    Value attention = attend(builder, queries, starts, kind, /*hasBias=*/false);
    x = builder.add("self_attn.residual", x, attention);
    n = norm(builder, "post_attention_layernorm", x);
    return builder.add("mlp.residual", x,
                       gatedMlp(builder, n, /*hasBias=*/false));
  }
};

} // namespace

const Family hone::qwen2 = {
    "qwen2",
    "Qwen2ForCausalLM",
    create<Qwen2>,
    {"qwen2", /*interleavesHeads=*/false, /*isInMlx=*/true},
    /*tiesEmbeddings=*/false};
