//===- Decoder.cpp - What decoders with rotary attention share ------------===//

#include "compiler/import/families/Decoder.h"

#include <cmath>

using namespace hone;
using namespace mlir;
using rt::Json;

//===----------------------------------------------------------------------===//
// config.json
//===----------------------------------------------------------------------===//

static void checkActivation(ConfigReader &config) {
  const Json *activation = config.take("hidden_act");
  // Absent: the default of every family here.
  if (activation &&
      (!activation->isString() ||
       (activation->string() != "silu" && activation->string() != "swish")))
    config.failAt(rt::ErrorCode::UnsupportedModel, "hidden_act",
                  "expected the activation \"silu\" but found " +
                      describeValue(*activation),
                  "only SwiGLU models are supported");
}

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
  if (!defaults.headDim && !config.take("head_dim") && !divides)
    config.failAt(rt::ErrorCode::BadConfig, "hidden_size",
                  "expected a multiple of num_attention_heads, " +
                      std::to_string(numAttentionHeads) + ", but found " +
                      std::to_string(hiddenSize),
                  "give head_dim if the heads have another size");
  headDim = config.size(
      "head_dim", defaults.headDim.value_or(hiddenSize / numAttentionHeads));
  rmsNormEps = config.positive("rms_norm_eps", defaults.rmsNormEps);
  tieWordEmbeddings = config.flag("tie_word_embeddings");
  if (tieWordEmbeddings)
    redundantTensors.push_back("lm_head.weight");
  checkShapes(config);
  checkActivation(config);
  rope = readRope(config, defaults.ropeTheta);
}

void Decoder::readSlidingWindow(ConfigReader &config) const {
  bool isUsed = config.flag("use_sliding_window");
  const Json *window = config.take("sliding_window");
  const Json *first = config.take("max_window_layers");
  // Layers from max_window_layers on slide.
  if (isUsed && window &&
      !(first && first->isInteger() && first->integer() >= numHiddenLayers))
    config.failAt(rt::ErrorCode::UnsupportedModel, "use_sliding_window",
                  "sliding-window attention is not supported",
                  "set it to false only if the model was trained without it");
}

void Decoder::checkShapes(ConfigReader &config) const {
  if (config.failed())
    return;
  if (headDim % 2)
    config.failAt(rt::ErrorCode::BadConfig, "head_dim",
                  "expected an even head size for rotary embedding but found " +
                      std::to_string(headDim),
                  "check hidden_size and num_attention_heads");
  // Tables of rotary embedding have a column for each two of its numbers.
  if (headDim > 4096)
    config.failAt(rt::ErrorCode::UnsupportedModel, "head_dim",
                  "expected a head size of at most 4096 but found " +
                      std::to_string(headDim),
                  "check hidden_size and num_attention_heads; 64 to 256 are "
                  "common");
  if (numAttentionHeads % numKeyValueHeads)
    config.failAt(rt::ErrorCode::BadConfig, "num_key_value_heads",
                  "expected a divisor of num_attention_heads, " +
                      std::to_string(numAttentionHeads) + ", but found " +
                      std::to_string(numKeyValueHeads),
                  takeFromTheSamePlace);
  // Every tensor then has fewer than 2^62 bytes.
  constexpr int64_t largest = int64_t(1) << 31;
  if (numAttentionHeads > largest / headDim)
    config.failAt(rt::ErrorCode::BadConfig, "num_attention_heads",
                  "num_attention_heads * head_dim is beyond 2^31",
                  takeFromTheSamePlace);
  if (numHiddenLayers > 10000)
    config.failAt(rt::ErrorCode::BadConfig, "num_hidden_layers",
                  "expected at most 10000 layers but found " +
                      std::to_string(numHiddenLayers),
                  takeFromTheSamePlace);
}

//===----------------------------------------------------------------------===//
// Parts of a layer
//===----------------------------------------------------------------------===//

Value Decoder::norm(ModelBuilder &builder, StringRef name, Value x) const {
  return builder.rmsNorm(name, x, rmsNormEps);
}

