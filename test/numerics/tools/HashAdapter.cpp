//===- HashAdapter.cpp - A PEFT adapter from a hash -----------------------===//
//
// hash-adapter GRADIENTS.safetensors DIR R ALPHA random|zero-b
//
// Writes the adapter that the golden figures of stories260k were made with:
// names and shapes from a gradient dump of the same model, values from the
// formulas of test/reference/README.md.
//
//===----------------------------------------------------------------------===//

#include "HashValues.h"

#include "formats/Adapter.h"
#include "formats/Safetensors.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <set>

using namespace hone::rt;
using namespace hone::test;

/// "q_proj" of "...self_attn.q_proj.lora_A.weight".
static std::string moduleOf(const std::string &name) {
  size_t end = name.find(".lora_");
  return name.substr(name.rfind('.', end - 1) + 1,
                     end - name.rfind('.', end - 1) - 1);
}

int main(int argc, char **argv) {
  if (argc != 6) {
    std::fprintf(stderr, "usage: hash-adapter GRADIENTS DIR R ALPHA "
                         "random|zero-b\n");
    return 2;
  }
  Result<SafetensorsFile> dump = SafetensorsFile::open(argv[1]);
  if (!dump.isOk()) {
    std::fputs(dump.status().render().c_str(), stderr);
    return 1;
  }
  AdapterConfig config;
  config.r = std::atoll(argv[3]);
  config.lora_alpha = std::atof(argv[4]);
  bool zeroB = std::string(argv[5]) == "zero-b";

  std::set<std::string> modules;
  std::vector<std::vector<float>> storage;
  std::vector<TensorMemory> tensors;
  for (const TensorInfo &info : dump.value().tensors()) {
    bool isA = info.name.find(".lora_A.") != std::string::npos;
    double scale = isA ? 1 / std::sqrt(double(info.shape[1]))
                       : 0.5 / std::sqrt(double(config.r));
    if (!isA && zeroB)
      scale = 0;
    std::vector<float> &values = storage.emplace_back(info.elements());
    for (size_t i = 0; i < values.size(); ++i)
      values[i] = static_cast<float>(uniform(info.name, i) * scale);
    modules.insert(moduleOf(info.name));
    tensors.push_back(
        {info.name.substr(peftPrefix.size()), info.shape, Dtype::F32, nullptr});
  }
  for (size_t i = 0; i < tensors.size(); ++i)
    tensors[i].data = storage[i].data();
  config.target_modules.assign(modules.begin(), modules.end());
  Status status = writeAdapter(argv[2], config, tensors);
  if (!status.isOk())
    std::fputs(status.render().c_str(), stderr);
  return status.isOk() ? 0 : 1;
}
