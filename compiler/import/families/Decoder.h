//===- Decoder.h - What decoders with rotary attention share --------------===//
//
// Llama and its relatives: an embedding, pre-norm layers of grouped-query
// attention and a gated MLP, a norm and the head. A family says what its
// config.json leaves out and what its layer is; here are the parts.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_COMPILER_IMPORT_FAMILIES_DECODER_H
#define HONE_COMPILER_IMPORT_FAMILIES_DECODER_H

#include "compiler/import/ConfigReader.h"
#include "compiler/import/ModelBuilder.h"
#include "compiler/import/families/Family.h"
#include "compiler/import/families/Rope.h"

namespace hone {

class Decoder : public HuggingFaceModel {
public:
  void build(ModelBuilder &builder) const override;

protected:
  /// What a config.json may leave out; no value: the key is required.
  struct Defaults {
    bool asManyKeyValueHeads = false; ///< as attention heads
    std::optional<int64_t> headDim;   ///< else hidden_size / heads
    std::optional<double> rmsNormEps, ropeTheta;
  };
  /// Takes the keys that every decoder has.
  void readDecoder(ConfigReader &config, const Defaults &defaults);
  /// use_sliding_window with its two numbers: no layer may slide.
  void readSlidingWindow(ConfigReader &config) const;

  /// The body of a layer. `starts` is the input sequence_starts.
  virtual mlir::Value layer(ModelBuilder &builder, mlir::Value x,
                            mlir::Value starts) const = 0;

  // Parts of a layer, under the names that Transformers gives them.
  mlir::Value norm(ModelBuilder &builder, llvm::StringRef name,
                   mlir::Value x) const;
  struct Queries {
    mlir::Value q, k, v;
  };
  /// self_attn.{q,k,v}_proj.
  Queries projectQueries(ModelBuilder &builder, mlir::Value x,
                         bool hasBias) const;
  /// Rotates q and k, attends, and projects with self_attn.o_proj.
  mlir::Value attend(ModelBuilder &builder, Queries queries, mlir::Value starts,
                     bool hasBias) const;
  /// mlp: down_proj(silu(gate_proj(x)) * up_proj(x)).
  mlir::Value gatedMlp(ModelBuilder &builder, mlir::Value x,
                       bool hasBias) const;

private:
  void checkShapes(ConfigReader &config) const;
  mlir::Value rotate(ModelBuilder &builder, llvm::StringRef name, mlir::Value x,
                     mlir::Value starts, int64_t heads) const;
  mlir::Value embed(ModelBuilder &builder) const;
  mlir::Value head(ModelBuilder &builder, mlir::Value x) const;

  int64_t hiddenSize = 0, intermediateSize = 0, numHiddenLayers = 0;
  int64_t numAttentionHeads = 0, numKeyValueHeads = 0, headDim = 0;
  int64_t vocabSize = 0;
  double rmsNormEps = 0;
  Rope rope;
  bool tieWordEmbeddings = false;
};

} // namespace hone

#endif
