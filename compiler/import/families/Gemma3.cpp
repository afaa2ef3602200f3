//===- Gemma3.cpp - Gemma 3's language model ------------------------------===//
//
// Transformers' modeling_gemma3.py is the source. Norms multiply by one more
// than their weights, before and after attention and MLP; embedded tokens are
// multiplied by sqrt(hidden_size) in the type of activations; sliding layers
// rotate by a theta of their own.
//
//===----------------------------------------------------------------------===//

#include "compiler/import/families/Decoder.h"

#include <cmath>

using namespace hone;
using mlir::Value;

namespace {

class Gemma3 : public Decoder {
  void read(ConfigReader &config) override {
    Defaults defaults;
    defaults.rmsNormEps = 1e-6;
    defaults.ropeTheta = 1e6;
    defaults.slidingRopeTheta = 1e4;
    defaults.sliding = SlidingRule::Pattern;
    defaults.activationKey = "hidden_activation";
    defaults.activation = Activation::GeluTanh;
    readDecoder(config, defaults);
    queriesHaveBias = outputHasBias = config.flag("attention_bias");
    normsHeads = true;
    normOffset = 1;
    embeddingScale = std::sqrt(static_cast<double>(hiddenSize));
    attentionScale =
        1.0 / std::sqrt(config.positive("query_pre_attn_scalar", 256.0));
    for (const char *key :
         {"attn_logit_softcapping", "final_logit_softcapping"})
      if (const rt::Json *found = config.take(key))
        config.failAt(ErrorCode::UnsupportedModel, key,
                      "expected null but found " + describeValue(*found),
                      "soft capping is not supported; Gemma 3 was trained "
                      "without it");
  }

  Value layer(ModelBuilder &builder, Value x, Value starts,
              const LayerKind &kind) const override {
    Value n = norm(builder, "input_layernorm", x);
    Value inner = attend(builder, n, starts, kind);
    inner = norm(builder, "post_attention_layernorm", inner);
    x = builder.add("self_attn.residual", x, inner);
    n = norm(builder, "pre_feedforward_layernorm", x);
    inner = gatedMlp(builder, n);
    inner = norm(builder, "post_feedforward_layernorm", inner);
    return builder.add("mlp.residual", x, inner);
  }
};

} // namespace

const Family hone::gemma3 = {
    "gemma3_text",
    "Gemma3ForCausalLM",
    create<Gemma3>,
    {"gemma3", /*interleavesHeads=*/false, /*isInMlx=*/true},
    "model.embed_tokens",
    /*tiesEmbeddings=*/true,
    /*headDim=*/256};
