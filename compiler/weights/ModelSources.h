//===- ModelSources.h - The sources of a program's weights ----------------===//

#pragma once

#include "compiler/import/HuggingFaceModel.h"
#include "compiler/spec/Spec.h"
#include "compiler/weights/WeightIndex.h"

namespace hone {

struct ModelSources {
  WeightIndex tensors;
  std::string tokenizer, chat; ///< empty: the model has none
  std::string hash;            ///< of the tensors
};

/// The tensors of the model of `spec`, which are all that `model` has, and
/// `pretrained` among them. `model` is null for an .mlir file, which reads
/// those that it names. Errors: those of WeightIndex.
Result<WeightIndex> findTensors(const Spec &spec, const HuggingFaceModel *model,
                                llvm::ArrayRef<Parameter> pretrained);

/// `tensors` with the other sources in the model's folder; `hash` is not known
/// yet. Ids of tokens are below `vocabSize`, unless it is 0. Errors:
/// TokenizerMisfit; those of buildTokenizerTable and buildChatBlock.
Result<ModelSources> findSources(WeightIndex tensors, const Spec &spec,
                                 int64_t vocabSize);

} // namespace hone
