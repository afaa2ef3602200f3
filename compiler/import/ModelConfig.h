//===- ModelConfig.h - A Hugging Face config.json as a struct -------------===//
//
// Strict on purpose: a key that Hone does not know may change what the model
// computes, so it is an error. Transformers 4 and 5 spell the rotary settings
// and the element type differently; both are read and must agree.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_COMPILER_IMPORT_MODELCONFIG_H
#define HONE_COMPILER_IMPORT_MODELCONFIG_H

#include "base/Dtype.h"
#include "base/Status.h"
#include "compiler/import/Quantization.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace hone {

/// rope_type llama3; see hone.llama3_rope_scaling.
struct RopeScaling {
  double factor, lowFreqFactor, highFreqFactor;
  int64_t originalMaxPositionEmbeddings;
  bool operator==(const RopeScaling &other) const {
    return factor == other.factor && lowFreqFactor == other.lowFreqFactor &&
           highFreqFactor == other.highFreqFactor &&
           originalMaxPositionEmbeddings == other.originalMaxPositionEmbeddings;
  }
};

/// Every number of a Llama- or Qwen2-family decoder, defaults resolved.
struct ModelConfig {
  std::string modelType; ///< "llama" or "qwen2"
  std::string file;      ///< where it was read, for messages
  int64_t hiddenSize = 0, intermediateSize = 0, numHiddenLayers = 0;
  int64_t numAttentionHeads = 0, numKeyValueHeads = 0, headDim = 0;
  int64_t vocabSize = 0;
  int64_t maxPositionEmbeddings = 0; ///< 0: not in the file
  double rmsNormEps = 0, ropeTheta = 0;
  double initializerRange = 0.02; ///< only random models are made with it
  std::optional<RopeScaling> ropeScaling;
  bool qkvBias = false, outputBias = false, mlpBias = false;
  bool tieWordEmbeddings = false;
  std::optional<Quantization> quantization; ///< of the files' weights
};

/// Reads config.json of a model directory.
/// Errors: NoInput; BadData with "config.json:line:column /key".
rt::Result<ModelConfig> readModelConfig(const std::string &modelDirectory);

/// The same for a text; `place` names it in messages.
rt::Result<ModelConfig> parseModelConfig(const std::string &text,
                                         const std::string &place);

/// A linear module of one decoder layer.
struct LinearModule {
  std::string name; ///< relative to the layer: "self_attn.q_proj"
  int64_t out, in;
  bool bias;
  std::string outKeys, inKeys; ///< the config keys that give out and in
};

/// The seven projections, in the order in which the layer runs them.
std::vector<LinearModule> decoderModules(const ModelConfig &config);

/// A tensor that the model's files must have.
struct ModelTensor {
  std::string name;
  std::vector<int64_t> shape;
  std::string shapeKeys; ///< "[num_key_value_heads * head_dim, hidden_size]"
  std::optional<rt::Dtype> dtype = {}; ///< absent: any float
};

/// All tensors of the model; a tied head is not one of them.
std::vector<ModelTensor> modelTensors(const ModelConfig &config);

/// The same as the files have them: with MLX's three for a quantised matrix.
std::vector<ModelTensor> storedModelTensors(const ModelConfig &config);

/// "model.layers.3."
std::string layerPrefix(int64_t layer);

} // namespace hone

#endif
