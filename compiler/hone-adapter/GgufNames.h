//===- GgufNames.h - What llama.cpp calls the parts of a model ------------===//
//
// A family is a row of the table at the end. llama.cpp's gguf-py
// (tensor_mapping.py) and convert_hf_to_gguf.py are the sources.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_COMPILER_HONE_ADAPTER_GGUFNAMES_H
#define HONE_COMPILER_HONE_ADAPTER_GGUFNAMES_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <string>

namespace hone {

struct GgufName {
  llvm::StringLiteral huggingFace, gguf;
};

/// A family of models.
struct GgufFamily {
  llvm::StringLiteral modelType;    ///< config.json's model_type
  llvm::StringLiteral architecture; ///< general.architecture
  /// Names of layers: LAYERS.N.MODULE is blk.N.NAME.
  llvm::StringLiteral layers;
  llvm::ArrayRef<GgufName> modules; ///< of a layer
  llvm::ArrayRef<GgufName> others;  ///< of the model
  /// llama.cpp rotates neighbouring pairs of a head for this architecture,
  /// Transformers its halves: rows of q and k are reordered.
  bool interleavesHeads;
};

inline constexpr GgufName decoderModules[] = {
    {"self_attn.q_proj", "attn_q"}, {"self_attn.k_proj", "attn_k"},
    {"self_attn.v_proj", "attn_v"}, {"self_attn.o_proj", "attn_output"},
    {"mlp.gate_proj", "ffn_gate"},  {"mlp.up_proj", "ffn_up"},
    {"mlp.down_proj", "ffn_down"},
};
inline constexpr GgufName headOnly[] = {{"lm_head", "output"}};

inline constexpr GgufFamily ggufFamilies[] = {
    {"llama", "llama", "model.layers", decoderModules, headOnly, true},
    {"mistral", "llama", "model.layers", decoderModules, headOnly, true},
    {"qwen2", "qwen2", "model.layers", decoderModules, headOnly, false},
    {"qwen3", "qwen3", "model.layers", decoderModules, headOnly, false},
};

/// Null for a family that is not in the table.
const GgufFamily *ggufFamilyOf(llvm::StringRef modelType);

/// "blk.0.attn_q" for "model.layers.0.self_attn.q_proj"; "" if the family has
/// no such module.
std::string ggufNameOf(const GgufFamily &family, llvm::StringRef module);

/// Where row `row` of a matrix of `rows`, with `heads` heads, goes to.
int64_t interleavedRow(int64_t row, int64_t rows, int64_t heads);

} // namespace hone

#endif
