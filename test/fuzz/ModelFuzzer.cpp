//===- ModelFuzzer.cpp - Any folder as a model ----------------------------===//
//
// libFuzzer target; parts: config.json, model.safetensors.index.json,
// x.safetensors. Beyond not crashing: every tensor of an accepted index is
// found.
//
//===----------------------------------------------------------------------===//

#include "compiler/import/HuggingFaceModel.h"
#include "compiler/weights/WeightIndex.h"

#include "Parts.h"

using namespace hone;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static fuzz::Folder folder;
  auto parts = fuzz::split({reinterpret_cast<const char *>(data), size});
  parts.resize(3);
  folder.write("model.safetensors.index.json", parts[1]);
  folder.write("x.safetensors", parts[2]);
  auto model = HuggingFaceModel::parse(std::string(parts[0]), "config.json");
  if (!model.isOk())
    fuzz::requireMessage(model.status());
  rt::Result<WeightIndex> index = WeightIndex::open(folder.path);
  if (!index.isOk()) {
    fuzz::requireMessage(index.status());
    return 0;
  }
  for (const std::string &name : index.value().names())
    if (!index.value().find(name))
      std::abort();
  (void)index.value().contentHash();
  return 0;
}
