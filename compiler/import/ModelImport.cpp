//===- ModelImport.cpp - A Hugging Face model as hone IR ------------------===//

#include "compiler/import/ModelImport.h"
#include "compiler/import/AdapterInsertion.h"
#include "compiler/import/ModelBuilder.h"

#include "mlir/IR/Verifier.h"

#include <algorithm>
#include <limits>

using namespace hone;
using namespace mlir;

OwningOpRef<ModuleOp> hone::buildModule(const HuggingFaceModel &model,
                                        Type element, int64_t longestSequence) {
  Builder builder(element.getContext());
  OwningOpRef<ModuleOp> module =
      ModuleOp::create(NameLoc::get(builder.getStringAttr(model.modelType)));
  ModelBuilder modelBuilder(*module, element, longestSequence);
  model.build(modelBuilder);
  return module;
}

Type hone::activationType(const Spec &spec, MLIRContext *context) {
  if (spec.train.compute_dtype == "float64")
    return Float64Type::get(context);
  if (spec.train.compute_dtype == "bfloat16")
    return BFloat16Type::get(context);
  return Float32Type::get(context);
}

Result<ImportedModel> hone::importModel(MLIRContext &context,
                                        const HuggingFaceModel &model,
                                        const Spec &spec) {
  if (model.maxPositionEmbeddings &&
      spec.train.max_seq_length > model.maxPositionEmbeddings)
    return Status(
        ErrorCode::SpecDisagreesWithModel, spec.placeOf("train.max_seq_length"),
        "expected at most the model's max_position_embeddings, " +
            std::to_string(model.maxPositionEmbeddings) + ", but found " +
            std::to_string(spec.train.max_seq_length),
        "longer samples can be split, or the model's rope settings changed");
  Builder builder(&context);
  OwningOpRef<ModuleOp> module = buildModule(
      model, activationType(spec, &context), spec.train.max_seq_length);
  (*module)->setAttr(HoneDialect::getMaxRowsAttrName(),
                     builder.getI64IntegerAttr(spec.maxRows()));
  (*module)->setAttr(HoneDialect::getMaxPositionsAttrName(),
                     builder.getI64IntegerAttr(spec.train.max_seq_length));
  untieTrained(*module, model, spec);
  HONE_ASSIGN(rt::LoraSettings lora, chooseTrained(*module, spec));
  if (failed(verify(*module)))
    return Status(ErrorCode::Bug, model.file,
                  "the imported module is not valid",
                  "please report this with config.json and the spec");
  return Result<ImportedModel>({std::move(module), std::move(lora)});
}

void hone::freeze(ModuleOp module) {
  module.walk([](ParameterOp op) {
    op.setTrainable(false);
    op.removeInitAttr();
  });
}

int64_t hone::vocabularySize(ModuleOp module) {
  int64_t size = std::numeric_limits<int32_t>::max();
  auto bound = [&](Value table) {
    size =
        std::min(size, cast<RankedTensorType>(table.getType()).getDimSize(0));
  };
  module.walk([&](EmbeddingOp op) { bound(op.getTable()); });
  module.walk([&](LinearCrossEntropyOp op) { bound(op.getWeight()); });
  return size;
}
