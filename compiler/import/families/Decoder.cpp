//===- Decoder.cpp - Decoders with rotary attention -----------------------===//

#include "compiler/import/families/Decoder.h"
#include "compiler/import/families/ActivationKey.h"

#include <cmath>

using namespace hone;
using namespace mlir;
using rt::Json;

//===----------------------------------------------------------------------===//
// config.json
//===----------------------------------------------------------------------===//

void Decoder::readDecoder(ConfigReader &config, const Defaults &defaults) {
  hiddenSize = config.size("hidden_size");
  intermediateSize = config.size("intermediate_size");
  numHiddenLayers = config.size("num_hidden_layers");
  numAttentionHeads = config.size("num_attention_heads");
  vocabSize = config.size("vocab_size");
  bool asMany =
      defaults.asManyKeyValueHeads || config.has("num_key_value_heads");
  numKeyValueHeads = config.size(
      "num_key_value_heads",
      asMany ? std::optional<int64_t>(numAttentionHeads) : std::nullopt);
  bool divides = hiddenSize % numAttentionHeads == 0;
  const int64_t usual = familyOf(modelType)->headDim;
  if (!usual && !config.take("head_dim") && !divides)
    config.failAt(ErrorCode::BadConfig, "hidden_size",
                  "expected a multiple of num_attention_heads, " +
                      std::to_string(numAttentionHeads) + ", but found " +
                      std::to_string(hiddenSize),
                  "give head_dim if the heads have another size");
  headDim =
      config.size("head_dim", usual ? usual : hiddenSize / numAttentionHeads);
  rmsNormEps = config.positive("rms_norm_eps", defaults.rmsNormEps);
  checkShapes(config);
  activation =
      readActivation(config, defaults.activationKey, defaults.activation);
  kinds = readLayerKinds(config, numHiddenLayers, defaults.sliding);
  ropes = defaults.slidingRopeTheta
              ? readLayerRopes(config, defaults.ropeTheta,
                               *defaults.slidingRopeTheta)
              : LayerRopes::same(readRope(config, defaults.ropeTheta));
}

void Decoder::checkShapes(ConfigReader &config) const {
  if (config.failed())
    return;
  if (headDim % 2)
    config.failAt(ErrorCode::BadConfig, "head_dim",
                  "expected an even head size for rotary embedding but found " +
                      std::to_string(headDim),
                  "check hidden_size and num_attention_heads");
  // Tables of rotary embedding have a column for each two of its numbers.
  if (headDim > 4096)
    config.failAt(ErrorCode::UnsupportedModel, "head_dim",
                  "expected a head size of at most 4096 but found " +
                      std::to_string(headDim),
                  "check hidden_size and num_attention_heads; 64 to 256 are "
                  "common");
  if (numAttentionHeads % numKeyValueHeads)
    config.failAt(ErrorCode::BadConfig, "num_key_value_heads",
                  "expected a divisor of num_attention_heads, " +
                      std::to_string(numAttentionHeads) + ", but found " +
                      std::to_string(numKeyValueHeads),
                  takeFromTheSamePlace);
  // Every tensor then has fewer than 2^62 bytes.
  constexpr int64_t largest = int64_t(1) << 31;
  if (numAttentionHeads > largest / headDim)
    config.failAt(ErrorCode::BadConfig, "num_attention_heads",
                  "num_attention_heads * head_dim is beyond 2^31",
                  takeFromTheSamePlace);
  if (numHiddenLayers > 10000)
    config.failAt(ErrorCode::BadConfig, "num_hidden_layers",
                  "expected at most 10000 layers but found " +
                      std::to_string(numHiddenLayers),
                  takeFromTheSamePlace);
}

//===----------------------------------------------------------------------===//
// Parts of a layer
//===----------------------------------------------------------------------===//

Value Decoder::norm(ModelBuilder &builder, StringRef name, Value x) const {
  return builder.rmsNorm(name, x, rmsNormEps, /*heads=*/1, normOffset);
}

Value Decoder::rotate(ModelBuilder &builder, StringRef name, Value x,
                      Value starts, int64_t heads, const Rope &rope) const {
  Llama3RopeScalingAttr scaling;
  if (const std::optional<RopeScaling> &s = rope.scaling)
    scaling = Llama3RopeScalingAttr::get(
        builder.ops().getContext(), builder.f64(s->factor),
        builder.f64(s->lowFreqFactor), builder.f64(s->highFreqFactor),
        s->originalMaxPositionEmbeddings);
  FloatAttr stretch =
      rope.stretch == 1 ? FloatAttr() : builder.f64(rope.stretch);
  return RopeOp::create(builder.ops(), builder.at(name), x.getType(), x, starts,
                        builder.i64(heads), builder.f64(rope.theta), stretch,
                        scaling, /*inverse=*/UnitAttr());
}

