//===- PeftAdapter.cpp - An adapter as updates of weights -----------------===//

#include "compiler/hone-adapter/PeftAdapter.h"
#include "platform/Files.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string_view>

using namespace hone;

static bool consumeBack(std::string_view &text, std::string_view end) {
  if (text.size() < end.size() || text.substr(text.size() - end.size()) != end)
    return false;
  text.remove_suffix(end.size());
  return true;
}

/// The name in the model of a bias that trained, whose module may be inside of
/// one of PEFT's; empty if `name` is none.
static std::string biasOf(std::string_view name) {
  if (!consumeBack(name, ".bias"))
    return {};
  consumeBack(name, ".base_layer");
  return std::string(name) + ".bias";
}

LayerModule hone::layerModule(llvm::StringRef module) {
  llvm::StringRef inBody = module;
  for (llvm::StringRef list : {"layers.", ".h."})
    if (size_t at = module.find(list); at != llvm::StringRef::npos) {
      inBody = module.substr(at + list.size());
      break;
    }
  if (inBody.size() == module.size())
    return {-1, module.str()};
  auto [number, rest] = inBody.split('.');
  uint32_t layer;
  if (rest.empty() || number.getAsInteger(10, layer))
    return {-1, module.str()};
  return {int64_t(layer), rest.str()};
}

static Status unsupported(const std::string &place, const std::string &problem,
                          const std::string &remedy) {
  return Status(ErrorCode::UnsupportedAdapter, place, problem, remedy);
}

static constexpr const char *wrongFile =
    "check that both files of the adapter are of one run of PEFT or Hone";

std::string PeftAdapter::placeOf(const rt::TensorInfo &tensor) const {
  return tensors->path() + ": tensor " + tensor.name;
}

Status PeftAdapter::checkPair(LowRankUpdate &update,
                              const PatternNumbers &ranks,
                              const PatternNumbers &alphas) const {
  const rt::TensorInfo *magnitude = update.magnitude;
  if (magnitude && !update.a && !update.b)
    return unsupported(placeOf(*magnitude),
                       "expected " + update.module +
                           ".lora_A.weight beside it, found none",
                       wrongFile);
  for (const auto &[tensor, other, missing] :
       {std::tuple(update.a, update.b, ".lora_B.weight"),
        std::tuple(update.b, update.a, ".lora_A.weight")}) {
    if (!tensor)
      continue;
    if (!other)
      return unsupported(placeOf(*tensor),
                         "expected " + update.module + missing +
                             " beside it, found none",
                         wrongFile);
    if (tensor->shape.size() != 2 || tensor->elements() == 0)
      return unsupported(placeOf(*tensor),
                         "expected a matrix, found shape " +
                             rt::describeShape(tensor->shape),
                         "adapters of convolutions are not supported");
  }
  if (update.a->shape[0] != update.b->shape[1])
    return unsupported(placeOf(*update.b),
                       "expected [out, " + std::to_string(update.a->shape[0]) +
                           "] beside lora_A of shape " +
                           rt::describeShape(update.a->shape) + ", found " +
                           rt::describeShape(update.b->shape),
                       wrongFile);
  if (bool(magnitude) != settings.use_dora)
    return unsupported(
        placeOf(*update.a),
        "expected a lora_magnitude_vector exactly with use_dora, "
        "which is " +
            std::string(settings.use_dora ? "true" : "false"),
        wrongFile);
  if (magnitude && magnitude->shape != std::vector<int64_t>{update.out()})
    return unsupported(placeOf(*magnitude),
                       "expected shape [" + std::to_string(update.out()) +
                           "], found " + rt::describeShape(magnitude->shape),
                       wrongFile);
  const auto rank = static_cast<int64_t>(
      ranks.numberOf(update.module, static_cast<double>(settings.r)));
  if (update.rank() != rank)
    return unsupported(placeOf(*update.a),
                       "expected r = " + std::to_string(rank) +
                           " of adapter_config.json, found rank " +
                           std::to_string(update.rank()),
                       wrongFile);
  update.scale =
      rt::loraScale(alphas.numberOf(update.module, settings.lora_alpha), rank,
                    settings.use_rslora);
  return Status::ok();
}

/// Whether `name` is a tensor of one of modules_to_save: "lm_head" is in
/// "lm_head.weight" and "model.lm_head.weight".
static bool isSaved(const rt::AdapterConfig &settings, std::string_view name) {
  const std::string path = "." + std::string(name);
  return std::any_of(
      settings.modules_to_save.begin(), settings.modules_to_save.end(),
      [&](const std::string &module) {
        return path.find("." + module + ".") != std::string::npos;
      });
}

