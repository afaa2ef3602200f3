//===- GptDecoder.h - Decoders with learned positions ---------------------===//

#pragma once

#include "compiler/import/ConfigReader.h"
#include "compiler/import/ModelBuilder.h"
#include "compiler/import/families/Family.h"

namespace hone {

class GptDecoder : public HuggingFaceModel {
protected:
  struct Sizes {
    int64_t hidden = 0, inner = 0, layers = 0, heads = 0, vocabulary = 0;
    int64_t positions = 0;
    int64_t headDim() const { return hidden / heads; }
  };
  /// Errors, at the keys that `hiddenKey` and `layersKey` name, for numbers
  /// that cannot be of a model.
  void checkSizes(ConfigReader &config, const char *hiddenKey,
                  const char *layersKey);

  /// Rows of `table` for where tokens are in their sequences.
  mlir::Value embedPositions(ModelBuilder &builder, llvm::StringRef table,
                             int64_t offset) const;
  /// One key head for each query head.
  mlir::Value attend(ModelBuilder &builder, llvm::StringRef name, mlir::Value q,
                     mlir::Value k, mlir::Value v, double scale,
                     std::optional<int64_t> window = std::nullopt) const;
  /// The loss of the output head, whose name is lm_head.
  mlir::Value loss(ModelBuilder &builder, mlir::Value x) const;

  /// Of a layer that runs `block` with tensors under `prefix`.
  struct Layer {
    std::string block, prefix;
  };
  /// The entry @loss: "embed" with `prefix`, `layers`, "head".
  static void connect(ModelBuilder &builder, const std::string &prefix,
                      const std::vector<Layer> &layers);

  /// The whole of a model whose tensors are in "transformer.": wte and wpe,
  /// layers h.N, ln_f. Layer `i` runs the block `blockOf(i)`, which `layer`
  /// makes for the first of its layers.
  void connectTransformer(
      ModelBuilder &builder, double epsilon,
      llvm::function_ref<std::string(int64_t i)> blockOf,
      llvm::function_ref<mlir::Value(int64_t i, mlir::Value x)> layer) const;

  Sizes sizes;
};

} // namespace hone
