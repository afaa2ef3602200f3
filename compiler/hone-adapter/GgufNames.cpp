//===- GgufNames.cpp - What llama.cpp calls the parts of a model ----------===//

#include "compiler/hone-adapter/GgufNames.h"

#include "llvm/ADT/StringExtras.h"

using namespace hone;
using llvm::StringRef;

const GgufFamily *hone::ggufFamilyOf(StringRef modelType) {
  for (const GgufFamily &family : ggufFamilies)
    if (family.modelType == modelType)
      return &family;
  return nullptr;
}

std::string hone::ggufNameOf(const GgufFamily &family, StringRef module) {
  for (const GgufName &name : family.others)
    if (name.huggingFace == module)
      return name.gguf.str();
  if (!module.consume_front(family.layers) || !module.consume_front("."))
    return "";
  auto [layer, rest] = module.split('.');
  unsigned number;
  if (layer.getAsInteger(10, number) || std::to_string(number) != layer)
    return "";
  for (const GgufName &name : family.modules)
    if (name.huggingFace == rest)
      return "blk." + layer.str() + "." + name.gguf.str();
  return "";
}

int64_t hone::interleavedRow(int64_t row, int64_t rows, int64_t heads) {
  const int64_t head = rows / heads, half = head / 2;
  const int64_t in = row % head;
  return row - in + in % half * 2 + in / half;
}