Status PeftAdapter::sortTensor(const rt::TensorInfo &tensor,
                               std::map<std::string, LowRankUpdate> &byModule) {
  std::string_view name = tensor.name;
  if (name.substr(0, rt::peftPrefix.size()) != rt::peftPrefix)
    return unsupported(placeOf(tensor),
                       "expected a name that begins with " +
                           std::string(rt::peftPrefix),
                       "use an adapter that save_pretrained() wrote");
  if (!rt::isConvertible(tensor.dtype))
    return unsupported(placeOf(tensor),
                       std::string("expected F32, F64, BF16 or F16, found ") +
                           rt::dtypeName(tensor.dtype),
                       "use an adapter with one of those");
  name.remove_prefix(rt::peftPrefix.size());
  bool isA = consumeBack(name, ".lora_A.weight");
  if (isA || consumeBack(name, ".lora_B.weight")) {
    LowRankUpdate &update = byModule[std::string(name)];
    (isA ? update.a : update.b) = &tensor;
    return Status::ok();
  }
  if (consumeBack(name, ".lora_magnitude_vector")) {
    byModule[std::string(name)].magnitude = &tensor;
    return Status::ok();
  }
  std::string bias = settings.bias == "none" ? "" : biasOf(name);
  if (!bias.empty()) {
    whole.push_back({bias, &tensor});
    return Status::ok();
  }
  if (!isSaved(settings, name) || name.find("lora_") != std::string_view::npos)
    return unsupported(
        placeOf(tensor),
        "expected .lora_A.weight, .lora_B.weight, a tensor of "
        "modules_to_save or, where adapter_config.json has bias, a bias",
        "adapters of embeddings are not supported");
  whole.push_back({std::string(name), &tensor});
  return Status::ok();
}

Status PeftAdapter::sortTensors() {
  std::map<std::string, LowRankUpdate> byModule;
  for (const rt::TensorInfo &tensor : tensors->tensors())
    HONE_TRY(sortTensor(tensor, byModule));
  const PatternNumbers ranks(settings.rank_pattern),
      alphas(settings.alpha_pattern);
  for (auto &[module, update] : byModule) {
    update.module = module;
    HONE_TRY(checkPair(update, ranks, alphas));
    pairs.push_back(update);
  }
  std::vector<std::string_view> names;
  for (const rt::TensorInfo &tensor : tensors->tensors())
    names.push_back(
        std::string_view(tensor.name).substr(rt::peftPrefix.size()));
  HONE_TRY(rt::checkTargets(rt::platform::parentDirectory(tensors->path()),
                            settings, names));
  std::sort(whole.begin(), whole.end(),
            [](const SavedTensor &a, const SavedTensor &b) {
              return a.name < b.name;
            });
  if (pairs.empty() && whole.empty())
    return unsupported(tensors->path(), "expected tensors, found none",
                       wrongFile);
  return Status::ok();
}

static Status checkNumbers(const std::string &path,
                           const rt::AdapterConfig &config) {
  auto checkFinite = [&](const std::string &key, double number) {
    return std::isfinite(number)
               ? Status::ok()
               : unsupported(path + " " + key, "expected a finite number",
                             wrongFile);
  };
  Status status = checkFinite("/lora_alpha", config.lora_alpha);
  for (const auto &[name, numbers] :
       {std::pair("/rank_pattern", &config.rank_pattern),
        std::pair("/alpha_pattern", &config.alpha_pattern)}) {
    if (std::string problem = PatternNumbers::problemOf(*numbers);
        !problem.empty())
      return unsupported(path + " " + name, "expected " + problem,
                         "write keys that name several modules");
    for (const auto &[key, number] : *numbers) {
      const std::string place = std::string(name) + "/" + key;
      if (status.isOk())
        status = checkFinite(place, number);
      if (std::string problem = ModulePattern::problemOf(key);
          status.isOk() && !problem.empty())
        status =
            unsupported(path + " " + place,
                        "expected a regular expression, but the key " + problem,
                        "write keys that are ends of the modules' paths");
    }
  }
  return status;
}

/// The model is not known here. That is room for 16,000 modules.
static constexpr uint64_t NeededHeaderBytes = 4 << 20;

Result<PeftAdapter> PeftAdapter::open(const std::string &directory) {
  PeftAdapter adapter;
  HONE_ASSIGN(adapter.settings, rt::readMergeableConfig(directory));
  HONE_TRY(checkNumbers(directory + "/adapter_config.json", adapter.settings));
  HONE_ASSIGN(
      rt::SafetensorsFile file,
      rt::SafetensorsFile::open(rt::adapterModelPath(directory),
                                rt::HeaderLimit::ample(NeededHeaderBytes)));
  adapter.tensors = std::make_unique<rt::SafetensorsFile>(std::move(file));
  HONE_TRY(adapter.sortTensors());
  return Result<PeftAdapter>(std::move(adapter));
}

Status PeftAdapter::checkFinite(const rt::TensorInfo &tensor,
                                const std::vector<double> &values,
                                uint64_t first) const {
  auto bad = std::find_if(values.begin(), values.end(),
                          [](double x) { return !std::isfinite(x); });
  if (bad == values.end())
    return Status::ok();
  return Status(ErrorCode::NotFiniteWeight, placeOf(tensor),
                "expected finite numbers but found " + std::to_string(*bad) +
                    " as element " +
                    std::to_string(first + (bad - values.begin())),
                "use an adapter of a run that did not diverge");
}

Result<std::vector<double>>
PeftAdapter::read(const rt::TensorInfo &tensor) const {
  std::vector<double> values(tensor.elements());
  rt::convertElements(tensor.dtype, tensors->data(tensor), rt::Dtype::F64,
                      values.data(), values.size());
  tensors->release(tensor);
  Status status = checkFinite(tensor, values, 0);
  return status.isOk() ? Result<std::vector<double>>(std::move(values))
                       : status;
}
