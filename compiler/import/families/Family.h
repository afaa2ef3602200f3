//===- Family.h - The families of models that can be imported -------------===//
//
// To add one: a file here that defines its Family, and its name in the list at
// the end. A model that comes without tokenizer.json needs its class of
// tokenizers in compiler/text/TokenizerBuilder.cpp, too.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "compiler/import/HuggingFaceModel.h"

#include "llvm/ADT/StringRef.h"

namespace hone {

/// A family's names in other programs than Transformers for which hone-adapter
/// can write adapters.
struct ElsewhereNames {
  llvm::StringLiteral gguf = ""; ///< llama.cpp's general.architecture, or ""
  /// llama.cpp rotates neighbouring pairs of a head for the architecture,
  /// Transformers its halves: rows of q and k are reordered.
  bool interleavesHeads = false;
  /// mlx-lm has the family, and Transformers' names in it, but for the body's.
  bool isInMlx = false;
  llvm::StringLiteral body = "model.", bodyInMlx = "model.";
};

struct Family {
  llvm::StringLiteral modelType, architecture; ///< as config.json has them
  /// A model that has read nothing yet.
  std::unique_ptr<HuggingFaceModel> (*create)();
  ElsewhereNames elsewhere;
  /// The module whose table a tied head has.
  llvm::StringLiteral embeddingModule = "model.embed_tokens";
  /// Transformers' default of tie_word_embeddings.
  bool tiesEmbeddings = true;
  /// The same for head_dim; 0: hidden_size / num_attention_heads.
  int64_t headDim = 0;
  /// The module that gets an adapter where a spec does not say, as in PEFT's
  /// TRANSFORMERS_MODELS_TO_LORA_TARGET_MODULES_MAPPING; empty: the spec's own
  /// default.
  llvm::StringLiteral targetModule = "";
  /// Transformers holds its matrices as [in, out]: PEFT's fan_in_fan_out.
  bool isConv1d = false;
};

/// For Family::create.
template <typename Model> std::unique_ptr<HuggingFaceModel> create() {
  return std::make_unique<Model>();
}

extern const Family gemma3, gpt2, gptNeo, llama, mistral, opt, qwen2, qwen3;

/// In the order in which messages list them.
inline const Family *const families[] = {&llama,  &mistral, &qwen2, &qwen3,
                                         &gemma3, &opt,     &gpt2,  &gptNeo};

/// Null for a model type that is none of theirs.
const Family *familyOf(llvm::StringRef modelType);

} // namespace hone
