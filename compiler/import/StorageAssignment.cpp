//===- StorageAssignment.cpp - How each matrix is stored ------------------===//
//
// One block serves many layers, so all of them must store a parameter alike.
//
//===----------------------------------------------------------------------===//

#include "compiler/import/StorageAssignment.h"
#include "dialects/Hone/HoneOps.h"
#include "formats/Safetensors.h"

using namespace hone;
using namespace mlir;

/// spec.weights, which follow a model that is quantised already.
static Result<rt::WeightSettings> weightsOf(const Spec &spec,
                                            const HuggingFaceModel *model) {
  rt::WeightSettings weights = spec.weights;
  if (!model || !model->quantization)
    return weights;
  auto disagrees = [&](const char *key, const std::string &expected,
                       const std::string &found) {
    return Status(ErrorCode::SpecDisagreesWithModel, spec.placeOf(key),
                  "expected " + expected + ", as in " + model->file +
                      " /quantization, but found " + found,
                  "leave " + std::string(key) +
                      " out: quantised weights are read as they are");
  };
  weights.dtype = "int" + std::to_string(model->quantization->bits);
  weights.group_size = model->quantization->groupSize;
  if (spec.given.count("weights.dtype") && spec.weights.dtype != weights.dtype)
    return disagrees("weights.dtype", weights.dtype, spec.weights.dtype);
  if (spec.given.count("weights.group_size") &&
      spec.weights.group_size != weights.group_size)
    return disagrees("weights.group_size", std::to_string(weights.group_size),
                     std::to_string(spec.weights.group_size));
  return weights;
}

/// Null for weights.dtype float32 and float64.
static StorageAttr storageOf(MLIRContext *context,
                             const rt::WeightSettings &weights) {
  auto type = symbolizeStoredType(weights.dtype);
  if (!type)
    return {};
  int64_t group = *type == StoredType::BFloat16 ? 0 : weights.group_size;
  return StorageAttr::get(context, *type, group);
}

static Status groupMisfit(const Spec &spec, StorageAttr storage,
                          const std::string &name, RankedTensorType type) {
  return Status(
      ErrorCode::GroupMisfit, spec.placeOf("weights.group_size"),
      "expected groups that divide the columns of every matrix, but tensor " +
          name + " is " + rt::describeShape(type.getShape().vec()) +
          " and the groups are of " + std::to_string(storage.getGroup()),
      "use smaller groups if they divide it, or weights.dtype bfloat16");
}

/// Trained parameters must be float, in the model's files too.
static Status checkTrained(ModuleOp module, const Spec &spec,
                           const HuggingFaceModel *model) {
  if (!model || !model->quantization)
    return Status::ok();
  std::string trained;
  SymbolTable symbols(module);
  module.walk([&](CallOp call) {
    for (ParameterOp op : symbols.lookup<BlockOp>(call.getBlock())
                              .getBody()
                              .getOps<ParameterOp>()) {
      auto type = cast<RankedTensorType>(op.getType());
      std::string name =
          model->sourceOf((call.getPrefix() + op.getName()).str());
      if (op.getInit() == Init::Pretrained && type.getRank() == 2 &&
          model->quantization->covers(name, type.getDimSize(1)))
        trained = name;
    }
  });
  if (trained.empty())
    return Status::ok();
  return Status(
      ErrorCode::SpecDisagreesWithModel,
      spec.placeOf(spec.lora.none ? "lora" : "lora.modules_to_save"),
      "expected parameters that the model's files hold as floats, but " +
          trained + " is quantised in them and would train",
      "use the original model, or train adapters only");
}

Result<rt::WeightSettings> hone::assignStorage(ModuleOp module,
                                               const Spec &spec,
                                               const HuggingFaceModel *model) {
  Result<rt::WeightSettings> weights = weightsOf(spec, model);
  HONE_TRY(weights);
  if (spec.lora.dtype == "bfloat16")
    module.walk([](ParameterOp op) {
      if (op.getTrainable())
        op.setStoredAttr(
            StorageAttr::get(op.getContext(), StoredType::BFloat16, 0));
    });
  HONE_TRY(checkTrained(module, spec, model));
  StorageAttr storage = storageOf(module.getContext(), weights.value());
  if (!storage)
    return weights;

  struct Decision {
    StorageAttr storage;
    std::string name;
  };
  llvm::MapVector<Operation *, Decision> decisions;
  SymbolTable symbols(module);
  for (EntryOp entry : module.getOps<EntryOp>())
    for (CallOp call : entry.getBody().getOps<CallOp>())
      for (ParameterOp op : symbols.lookup<BlockOp>(call.getBlock())
                                .getBody()
                                .getOps<ParameterOp>()) {
        auto type = cast<RankedTensorType>(op.getType());
        if (op.getTrainable() || op.getStored() || type.getRank() != 2)
          continue;
        std::string name = (call.getPrefix() + op.getName()).str();
        int64_t in = type.getDimSize(1);
        StorageAttr wanted = storage;
        if (model && model->quantization &&
            !model->quantization->covers(model->sourceOf(name), in))
          wanted = {};
        if (wanted && wanted.isGrouped() && in % wanted.getGroup())
          return groupMisfit(spec, wanted, name, type);
        auto [at, isNew] = decisions.insert({op, {wanted, name}});
        if (!isNew && at->second.storage != wanted)
          return Status(
              ErrorCode::UnsupportedQuantization,
              model->file + " /quantization",
              "expected layers of one kind to be quantised alike, but of " +
                  at->second.name + " and " + name + " one is not",
              "use a model that is quantised throughout, or an unquantised "
              "one");
      }
  for (auto &[op, decision] : decisions)
    if (decision.storage)
      cast<ParameterOp>(op).setStoredAttr(decision.storage);
  return weights;
}
