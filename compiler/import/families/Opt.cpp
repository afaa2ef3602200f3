//===- Opt.cpp - OPT ------------------------------------------------------===//
//
// Transformers' modeling_opt.py is the source. The models of 350m normalise
// after each part instead of before it, and their embedding is narrower than
// their layers.
//
//===----------------------------------------------------------------------===//

#include "compiler/import/families/ActivationKey.h"
#include "compiler/import/families/GptDecoder.h"

#include <cmath>

using namespace hone;
using namespace mlir;
using rt::Json;

/// Rows of the table of positions that no position has.
static constexpr int64_t kPositionOffset = 2;
/// torch.nn.LayerNorm's default; config.json has no key for it.
static constexpr double kEpsilon = 1e-5;

namespace {

class Opt : public GptDecoder {
  void read(ConfigReader &config) override {
    sizes.hidden = config.size("hidden_size");
    sizes.inner = config.size("ffn_dim");
    sizes.layers = config.size("num_hidden_layers");
    sizes.heads = config.size("num_attention_heads");
    sizes.vocabulary = config.size("vocab_size");
    sizes.positions = config.size("max_position_embeddings", 2048);
    checkSizes(config, "hidden_size", "num_hidden_layers");
    embedding = config.size("word_embed_proj_dim", sizes.hidden);
    function = readActivation(config, "activation_function", Activation::Relu);
    normsFirst = config.flag("do_layer_norm_before", true);
    // Both keys are always read: an unread one is refused.
    bool removesLast = config.flag("_remove_final_layer_norm");
    normsLast = normsFirst && !removesLast;
    hasBias = config.flag("enable_bias", true);
    if (!config.flag("layer_norm_elementwise_affine", true))
      config.failAt(ErrorCode::UnsupportedModel,
                    "layer_norm_elementwise_affine",
                    "expected true: layer norms without weights are not "
                    "supported",
                    takeFromTheSamePlace);
    initializerRange = config.positive("init_std", initializerRange);
    config.takeDropout(
        {"dropout", "attention_dropout", "activation_dropout", "layerdrop"});
    baseModelPrefix = "model.";
  }

  Value embed(ModelBuilder &builder) const {
    Value x = builder.embedding("embed_tokens", sizes.vocabulary, embedding);
    Value positions =
        embedPositions(builder, "embed_positions", kPositionOffset);
    if (embedding != sizes.hidden)
      x = builder.linear("project_in", x, sizes.hidden, /*hasBias=*/false);
    return builder.add("embed_positions.sum", x, positions);
  }

  Value attention(ModelBuilder &builder, Value x) const {
    auto project = [&](StringRef name) {
      return builder.linear(name, x, sizes.hidden, hasBias);
    };
    Value q = project("self_attn.q_proj");
    Value k = project("self_attn.k_proj");
    Value v = project("self_attn.v_proj");
    double scale = 1.0 / std::sqrt(static_cast<double>(sizes.headDim()));
    Value y = attend(builder, "self_attn", q, k, v, scale);
    return builder.linear("self_attn.out_proj", y, sizes.hidden, hasBias);
  }

  Value layer(ModelBuilder &builder, Value x) const {
    auto norm = [&](StringRef name, Value x, bool isHere) {
      return isHere ? builder.layerNorm(name, x, kEpsilon) : x;
    };
    Value n = norm("self_attn_layer_norm", x, normsFirst);
    x = builder.add("self_attn.residual", x, attention(builder, n));
    x = norm("self_attn_layer_norm", x, !normsFirst);
    n = norm("final_layer_norm", x, normsFirst);
    Value inner = builder.linear("fc1", n, sizes.inner, hasBias);
    inner = builder.activation("activation_fn", function, inner);
    Value y = builder.linear("fc2", inner, sizes.hidden, hasBias);
    x = builder.add("fc2.residual", x, y);
    return norm("final_layer_norm", x, !normsFirst);
  }

  Value head(ModelBuilder &builder, Value x) const {
    if (normsLast)
      x = builder.layerNorm("model.decoder.final_layer_norm", x, kEpsilon);
    if (embedding != sizes.hidden)
      x = builder.linear("model.decoder.project_out", x, embedding,
                         /*hasBias=*/false);
    return loss(builder, x);
  }

  void build(ModelBuilder &builder) const override {
    RankedTensorType hidden = builder.rowsOf(sizes.hidden);
    builder.block("embed", {}, [&](ValueRange) { return embed(builder); });
    builder.block("decoder", hidden,
                  [&](ValueRange x) { return layer(builder, x[0]); });
    builder.block("head", hidden,
                  [&](ValueRange x) { return head(builder, x[0]); });
    std::vector<Layer> layers;
    for (int64_t i = 0; i < sizes.layers; ++i)
      layers.push_back(
          {"decoder", "model.decoder.layers." + std::to_string(i) + "."});
    connect(builder, "model.decoder.", layers);
  }

  int64_t embedding = 0; ///< features of the table
  Activation function = Activation::Relu;
  bool normsFirst = true, normsLast = true, hasBias = true;
};

} // namespace

const Family hone::opt = {
    "opt", "OPTForCausalLM", create<Opt>, {}, "model.decoder.embed_tokens"};