Value Decoder::attend(ModelBuilder &builder, Value x, Value starts,
                      const LayerKind &kind) const {
  auto project = [&](StringRef name, int64_t heads) {
    return builder.linear(name, x, heads * headDim, queriesHaveBias);
  };
  Value q = project("self_attn.q_proj", numAttentionHeads);
  Value k = project("self_attn.k_proj", numKeyValueHeads);
  Value v = project("self_attn.v_proj", numKeyValueHeads);
  if (normsHeads) {
    q = builder.rmsNorm("self_attn.q_norm", q, rmsNormEps, numAttentionHeads,
                        normOffset);
    k = builder.rmsNorm("self_attn.k_norm", k, rmsNormEps, numKeyValueHeads,
                        normOffset);
  }
  q = rotate(builder, "self_attn.q_rope", q, starts, numAttentionHeads,
             kind.rope);
  k = rotate(builder, "self_attn.k_rope", k, starts, numKeyValueHeads,
             kind.rope);
  double scale =
      attentionScale.value_or(1.0 / std::sqrt(static_cast<double>(headDim)));
  Value attention =
      builder.attention("self_attn", {q, k, v, starts, numAttentionHeads,
                                      numKeyValueHeads, kind.window, scale});
  return builder.linear("self_attn.o_proj", attention, hiddenSize,
                        outputHasBias);
}

Value Decoder::gatedMlp(ModelBuilder &builder, Value x) const {
  Value gate = builder.linear("mlp.gate_proj", x, intermediateSize, mlpHasBias);
  Value up = builder.linear("mlp.up_proj", x, intermediateSize, mlpHasBias);
  Value inner = GatedActivationOp::create(
      builder.ops(), builder.at("mlp.act_fn"), activation, gate, up);
  return builder.linear("mlp.down_proj", inner, hiddenSize, mlpHasBias);
}

Value Decoder::layer(ModelBuilder &builder, Value x, Value starts,
                     const LayerKind &kind) const {
  Value n = norm(builder, "input_layernorm", x);
  x = builder.add("self_attn.residual", x, attend(builder, n, starts, kind));
  n = norm(builder, "post_attention_layernorm", x);
  return builder.add("mlp.residual", x, gatedMlp(builder, n));
}

//===----------------------------------------------------------------------===//
// The whole
//===----------------------------------------------------------------------===//

Value Decoder::embed(ModelBuilder &builder) const {
  return builder.embedding("embed_tokens", vocabSize, hiddenSize,
                           embeddingScale
                               ? builder.f64(builder.rounded(*embeddingScale))
                               : FloatAttr());
}

Value Decoder::head(ModelBuilder &builder, Value x) const {
  return builder.crossEntropy(headModule, norm(builder, "model.norm", x),
                              sourceOf(headWeight), vocabSize);
}

std::vector<Decoder::LayerKind>
Decoder::layerKinds(int64_t longestSequence) const {
  std::vector<LayerKind> result;
  for (bool slides : kinds.slides) {
    LayerKind kind{{}, slides ? ropes.sliding : ropes.full};
    if (slides && kinds.window < longestSequence)
      kind.window = kinds.window;
    result.push_back(kind);
  }
  return result;
}

void Decoder::build(ModelBuilder &builder) const {
  RankedTensorType hidden = builder.rowsOf(hiddenSize);
  builder.block("embed", {}, [&](ValueRange) { return embed(builder); });

  std::vector<LayerKind> layers = layerKinds(builder.longestSequence());
  // There are two kinds at most; the sliding one is named so beside another.
  std::vector<std::pair<LayerKind, std::string>> blocks;
  auto blockOf = [&](const LayerKind &kind) {
    return llvm::find_if(
        blocks, [&](const auto &block) { return block.first == kind; });
  };
  bool isMixed = llvm::any_of(
      layers, [&](const LayerKind &kind) { return !(kind == layers[0]); });
  for (auto [kind, slides] : llvm::zip_equal(layers, kinds.slides)) {
    if (blockOf(kind) != blocks.end())
      continue;
    std::string name = isMixed && slides ? "decoder_sliding" : "decoder";
    builder.block(name, hidden, [&, kind = kind](ValueRange arguments) {
      Value starts = builder.rowInput("sequence_starts");
      return layer(builder, arguments[0], starts, kind);
    });
    blocks.push_back({kind, name});
  }

  builder.block("head", hidden, [&](ValueRange arguments) {
    return head(builder, arguments[0]);
  });
  builder.loss([&] {
    Value x = builder.call("embed", "model.", {});
    for (auto [i, kind] : llvm::enumerate(layers))
      x = builder.layer(blockOf(kind)->second,
                        "model.layers." + std::to_string(i) + ".", x);
    return builder.call("head", "", x);
  });
}
