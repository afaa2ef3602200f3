//===- ModelSources.cpp - The sources of a program's weights --------------===//

#include "compiler/weights/ModelSources.h"

#include "compiler/text/ChatBuilder.h"
#include "compiler/text/TokenizerBuilder.h"
#include "text/TokenizerTable.h"

#include "llvm/Support/Path.h"

using namespace hone;

/// The folder or file that the weights are in.
static std::string weightsPath(const Spec &spec) {
  if (!spec.isMlir())
    return spec.model;
  if (!spec.weights.path.empty())
    return spec.weights.path;
  llvm::SmallString<128> beside(llvm::sys::path::parent_path(spec.model));
  llvm::sys::path::append(beside, "model.safetensors");
  return beside.str().str();
}

Result<WeightIndex> hone::findTensors(const Spec &spec,
                                      const HuggingFaceModel *model,
                                      llvm::ArrayRef<Parameter> pretrained) {
  const std::vector<ExpectedTensor> expected =
      expectedTensors(pretrained, model && model->quantization.has_value());
  HONE_ASSIGN(WeightIndex tensors, WeightIndex::open(weightsPath(spec)));
  if (!model) {
    HONE_TRY(tensors.require(expected, spec.modelName()));
    return std::move(tensors);
  }
  tensors.setBasePrefix(model->baseModelPrefix);
  if (model->tiesEmbeddings)
    tensors.setSource(headModule, model->embeddingModule);
  HONE_TRY(tensors.require(expected, "config.json"));
  HONE_TRY(tensors.refuseUnused(expected, model->redundantTensors));
  return std::move(tensors);
}

Result<ModelSources> hone::findSources(WeightIndex tensors, const Spec &spec,
                                       int64_t vocabSize) {
  ModelSources sources;
  sources.tensors = std::move(tensors);
  std::string folder = weightsPath(spec);
  if (spec.isMlir())
    folder = llvm::sys::path::parent_path(folder).str();
  HONE_ASSIGN(sources.tokenizer, buildTokenizerTable(folder));
  if (sources.tokenizer.empty())
    return std::move(sources);
  HONE_ASSIGN(rt::TokenizerTable table,
              rt::TokenizerTable::open(sources.tokenizer, folder));
  if (vocabSize && table.tokenCount() > vocabSize)
    return Status(ErrorCode::TokenizerMisfit, folder + "/tokenizer.json",
                  "expected ids below vocab_size, " +
                      std::to_string(vocabSize) + ", but the tokenizer has " +
                      std::to_string(table.tokenCount()) + " tokens",
                  "take the tokenizer from the same place as the weights");
  HONE_ASSIGN(sources.chat,
              buildChatBlock(folder, spec.chat_template, sources.tokenizer));
  return std::move(sources);
}
