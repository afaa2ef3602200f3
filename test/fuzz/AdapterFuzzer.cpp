//===- AdapterFuzzer.cpp - Any folder as a PEFT adapter -------------------===//
//
// libFuzzer target; parts: adapter_config.json, adapter_model.safetensors.
// Beyond not crashing: a refused adapter changes none of the memory that it was
// to be read into.
//
//===----------------------------------------------------------------------===//

#include "formats/Adapter.h"

#include "Parts.h"

#include <algorithm>

using namespace hone;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static fuzz::Folder folder;
  auto parts = fuzz::split({reinterpret_cast<const char *>(data), size});
  parts.resize(2);
  folder.write("adapter_config.json", parts[0]);
  folder.write("adapter_model.safetensors", parts[1]);

  rt::AdapterConfig expected;
  expected.r = 2;
  expected.lora_alpha = 4;
  float a[6], b[8];
  std::fill(std::begin(a), std::end(a), 7.0f);
  std::fill(std::begin(b), std::end(b), 7.0f);
  rt::Status status =
      rt::readAdapter(folder.path, expected,
                      {{"q.lora_A.weight", {2, 3}, rt::Dtype::F32, a},
                       {"q.lora_B.weight", {4, 2}, rt::Dtype::F32, b}},
                      rt::AdapterUse::Train);
  if (status.isOk())
    return 0;
  fuzz::requireMessage(status);
  auto isSeven = [](float x) { return x == 7.0f; };
  if (!std::all_of(std::begin(a), std::end(a), isSeven) ||
      !std::all_of(std::begin(b), std::end(b), isSeven))
    std::abort();
  return 0;
}
