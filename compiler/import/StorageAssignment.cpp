//===- StorageAssignment.cpp - How each frozen matrix is stored -----------===//
//
// One block serves many layers, so all of them must store a parameter alike.
//
//===----------------------------------------------------------------------===//

#include "compiler/import/StorageAssignment.h"
#include "dialects/Hone/HoneOps.h"

using namespace hone;
using namespace mlir;
using rt::ExitCode;
using rt::Status;

/// The spec's keys follow a model that is quantised already.
static Status adoptQuantization(Spec &spec, const Quantization &quantization,
                                const std::string &place) {
  auto adopt = [&](const char *key, auto &value, auto found,
                   const std::string &foundText, const std::string &valueText) {
    if (spec.given.count(key) && value != found)
      return Status::error(
          ExitCode::Usage,
          {spec.file + ": " + key,
           "expected " + foundText + ", as in " + place +
               " /quantization, "
               "but found " +
               valueText,
           "leave " + std::string(key) +
               " out: quantised weights are read as they are"});
    value = found;
    return Status::ok();
  };
  std::string dtype = "int" + std::to_string(quantization.bits);
  Status status = adopt("weights.dtype", spec.weights.dtype, dtype, dtype,
                        spec.weights.dtype);
  if (status.isOk())
    status =
        adopt("weights.group_size", spec.weights.group_size,
              quantization.groupSize, std::to_string(quantization.groupSize),
              std::to_string(spec.weights.group_size));
  return status;
}

/// Null for weights.dtype float32 and float64.
static StorageAttr storageOf(MLIRContext *context, const Spec &spec) {
  auto type = symbolizeStoredType(spec.weights.dtype);
  if (!type)
    return {};
  int64_t group = *type == StoredType::BFloat16 ? 0 : spec.weights.group_size;
  return StorageAttr::get(context, *type, group);
}

static Status groupMisfit(const Spec &spec, const std::string &name,
                          RankedTensorType type) {
  std::string shape = "[" + std::to_string(type.getDimSize(0)) + ", " +
                      std::to_string(type.getDimSize(1)) + "]";
  return Status::error(
      ExitCode::Usage,
      {spec.file + ": weights.group_size",
       "expected groups that divide the columns of every matrix, but tensor " +
           name + " is " + shape + " and the groups are of " +
           std::to_string(spec.weights.group_size),
       "use smaller groups if they divide it, or weights.dtype bfloat16"});
}

Status hone::assignStorage(ModuleOp module, Spec &spec,
                           const ModelConfig *config) {
  const Quantization *given =
      config && config->quantization ? &*config->quantization : nullptr;
  if (given)
    if (Status status = adoptQuantization(spec, *given, config->file);
        !status.isOk())
      return status;
  if (spec.lora.dtype == "bfloat16")
    module.walk([](ParameterOp op) {
      if (op.getTrainable())
        op.setStoredAttr(
            StorageAttr::get(op.getContext(), StoredType::BFloat16, 0));
    });
  StorageAttr storage = storageOf(module.getContext(), spec);
  if (!storage)
    return Status::ok();

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
        if (given && !given->covers(name, in))
          wanted = {};
        if (wanted && wanted.isGrouped() && in % wanted.getGroup())
          return groupMisfit(spec, name, type);
        auto [at, isNew] = decisions.insert({op, {wanted, name}});
        if (!isNew && at->second.storage != wanted)
          return Status::error(
              ExitCode::BadData,
              {config->file + " /quantization",
               "expected layers of one kind to be quantised alike, but of " +
                   at->second.name + " and " + name + " one is not",
               "use a model that is quantised throughout, or an unquantised "
               "one"});
      }
  for (auto &[op, decision] : decisions)
    if (decision.storage)
      cast<ParameterOp>(op).setStoredAttr(decision.storage);
  return Status::ok();
}
