//===- Gpt2.cpp - GPT-2 ---------------------------------------------------===//
//
// Transformers' modeling_gpt2.py is the source. Its projections are Conv1D,
// whose weights the files hold as [in, out]; queries, keys and values are one.
//
//===----------------------------------------------------------------------===//

#include "compiler/import/families/ActivationKey.h"
#include "compiler/import/families/GptDecoder.h"

#include <cmath>

using namespace hone;
using namespace mlir;

namespace {

class Gpt2 : public GptDecoder {
  void read(ConfigReader &config) override {
    sizes.hidden = config.sizeOf("n_embd", "hidden_size", 768);
    sizes.layers = config.sizeOf("n_layer", "num_hidden_layers", 12);
    sizes.heads = config.sizeOf("n_head", "num_attention_heads", 12);
    sizes.positions =
        config.sizeOf("n_positions", "max_position_embeddings", 1024);
    sizes.vocabulary = config.size("vocab_size", 50257);
    checkSizes(config, "n_embd", "n_layer");
    sizes.inner = config.size("n_inner", 4 * sizes.hidden);
    epsilon = config.positive("layer_norm_epsilon", 1e-5);
    function =
        readActivation(config, "activation_function", Activation::GeluTanh);
    scalesScores = config.flag("scale_attn_weights", true);
    scalesByLayer = config.flag("scale_attn_by_inverse_layer_idx");
    // Another order of the same sums.
    config.flag("reorder_and_upcast_attn");
    if (config.flag("add_cross_attention"))
      config.failAt(ErrorCode::UnsupportedModel, "add_cross_attention",
                    "expected false: cross-attention is not supported",
                    takeFromTheSamePlace);
    if (quantization)
      config.failAt(ErrorCode::UnsupportedModel, "quantization",
                    "quantised models of this type are not supported",
                    "use the original model; weights.dtype of a spec "
                    "quantises");
    config.takeDropout({"resid_pdrop", "embd_pdrop", "attn_pdrop"});
    // Older names and heads of other classes.
    for (const char *key :
         {"n_ctx", "summary_type", "summary_use_proj", "summary_activation",
          "summary_proj_to_labels", "summary_first_dropout",
          "gradient_checkpointing", "n_special", "output_past",
          "predict_special_tokens"})
      config.take(key);
    baseModelPrefix = "transformer.";
    // Buffers: the causal mask and the value that it puts in.
    for (int64_t i = 0; !config.failed() && i < sizes.layers; ++i)
      for (const char *buffer : {".attn.bias", ".attn.masked_bias"})
        redundantTensors.push_back("transformer.h." + std::to_string(i) +
                                   buffer);
  }

  double scaleOf(int64_t layer) const {
    double scale = scalesScores
                       ? 1.0 / std::sqrt(static_cast<double>(sizes.headDim()))
                       : 1.0;
    return scalesByLayer ? scale / static_cast<double>(layer + 1) : scale;
  }

  Value layer(ModelBuilder &builder, Value x, double scale) const {
    Value n = builder.layerNorm("ln_1", x, epsilon);
    Value fused = builder.conv1d("attn.c_attn", n, 3 * sizes.hidden);
    auto part = [&](const char *name, int64_t index) {
      return builder.columns(name, fused, index * sizes.hidden, sizes.hidden);
    };
    Value q = part("attn.query", 0), k = part("attn.key", 1),
          v = part("attn.value", 2);
    Value y = attend(builder, "attn", q, k, v, scale);
    y = builder.conv1d("attn.c_proj", y, sizes.hidden);
    x = builder.add("attn.residual", x, y);
    n = builder.layerNorm("ln_2", x, epsilon);
    Value inner = builder.conv1d("mlp.c_fc", n, sizes.inner);
    inner = builder.activation("mlp.act", function, inner);
    y = builder.conv1d("mlp.c_proj", inner, sizes.hidden);
    return builder.add("mlp.residual", x, y);
  }

  void build(ModelBuilder &builder) const override {
    connectTransformer(
        builder, epsilon,
        [&](int64_t i) {
          bool isOther = scalesByLayer && i > 0;
          return "decoder" + (isOther ? std::to_string(i) : "");
        },
        [&](int64_t i, Value x) { return layer(builder, x, scaleOf(i)); });
  }

  double epsilon = 1e-5;
  Activation function = Activation::GeluTanh;
  bool scalesScores = true, scalesByLayer = false;
};

} // namespace

const Family hone::gpt2 = {"gpt2",
                           "GPT2LMHeadModel",
                           create<Gpt2>,
                           {"gpt2", /*interleavesHeads=*/false,
                            /*isInMlx=*/true, "transformer.", "model."},
                           "transformer.wte",
                           /*tiesEmbeddings=*/true,
                           /*headDim=*/0,
                           "c_attn",
                           /*isConv1d=*/true};
