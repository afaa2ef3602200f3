//===- AdapterShapes.cpp - Which adapter a module gets --------------------===//

#include "compiler/import/AdapterShapes.h"
#include "formats/Adapter.h"
#include "passes/parts/LayerRange.h"

#include "llvm/ADT/StringExtras.h"

using namespace hone;

AdapterShapes::AdapterShapes(const Spec &spec, int64_t layerCount)
    : spec(spec), layerCount(layerCount), ranks(spec.lora.rank_pattern),
      alphas(spec.lora.alpha_pattern) {
  for (const std::string &text : spec.lora.layers_to_transform)
    if (auto range = parseLayerRange(text)) {
      if (range->last >= layerCount && beyond.empty())
        beyond = text;
      for (int64_t i = range->first; i <= std::min(range->last, layerCount - 1);
           ++i)
        chosen.insert(i);
    }
  unusedLayers = chosen;
}

std::vector<int64_t> AdapterShapes::layers() const {
  return {chosen.begin(), chosen.end()};
}

double AdapterShapes::numberOf(Numbers &numbers, const std::string &path,
                               double standard) {
  const PatternNumbers &keys = numbers.keys;
  const size_t first = keys.find(path);
  if (first == keys.size())
    return standard;
  for (size_t i = first; i < keys.size(); i = keys.find(path, i + 1)) {
    numbers.isUsed[i] = true;
    if (keys.number(first) != keys.number(i) && disagreement.isOk())
      disagreement = Status(
          ErrorCode::KeysDisagree, spec.placeOf(numbers.setting.key()),
          "expected one number for each module, but '" + keys.text(first) +
              "' and '" + keys.text(i) + "' both name " + path,
          "PEFT's files do not keep the order of keys; write keys so that only "
          "one of them names it");
  }
  return keys.number(first);
}

AdapterShape AdapterShapes::shapeOf(const std::string &path,
                                    std::optional<int64_t> layer) {
  // As PEFT: a module that is named by its whole path is in any layer.
  if (!chosen.empty() && !llvm::is_contained(spec.lora.target_modules, path)) {
    if (!layer || !chosen.count(*layer))
      return {};
    unusedLayers.erase(*layer);
  }
  const auto rank = static_cast<int64_t>(
      numberOf(ranks, path, static_cast<double>(spec.lora.r)));
  const double alpha = numberOf(alphas, path, spec.lora.lora_alpha);
  return {rank, rt::loraScale(alpha, rank, spec.lora.use_rslora)};
}

Status AdapterShapes::check() const {
  if (!disagreement.isOk())
    return disagreement;
  if (!beyond.empty())
    return Status(ErrorCode::NoSuchModule,
                  spec.placeOf(spec.lora.layers_to_transform.key()),
                  (layerCount == 0
                       ? "expected no layer, since the model has none"
                       : "expected layers from 0 to " +
                             std::to_string(layerCount - 1) +
                             ", which the model has,") +
                      " but found '" + beyond + "'",
                  "layers are counted from 0, and both ends are included");
  if (!unusedLayers.empty())
    return Status(ErrorCode::NoSuchModule,
                  spec.placeOf(spec.lora.layers_to_transform.key()),
                  "layer " + std::to_string(*unusedLayers.begin()) +
                      " has no module of lora.target_modules",
                  "layers are counted from 0; leave it out");
  for (const Numbers *numbers : {&ranks, &alphas})
    for (size_t i = 0; i < numbers->keys.size(); ++i)
      if (!numbers->isUsed[i])
        return Status(ErrorCode::NoSuchModule,
                      spec.placeOf(numbers->setting.key()),
                      "'" + numbers->keys.text(i) +
                          "' names no module that gets an adapter",
                      "a key is a module's path, or its end after a dot, as in "
                      "layers.0.self_attn.q_proj; . is any character");
  return Status::ok();
}
