//===- WeightManifest.cpp - A weights file that is yet to be made ---------===//

#include "compiler/weights/WeightManifest.h"

#include "base/Json.h"
#include "base/Sha256.h"
#include "passes/module/WeightStorage.h"

#include "llvm/Support/FormatVariadic.h"

#include <cmath>

using namespace hone;

rt::Distribution hone::distributionOf(llvm::StringRef tensor, double deviation,
                                      double normCenter) {
  llvm::StringRef module = tensor.rsplit('.').first.rsplit('.').second;
  if (tensor.ends_with("norm.weight") ||
      (module.starts_with("ln_") && tensor.ends_with(".weight")))
    return {static_cast<float>(normCenter), 0.1f};
  return {0.0f, static_cast<float>(deviation * std::sqrt(3.0))};
}

/// Of uniform integers of `bits` bits: numbers, scales and biases.
static rt::Distribution quantized(unsigned kind, int64_t bits,
                                  double deviation) {
  const double last = std::ldexp(1.0, int(bits)) - 1;
  const double scale = deviation / std::sqrt(last * (last + 2) / 12);
  if (kind == 0)
    return {};
  return {static_cast<float>(kind == 1 ? scale : -scale * last / 2), 0};
}

WeightManifest hone::describeWeights(llvm::ArrayRef<Parameter> parameters,
                                     double deviation) {
  std::string tensors;
  for (const StoredPart &part : storedParts(parameters)) {
    const Parameter &parameter = *part.parameter;
    const bool isGrouped = parameter.storage && parameter.storage.isGrouped();
    const rt::Distribution distribution =
        isGrouped ? quantized(part.kind, parameter.storage.getBits(), deviation)
                  : distributionOf(parameter.name, deviation, 1);
    tensors += tensors.empty() ? "\n  {\"name\": " : ",\n  {\"name\": ";
    tensors += rt::jsonString(part.spec.name);
    tensors += llvm::formatv(
        R"(, "dtype": "{0}", "shape": [{1:$[, ]}], "center": {2:e9}, "width": {3:e9}})",
        rt::dtypeName(part.spec.dtype),
        llvm::make_range(part.spec.shape.begin(), part.spec.shape.end()),
        distribution.center, distribution.width);
  }
  WeightManifest manifest;
  const std::string layout = layoutName(parameters);
  manifest.sourceHash = rt::Sha256::hex(layout + tensors);
  manifest.json = "{\"format\": \"hone\", \"layout\": \"" + layout +
                  "\", \"source_hash\": \"" + manifest.sourceHash +
                  "\", \"tensors\": [" + tensors + "\n]}\n";
  return manifest;
}
