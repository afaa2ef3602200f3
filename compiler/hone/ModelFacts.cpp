//===- ModelFacts.cpp - The facts of a model that choose a run ------------===//

#include "compiler/hone/ModelFacts.h"

#include "compiler/import/HuggingFaceModel.h"
#include "compiler/weights/WeightIndex.h"
#include "platform/Files.h"

#include "llvm/Support/Path.h"

#include <map>

using namespace hone;

std::string ModelFacts::name() const {
  return llvm::sys::path::filename(folder).str();
}

Result<ModelFacts> ModelFacts::read(const std::string &folder) {
  HONE_ASSIGN(const std::unique_ptr<HuggingFaceModel> model,
              HuggingFaceModel::open(folder));
  HONE_ASSIGN(const WeightIndex tensors, WeightIndex::open(folder));
  ModelFacts facts;
  facts.folder = rt::platform::resolve(folder);
  facts.positions = model->maxPositionEmbeddings;
  facts.isQuantized = model->quantization.has_value();
  std::map<rt::Dtype, uint64_t> bytesOf;
  for (const std::string &name : tensors.names()) {
    const rt::TensorInfo &tensor = *tensors.find(name)->tensor;
    facts.numbers += tensor.elements();
    facts.fileBytes += tensor.bytes();
    bytesOf[tensor.dtype] += tensor.bytes();
  }
  for (auto [dtype, bytes] : bytesOf)
    if (bytes > bytesOf[facts.dtype])
      facts.dtype = dtype;
  return facts;
}
