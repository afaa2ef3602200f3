//===- GptDecoder.cpp - Decoders with learned positions -------------------===//

#include "compiler/import/families/GptDecoder.h"

#include "llvm/ADT/StringSet.h"

using namespace hone;
using namespace mlir;

void GptDecoder::checkSizes(ConfigReader &config, const char *hiddenKey,
                            const char *layersKey) {
  maxPositionEmbeddings = sizes.positions;
  if (config.failed())
    return;
  if (sizes.hidden % sizes.heads)
    config.failAt(ErrorCode::BadConfig, hiddenKey,
                  "expected a multiple of the heads, " +
                      std::to_string(sizes.heads) + ", but found " +
                      std::to_string(sizes.hidden),
                  takeFromTheSamePlace);
  // Three of them are one projection, and tensors have fewer than 2^62 bytes.
  if (sizes.hidden > (int64_t(1) << 29))
    config.failAt(ErrorCode::BadConfig, hiddenKey,
                  "expected at most 2^29 but found " +
                      std::to_string(sizes.hidden),
                  takeFromTheSamePlace);
  if (sizes.layers > 10000)
    config.failAt(ErrorCode::BadConfig, layersKey,
                  "expected at most 10000 layers but found " +
                      std::to_string(sizes.layers),
                  takeFromTheSamePlace);
}

Value GptDecoder::embedPositions(ModelBuilder &builder, StringRef table,
                                 int64_t offset) const {
  Value starts = builder.rowInput("sequence_starts");
  Value weight = builder.parameter(table + ".weight",
                                   {sizes.positions + offset, sizes.hidden});
  return PositionEmbeddingOp::create(builder.ops(), builder.at(table),
                                     builder.rowsOf(sizes.hidden), starts,
                                     weight, builder.i64(offset));
}

Value GptDecoder::attend(ModelBuilder &builder, StringRef name, Value q,
                         Value k, Value v, double scale,
                         std::optional<int64_t> window) const {
  Value starts = builder.rowInput("sequence_starts");
  return builder.attention(
      name, {q, k, v, starts, sizes.heads, sizes.heads, window, scale});
}

Value GptDecoder::loss(ModelBuilder &builder, Value x) const {
  return builder.crossEntropy(headModule, x, sourceOf(headWeight),
                              sizes.vocabulary);
}

void GptDecoder::connect(ModelBuilder &builder, const std::string &prefix,
                         const std::vector<Layer> &layers) {
  builder.loss([&] {
    Value x = builder.call("embed", prefix, {});
    for (const Layer &layer : layers)
      x = builder.layer(layer.block, layer.prefix, x);
    return builder.call("head", "", x);
  });
}

void GptDecoder::connectTransformer(
    ModelBuilder &builder, double epsilon,
    llvm::function_ref<std::string(int64_t)> blockOf,
    llvm::function_ref<Value(int64_t, Value)> layer) const {
  RankedTensorType hidden = builder.rowsOf(sizes.hidden);
  builder.block("embed", {}, [&](ValueRange) {
    Value tokens = builder.embedding("wte", sizes.vocabulary, sizes.hidden);
    Value positions = embedPositions(builder, "wpe", /*offset=*/0);
    return builder.add("wpe.sum", tokens, positions);
  });
  llvm::StringSet<> known;
  std::vector<Layer> layers;
  for (int64_t i = 0; i < sizes.layers; ++i) {
    std::string block = blockOf(i);
    if (known.insert(block).second)
      builder.block(block, hidden,
                    [&](ValueRange x) { return layer(i, x[0]); });
    layers.push_back({block, "transformer.h." + std::to_string(i) + "."});
  }
  builder.block("head", hidden, [&](ValueRange x) {
    return loss(builder, builder.layerNorm("transformer.ln_f", x[0], epsilon));
  });
  connect(builder, "transformer.", layers);
}
