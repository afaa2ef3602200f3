//===- Decoder.h - Decoders with rotary attention -------------------------===//
//
// Llama and its relatives: an embedding, pre-norm layers of grouped-query
// attention and a gated MLP, a norm and the head. A family has the defaults of
// its config.json and its layer; here are the parts.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "compiler/import/ConfigReader.h"
#include "compiler/import/ModelBuilder.h"
#include "compiler/import/families/Family.h"
#include "compiler/import/families/LayerKinds.h"
#include "compiler/import/families/Rope.h"

namespace hone {

class Decoder : public HuggingFaceModel {
public:
  /// Layers of one kind share a block.
  void build(ModelBuilder &builder) const override;

protected:
  /// Defaults of keys that config.json may leave out; no value: the key is
  /// required.
  struct Defaults {
    bool asManyKeyValueHeads = false; ///< as attention heads
    std::optional<double> rmsNormEps, ropeTheta;
    SlidingRule sliding = SlidingRule::None;
    const char *activationKey = "hidden_act";
    Activation activation = Activation::Silu;
    /// Of sliding layers, which then have rotary settings of their own.
    std::optional<double> slidingRopeTheta;
  };
  /// Takes the keys that every decoder has.
  void readDecoder(ConfigReader &config, const Defaults &defaults);

  /// The properties in which layers of one model may differ.
  struct LayerKind {
    std::optional<int64_t> window;
    Rope rope;
    bool operator==(const LayerKind &other) const {
      return window == other.window && rope == other.rope;
    }
  };
  /// The body of a layer: of Llama and models like it. `starts` is the
  /// input sequence_starts.
  virtual mlir::Value layer(ModelBuilder &builder, mlir::Value x,
                            mlir::Value starts, const LayerKind &kind) const;

  // Parts of a layer, under the names that Transformers gives them.
  mlir::Value norm(ModelBuilder &builder, llvm::StringRef name,
                   mlir::Value x) const;
  /// Projects with self_attn.{q,k,v}_proj, rotates q and k, attends, and
  /// projects with self_attn.o_proj.
  mlir::Value attend(ModelBuilder &builder, mlir::Value x, mlir::Value starts,
                     const LayerKind &kind) const;
  /// mlp: down_proj(activation(gate_proj(x)) * up_proj(x)).
  mlir::Value gatedMlp(ModelBuilder &builder, mlir::Value x) const;

  bool queriesHaveBias = false, outputHasBias = false, mlpHasBias = false;
  bool normsHeads = false; ///< self_attn.{q,k}_norm, of each head by itself
  double normOffset = 0;   ///< added to the weights of all norms
  /// Of embedded tokens, rounded to the type of activations.
  std::optional<double> embeddingScale;
  /// Of attention's scores; else 1 / sqrt(head_dim).
  std::optional<double> attentionScale;

  int64_t hiddenSize = 0;

private:
  void checkShapes(ConfigReader &config) const;
  /// Of each layer, with windows shorter than `longestSequence` only.
  std::vector<LayerKind> layerKinds(int64_t longestSequence) const;
  mlir::Value rotate(ModelBuilder &builder, llvm::StringRef name, mlir::Value x,
                     mlir::Value starts, int64_t heads, const Rope &rope) const;
  mlir::Value embed(ModelBuilder &builder) const;
  mlir::Value head(ModelBuilder &builder, mlir::Value x) const;

  int64_t intermediateSize = 0, numHiddenLayers = 0;
  int64_t numAttentionHeads = 0, numKeyValueHeads = 0, headDim = 0;
  int64_t vocabSize = 0;
  double rmsNormEps = 0;
  Activation activation = Activation::Silu;
  LayerKinds kinds;
  LayerRopes ropes;
};

} // namespace hone
