//===- WeightStorage.cpp - The tensors that hold a frozen parameter -------===//

#include "passes/module/WeightStorage.h"

#include "passes/module/ParameterTable.h"

#include <set>

using namespace mlir;
using namespace hone;

SmallVector<StoredTensor, 3> hone::storedTensors(RankedTensorType type,
                                                 StorageAttr storage) {
  if (!storage)
    return {{"", type}};
  Builder builder(type.getContext());
  if (!storage.isGrouped())
    return {{"", type.clone(builder.getBF16Type())}};
  int64_t out = type.getDimSize(0), in = type.getDimSize(1);
  auto groups = RankedTensorType::get({out, in / storage.getGroup()},
                                      builder.getF32Type());
  return {{"", RankedTensorType::get({out, in * storage.getBits() / 8},
                                     builder.getI8Type())},
          {".scales", groups},
          {".biases", groups}};
}

SmallVector<StoredTensor, 3> hone::storedTensors(ParameterOp parameter) {
  return storedTensors(parameter.getType(), parameter.getStoredAttr());
}

std::string hone::layoutName(ArrayRef<Parameter> frozen) {
  std::set<std::string> kinds;
  for (const Parameter &parameter : frozen) {
    StorageAttr storage = parameter.storage;
    if (!storage)
      continue;
    std::string kind = stringifyStoredType(storage.getType()).str();
    if (storage.isGrouped())
      kind += "-g" + std::to_string(storage.getGroup());
    kinds.insert(kind);
  }
  std::string name = "rows";
  for (const std::string &kind : kinds)
    name += "-" + kind;
  return name + "-v1";
}
