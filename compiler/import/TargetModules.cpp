//===- TargetModules.cpp - Which linear modules get an adapter ------------===//
//
// PEFT's all-linear leaves out the output head, and so does this.
//
//===----------------------------------------------------------------------===//

#include "compiler/import/TargetModules.h"
#include "compiler/spec/Suggestion.h"

using namespace hone;
using llvm::StringRef;
using rt::ExitCode;
using rt::Result;
using rt::Status;

static bool isAllLinear(const Spec &spec) {
  return spec.lora.target_modules == std::vector<std::string>{"all-linear"};
}

static bool names(StringRef target, StringRef path) {
  return path == target || path.ends_with(("." + target).str());
}

static std::string lastWord(StringRef path) {
  return path.rsplit('.').second.str();
}

static Status refuse(const Spec &spec, const std::string &target,
                     const std::vector<LinearModule> &modules) {
  bool isHead = target == "lm_head" || target == "embed_tokens" ||
                StringRef(target).ends_with(".embed_tokens");
  bool isNorm = StringRef(target).ends_with("norm");
  std::vector<std::string> words;
  for (const LinearModule &module : modules)
    words.push_back(lastWord(module.name));
  return Status::error(
      ExitCode::Usage,
      {spec.file + ": lora.target_modules",
       isHead   ? "'" + target +
                      "' cannot have an adapter: embedding and head are frozen"
       : isNorm ? "'" + target + "' is a norm, not a linear module"
                : "no linear module of the model is named '" + target + "'",
       isHead || isNorm ? "choose from: " + llvm::join(words, ", ")
                        : suggest(target, words)});
}

Result<TargetedModules> hone::resolveTargetModules(const Spec &spec,
                                                   const ModelConfig &config) {
  std::vector<LinearModule> modules = decoderModules(config);
  TargetedModules result(config.numHiddenLayers,
                         std::vector<bool>(modules.size(), isAllLinear(spec)));
  if (isAllLinear(spec))
    return result;
  for (const std::string &target : spec.lora.target_modules) {
    bool found = false;
    for (int64_t layer = 0; layer < config.numHiddenLayers; ++layer)
      for (size_t i = 0; i < modules.size(); ++i)
        if (names(target, layerPrefix(layer) + modules[i].name)) {
          result[layer][i] = true;
          found = true;
        }
    if (!found)
      return refuse(spec, target, modules);
  }
  return result;
}

std::vector<std::string> hone::targetModuleNames(const Spec &spec,
                                                 const ModelConfig &config) {
  std::vector<std::string> list = spec.lora.target_modules;
  if (isAllLinear(spec)) {
    list.clear();
    for (const LinearModule &module : decoderModules(config))
      list.push_back(lastWord(module.name));
  }
  llvm::sort(list);
  return list;
}