Decoder::Queries Decoder::projectQueries(ModelBuilder &builder, Value x,
                                         bool hasBias) const {
  int64_t query = numAttentionHeads * headDim;
  int64_t keyValue = numKeyValueHeads * headDim;
  Queries result;
  result.q = builder.linear("self_attn.q_proj", x, query, hasBias);
  result.k = builder.linear("self_attn.k_proj", x, keyValue, hasBias);
  result.v = builder.linear("self_attn.v_proj", x, keyValue, hasBias);
  return result;
}

Value Decoder::rotate(ModelBuilder &builder, StringRef name, Value x,
                      Value starts, int64_t heads) const {
  Llama3RopeScalingAttr scaling;
  if (const std::optional<RopeScaling> &s = rope.scaling)
    scaling = Llama3RopeScalingAttr::get(
        builder.ops().getContext(), builder.f64(s->factor),
        builder.f64(s->lowFreqFactor), builder.f64(s->highFreqFactor),
        s->originalMaxPositionEmbeddings);
  return RopeOp::create(builder.ops(), builder.at(name), x.getType(), x, starts,
                        builder.i64(heads), builder.f64(rope.theta), scaling,
                        /*inverse=*/UnitAttr());
}

Value Decoder::attend(ModelBuilder &builder, Queries queries, Value starts,
                      bool hasBias) const {
  Value q =
      rotate(builder, "self_attn.q_rope", queries.q, starts, numAttentionHeads);
  Value k =
      rotate(builder, "self_attn.k_rope", queries.k, starts, numKeyValueHeads);
  Value attention =
      AttentionOp::create(
          builder.ops(), builder.at("self_attn"), q.getType(),
          /*normalizer=*/Type(), q, k, queries.v, starts,
          builder.i64(numAttentionHeads), builder.i64(numKeyValueHeads),
          /*window=*/IntegerAttr(),
          builder.f64(1.0 / std::sqrt(static_cast<double>(headDim))))
          .getY();
  return builder.linear("self_attn.o_proj", attention, hiddenSize, hasBias);
}

Value Decoder::gatedMlp(ModelBuilder &builder, Value x, bool hasBias) const {
  Value gate = builder.linear("mlp.gate_proj", x, intermediateSize, hasBias);
  Value up = builder.linear("mlp.up_proj", x, intermediateSize, hasBias);
  Value inner =
      SwigluOp::create(builder.ops(), builder.at("mlp.act_fn"), gate, up);
  return builder.linear("mlp.down_proj", inner, hiddenSize, hasBias);
}

//===----------------------------------------------------------------------===//
// The whole
//===----------------------------------------------------------------------===//

Value Decoder::embed(ModelBuilder &builder) const {
  Value ids = builder.rowInput("input_ids");
  Value table =
      builder.parameter("embed_tokens.weight", {vocabSize, hiddenSize});
  return EmbeddingOp::create(builder.ops(), builder.at("embed_tokens"),
                             builder.rowsOf(hiddenSize), ids, table);
}

Value Decoder::head(ModelBuilder &builder, Value x) const {
  Value normalized = norm(builder, "model.norm", x);
  Value targets = builder.rowInput("targets");
  Value weight = builder.parameter(
      tieWordEmbeddings ? "model.embed_tokens.weight" : "lm_head.weight",
      {vocabSize, hiddenSize});
  auto scalar = RankedTensorType::get({}, builder.ops().getF64Type());
  return LinearCrossEntropyOp::create(builder.ops(), builder.at("lm_head"),
                                      scalar, /*dx=*/Type(), normalized, weight,
                                      targets)
      .getLoss();
}

void Decoder::build(ModelBuilder &builder) const {
  RankedTensorType hidden = builder.rowsOf(hiddenSize);
  builder.block("embed", {}, [&](ValueRange) { return embed(builder); });
  builder.block("decoder", hidden, [&](ValueRange arguments) {
    Value starts = builder.rowInput("sequence_starts");
    return layer(builder, arguments[0], starts);
  });
  builder.block("head", hidden, [&](ValueRange arguments) {
    return head(builder, arguments[0]);
  });
  builder.loss([&] {
    Value x = builder.call("embed", "model.", {});
    for (int64_t i = 0; i < numHiddenLayers; ++i)
      x = builder.call("decoder", "model.layers." + std::to_string(i) + ".", x);
    return builder.call("head", "", x);
  });
}
