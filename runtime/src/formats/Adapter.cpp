//===- Adapter.cpp - PEFT LoRA adapter directories ------------------------===//
//
// A setting that we do not know is refused unless its value is neutral: PEFT
// adds settings that change the result, and ignoring one gives a wrong model.
//
//===----------------------------------------------------------------------===//

#include "formats/Adapter.h"
#include "base/OutputFile.h"
#include "formats/JsonFile.h"
#include "formats/Safetensors.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string_view>
#include <tuple>

namespace hone::rt {

/// A release that knows every key written here; PEFT 0.21 loads them too.
static constexpr const char *PeftVersion = "0.18.0";

static constexpr std::string_view ConfigName = "adapter_config.json";
static constexpr std::string_view ModelName = "adapter_model.safetensors";

static std::string configPath(const std::string &directory) {
  return directory + "/" + std::string(ConfigName);
}

std::string adapterModelPath(const std::string &directory) {
  return directory + "/" + std::string(ModelName);
}

double loraScale(double lora_alpha, int64_t r, bool use_rslora) {
  return lora_alpha / (use_rslora ? std::sqrt(double(r)) : double(r));
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

/// The shortest text that reads back as `value`; integers without a point.
static std::string jsonNumber(double value) {
  char text[40];
  if (value == std::trunc(value) && std::fabs(value) < 0x1p53) {
    auto end = std::to_chars(text, text + sizeof text, int64_t(value)).ptr;
    return std::string(text, end);
  }
  auto end = std::to_chars(text, text + sizeof text, value).ptr;
  return std::string(text, end);
}

/// As json.dumps(config, indent=2, sort_keys=True) lays it out.
static std::string configText(const AdapterConfig &config) {
  std::string text = "{";
  auto member = [&](const char *key, const std::string &value) {
    text += text.size() > 1 ? ",\n  " : "\n  ";
    text += jsonString(key) + ": " + value;
  };
  std::string base = "null";
  if (!config.base_model_name_or_path.empty())
    base = jsonString(config.base_model_name_or_path);
  auto lines = [](const char *open, const std::vector<std::string> &items,
                  const char *close) {
    std::string text = open;
    for (const std::string &item : items)
      text += (&item == &items.front() ? "\n    " : ",\n    ") + item;
    return text + (items.empty() ? "" : "\n  ") + close;
  };
  auto sorted = [&](std::vector<std::string> modules) {
    std::sort(modules.begin(), modules.end());
    for (std::string &module : modules) {
      module = jsonString(module);
    }
    return lines("[", modules, "]");
  };
  auto numbers = [&](const ModuleNumbers &pattern) {
    std::vector<std::string> items;
    for (const auto &[key, number] : pattern) {
      items.push_back(jsonString(key) + ": " + jsonNumber(number));
    }
    return lines("{", items, "}");
  };
  std::vector<std::string> layers;
  for (int64_t layer : config.layers_to_transform)
    layers.push_back(std::to_string(layer));

  member("alpha_pattern", numbers(config.alpha_pattern));
  member("base_model_name_or_path", base);
  member("bias", "\"" + config.bias + "\"");
  member("fan_in_fan_out", config.fan_in_fan_out ? "true" : "false");
  member("inference_mode", "true");
  member("init_lora_weights", "true");
  member("layers_pattern", "null");
  member("layers_to_transform",
         layers.empty() ? "null" : lines("[", layers, "]"));
  member("lora_alpha", jsonNumber(config.lora_alpha));
  member("lora_dropout", jsonNumber(config.lora_dropout));
  member("modules_to_save", config.modules_to_save.empty()
                                ? "null"
                                : sorted(config.modules_to_save));
  member("peft_type", "\"LORA\"");
  member("peft_version", std::string("\"") + PeftVersion + "\"");
  member("r", std::to_string(config.r));
  member("rank_pattern", numbers(config.rank_pattern));
  member("revision", "null");
  member("target_modules", sorted(config.target_modules));
  member("task_type", "\"CAUSAL_LM\"");
  member("use_dora", config.use_dora ? "true" : "false");
  member("use_rslora", config.use_rslora ? "true" : "false");
  return text + "\n}";
}

static Status writeTensors(const std::string &path,
                           const std::vector<TensorMemory> &tensors) {
  std::vector<TensorSpec> specs;
  std::vector<const TensorMemory *> byName;
  specs.reserve(tensors.size());
  byName.reserve(tensors.size());
  for (const TensorMemory &t : tensors) {
    specs.push_back({std::string(peftPrefix) + t.name, t.dtype, t.fileShape()});
    byName.push_back(&t);
  }
  std::sort(byName.begin(), byName.end(),
            [](const TensorMemory *a, const TensorMemory *b) {
              return a->name < b->name;
            });
  HONE_ASSIGN(
      SafetensorsWriter writer,
      SafetensorsWriter::create(path, std::move(specs), {{"format", "pt"}}));
  for (const TensorInfo &info : writer.tensors()) {
    std::string_view name =
        std::string_view(info.name).substr(peftPrefix.size());
    auto found = std::lower_bound(
        byName.begin(), byName.end(), name,
        [](const TensorMemory *t, std::string_view n) { return t->name < n; });
    HONE_TRY(writeTensor(writer, **found));
  }
  return writer.commit(FolderSync::Later);
}

Status writeAdapter(const std::string &directory, const AdapterConfig &config,
                    const std::vector<TensorMemory> &tensors) {
  HONE_TRY(createDirectories(directory));
  HONE_TRY(writeTensors(adapterModelPath(directory), tensors));
  // Makes the folder durable too, and with it the model.
  return writeFile(configPath(directory), configText(config));
}

//===----------------------------------------------------------------------===//
// Reading the settings
//===----------------------------------------------------------------------===//

namespace {
/// One adapter_config.json; keeps the first error.
class AdapterConfigReader {
public:
  AdapterConfigReader(const std::string &path, bool hasConv1d,
                      bool isMergeable = false)
      : path(path), hasConv1d(hasConv1d), isMergeable(isMergeable) {}
  Result<AdapterConfig> read(const Json &root);

private:
  bool setting(const std::string &key, const Json &value);
  bool refuse(const std::string &key, const Json &value,
              const std::string &expected);
  bool modules(const std::string &key, const Json &value,
               std::vector<std::string> &out);
  bool numbers(const std::string &key, const Json &value, ModuleNumbers &out);
  bool layers(const std::string &key, const Json &value);

  const std::string &path;
  const bool hasConv1d, isMergeable;
  AdapterConfig config;
  Status error = Status::ok();
};
} // namespace

/// A short value as JSON would have it, else its kind.
static std::string show(const Json &value) {
  if (value.isString() && value.string().size() <= 80) {
    return jsonString(value.string());
  }
  if (value.isNumber())
    return jsonNumber(value.number());
  if (value.isBool())
    return value.boolean() ? "true" : "false";
  return describe(value.kind());
}

bool AdapterConfigReader::refuse(const std::string &key, const Json &value,
                                 const std::string &expected) {
  std::string quoted = jsonString(key);
  error = badJson(ErrorCode::UnsupportedAdapter, path, &value,
                  "expected " + expected + " for " + quoted + ", found " +
                      show(value),
                  "use an adapter made with PEFT's LoraConfig without this "
                  "setting");
  return false;
}

/// Settings of the adapter's origin or beginning, which do not change its
/// result.
static bool isHistory(const std::string &key) {
  static constexpr const char *keys[] = {
      "auto_mapping",    "base_model_name_or_path", "eva_config",
      "exclude_modules", "inference_mode",          "megatron_core",
      "peft_version",    "qalora_group_size",       "revision",
      "runtime_config",
  };
  return std::find(std::begin(keys), std::end(keys), key) != std::end(keys);
}

static bool isNeutral(const Json &value) {
  return value.isNull() || (value.isBool() && !value.boolean()) ||
         (value.isArray() && value.array().empty()) ||
         (value.isObject() && value.object().empty());
}

bool AdapterConfigReader::modules(const std::string &key, const Json &value,
                                  std::vector<std::string> &out) {
  if (value.isString()) { // a pattern, or "all-linear"
    out = {value.string()};
    return true;
  }
  if (!value.isArray())
    return refuse(key, value, "an array of module names");
  for (const Json &item : value.array()) {
    if (!item.isString())
      return refuse(key, item, "module names");
    out.push_back(item.string());
  }
  std::sort(out.begin(), out.end());
  return true;
}

bool AdapterConfigReader::numbers(const std::string &key, const Json &value,
                                  ModuleNumbers &out) {
  const bool areRanks = &out == &config.rank_pattern;
  if (!value.isObject())
    return refuse(key, value, "an object of numbers");
  for (const auto &[module, item] : value.object()) {
    if (areRanks ? !item.isInteger() || item.integer() < 1 ||
                       item.integer() > INT32_MAX
                 : !item.isNumber())
      return refuse(key, item,
                    areRanks ? "integers from 1 to 2147483647" : "numbers");
    out.emplace_back(module, item.number());
  }
  return true;
}

bool AdapterConfigReader::layers(const std::string &key, const Json &value) {
  const std::vector<Json> one = {value};
  for (const Json &item : value.isArray() ? value.array() : one) {
    if (!item.isInteger())
      return refuse(key, item, "numbers of layers");
    config.layers_to_transform.push_back(item.integer());
  }
  return true;
}

bool AdapterConfigReader::setting(const std::string &key, const Json &value) {
  if (key == "peft_type")
    return value.is("LORA") || refuse(key, value, "\"LORA\"");
  if (key == "task_type")
    return value.isNull() || value.is("CAUSAL_LM") ||
           refuse(key, value, "\"CAUSAL_LM\"");
  if (key == "bias") {
    config.bias = value.isString() ? value.string() : "";
    return config.bias == "none" || config.bias == "all" ||
           config.bias == "lora_only" ||
           refuse(key, value, "\"none\", \"all\" or \"lora_only\"");
  }
  if (key == "r") {
    config.r = value.integer();
    return (value.isInteger() && config.r >= 1 && config.r <= INT32_MAX) ||
           refuse(key, value, "an integer from 1 to 2147483647");
  }
  if (key == "lora_alpha") {
    config.lora_alpha = value.number();
    return value.isNumber() || refuse(key, value, "a number");
  }
  if (key == "lora_dropout") {
    config.lora_dropout = value.number();
    return (value.isNumber() && value.number() >= 0 && value.number() < 1) ||
           refuse(key, value, "a number from 0 to below 1");
  }
  if (key == "use_rslora") {
    config.use_rslora = value.boolean();
    return value.isBool() || refuse(key, value, "true or false");
  }
  if (key == "use_dora") {
    config.use_dora = value.boolean();
    return value.isBool() || refuse(key, value, "true or false");
  }
  if (key == "fan_in_fan_out" && hasConv1d) {
    config.fan_in_fan_out = value.boolean();
    return value.isBool() || refuse(key, value, "true or false");
  }
  // The names of the tensors have the layers.
  if (key == "layers_pattern" && isMergeable)
    return true;
  if (key == "layers_to_transform" && !isNeutral(value))
    return layers(key, value);
  if (key == "rank_pattern" && !isNeutral(value))
    return numbers(key, value, config.rank_pattern);
  if (key == "alpha_pattern" && !isNeutral(value))
    return numbers(key, value, config.alpha_pattern);
  if (key == "init_lora_weights")
    // Other ways (pissa, olora, loftq, ...) also changed the base weights.
    return value.isBool() || value.isNull() || value.is("gaussian") ||
           refuse(key, value, "true, false or \"gaussian\"");
  if (key == "target_modules") {
    config.hasTargetList = value.isArray();
    return modules(key, value, config.target_modules);
  }
  if (key == "exclude_modules" && value.isArray())
    return modules(key, value, config.exclude_modules);
  if (key == "modules_to_save" && !isNeutral(value))
    return modules(key, value, config.modules_to_save);
  if (key == "base_model_name_or_path" && value.isString())
    config.base_model_name_or_path = value.string();
  return isHistory(key) || isNeutral(value) ||
         refuse(key, value, "nothing, because Hone cannot apply it,");
}

Result<AdapterConfig> AdapterConfigReader::read(const Json &root) {
  if (!root.find("peft_type"))
    return badJson(ErrorCode::UnsupportedAdapter, path, nullptr,
                   "expected \"peft_type\", found none",
                   "check that this is the folder of a PEFT adapter");
  for (const auto &[key, value] : root.object())
    if (!setting(key, value))
      return error;
  return config;
}

Result<AdapterConfig> readAdapterConfig(const std::string &directory,
                                        bool hasConv1d) {
  std::string path = configPath(directory);
  HONE_ASSIGN(Json root, readJsonFile(path, FewJsonValues));
  return AdapterConfigReader(path, hasConv1d).read(root);
}

Result<AdapterConfig> readMergeableConfig(const std::string &directory) {
  std::string path = configPath(directory);
  HONE_ASSIGN(Json root, readJsonFile(path, FewJsonValues));
  return AdapterConfigReader(path, /*hasConv1d=*/true, /*isMergeable=*/true)
      .read(root);
}

//===----------------------------------------------------------------------===//
// Reading the tensors
//===----------------------------------------------------------------------===//

static Status badAdapter(const std::string &place, const std::string &problem) {
  return Status(ErrorCode::OtherAdapter, place, problem,
                "use an adapter of this model with the same r, "
                "lora_alpha and target_modules as the compiled module, "
                "or compile again for this adapter");
}

/// "[lm_head, norm]"; of many the first ones.
static std::string describeNames(const std::vector<std::string> &names) {
  constexpr size_t most = 32;
  std::string text = "[";
  for (size_t i = 0; i < std::min(names.size(), most); ++i)
    text += (i > 0 ? ", " : "") + names[i];
  if (names.size() > most)
    text += " and " + std::to_string(names.size() - most) + " more";
  return text + "]";
}

/// "{q_proj: 16, v_proj: 4}"
static std::string describeNumbers(const ModuleNumbers &numbers) {
  std::string text = "{";
  for (const auto &[name, number] : numbers)
    text += (text.size() > 1 ? ", " : "") + name + ": " + jsonNumber(number);
  return text + "}";
}

/// "[0, 2]"
static std::string describeLayers(const std::vector<int64_t> &numbers) {
  std::vector<std::string> words;
  for (int64_t number : numbers)
    words.push_back(std::to_string(number));
  return describeNames(words);
}

/// Whether `names` has `module`, or an ending of it that follows a dot.
static bool namesModule(const std::vector<std::string> &names,
                        std::string_view module) {
  return std::any_of(names.begin(), names.end(), [&](const std::string &name) {
    if (module.size() <= name.size())
      return module == name;
    const size_t at = module.size() - name.size();
    return module[at - 1] == '.' && module.substr(at) == name;
  });
}

/// The number that PEFT takes for the layer of `module`: the last one between
/// two dots. None: -1.
static int64_t layerOf(std::string_view module) {
  for (size_t end = module.rfind('.'); end != module.npos && end > 0;
       end = module.rfind('.', end - 1)) {
    const size_t begin = module.rfind('.', end - 1);
    if (begin == module.npos)
      break;
    const char *const last = module.data() + end;
    int64_t layer = -1;
    auto [stop, error] =
        std::from_chars(module.data() + begin + 1, last, layer);
    if (error == std::errc() && stop == last && layer >= 0)
      return layer;
  }
  return -1;
}

Status checkTargets(const std::string &directory, const AdapterConfig &config,
                    const std::vector<std::string_view> &names) {
  const std::vector<std::string> &targets = config.target_modules;
  const std::vector<int64_t> &layers = config.layers_to_transform;
  for (std::string_view module : names) {
    const size_t at = module.rfind(".lora_");
    if (at == module.npos)
      continue;
    module = module.substr(0, at);
    auto disagrees = [&](const char *key, const std::string &found) {
      return Status(ErrorCode::UnsupportedAdapter, configPath(directory),
                    std::string("expected ") + key + " that give " +
                        jsonString(module) + " an adapter, which is in " +
                        std::string(ModelName) + ", found " + found,
                    "check that both files of the adapter are of one run of "
                    "PEFT or Hone");
    };
    if (namesModule(config.exclude_modules, module))
      return disagrees("exclude_modules",
                       describeNames(config.exclude_modules));
    if (config.hasTargetList && !namesModule(targets, module))
      return disagrees("target_modules", describeNames(targets));
    // A whole path is a module in any layer.
    const bool isWhole =
        config.hasTargetList &&
        std::find(targets.begin(), targets.end(), module) != targets.end();
    if (!layers.empty() && !isWhole &&
        std::find(layers.begin(), layers.end(), layerOf(module)) ==
            layers.end())
      return disagrees("layers_to_transform", describeLayers(layers));
  }
  return Status::ok();
}

static bool haveSameNumbers(ModuleNumbers a, ModuleNumbers b) {
  std::sort(a.begin(), a.end());
  std::sort(b.begin(), b.end());
  return a == b;
}

static Status compareConfigs(const std::string &path,
                             const AdapterConfig &expected,
                             const AdapterConfig &found) {
  auto differ = [&](const char *key, const std::string &wanted,
                    const std::string &got) {
    return badAdapter(path, std::string("expected ") + key + " = " + wanted +
                                ", found " + got);
  };
  if (found.r != expected.r)
    return differ("r", std::to_string(expected.r), std::to_string(found.r));
  if (found.lora_alpha != expected.lora_alpha)
    return differ("lora_alpha", jsonNumber(expected.lora_alpha),
                  jsonNumber(found.lora_alpha));
  for (auto [key, wanted, got] :
       {std::tuple("rank_pattern", &expected.rank_pattern, &found.rank_pattern),
        std::tuple("alpha_pattern", &expected.alpha_pattern,
                   &found.alpha_pattern)})
    if (!haveSameNumbers(*wanted, *got))
      return differ(key, describeNumbers(*wanted), describeNumbers(*got));
  for (auto [key, wanted, got] :
       {std::tuple("use_rslora", expected.use_rslora, found.use_rslora),
        std::tuple("use_dora", expected.use_dora, found.use_dora)})
    if (got != wanted)
      return differ(key, wanted ? "true" : "false", got ? "true" : "false");
  if (found.bias != expected.bias)
    return differ("bias", expected.bias, found.bias);
  if (found.modules_to_save != expected.modules_to_save)
    return differ("modules_to_save", describeNames(expected.modules_to_save),
                  describeNames(found.modules_to_save));
  return Status::ok();
}

static Status checkTensor(const SafetensorsFile &file,
                          const TensorMemory &target) {
  const std::vector<int64_t> shape = target.fileShape();
  std::string name = std::string(peftPrefix) + target.name;
  std::string place = file.path() + ": tensor " + name;
  const TensorInfo *tensor = file.find(name);
  if (!tensor)
    return badAdapter(place, "expected shape " + describeShape(shape) +
                                 ", found no such tensor");
  if (tensor->shape != shape)
    return badAdapter(place, "expected shape " + describeShape(shape) +
                                 ", found " + describeShape(tensor->shape));
  if (!isConvertible(tensor->dtype))
    return badAdapter(place, std::string("expected F32, F64, BF16 or F16, "
                                         "found ") +
                                 dtypeName(tensor->dtype));
  return Status::ok();
}

/// An error naming a tensor of the file that is none of the targets'.
static Status checkNoOther(const SafetensorsFile &file,
                           const std::vector<TensorMemory> &targets) {
  std::vector<std::string> names;
  for (const TensorMemory &target : targets)
    names.push_back(std::string(peftPrefix) + target.name);
  std::sort(names.begin(), names.end());
  for (const TensorInfo &tensor : file.tensors()) {
    if (std::binary_search(names.begin(), names.end(), tensor.name))
      continue;
    std::string quoted = jsonString(tensor.name);
    return badAdapter(file.path(),
                      "expected only the " + std::to_string(targets.size()) +
                          " tensors of this module, found " + quoted + " too");
  }
  return Status::ok();
}

/// Dropout changes training alone.
static Status compareDropout(const std::string &path,
                             const AdapterConfig &expected,
                             const AdapterConfig &found) {
  if (found.lora_dropout == expected.lora_dropout)
    return Status::ok();
  std::string wanted = jsonNumber(expected.lora_dropout);
  return Status(ErrorCode::OtherAdapter, path,
                "expected lora_dropout = " + wanted +
                    ", as the program trains, found " +
                    jsonNumber(found.lora_dropout),
                "to go on training, compile with lora.lora_dropout: " +
                    jsonNumber(found.lora_dropout) + ", or write " + wanted +
                    " into the file; evaluation takes it as it is");
}

Status readAdapter(const std::string &directory, const AdapterConfig &expected,
                   const std::vector<TensorMemory> &targets, AdapterUse use) {
  HONE_ASSIGN(AdapterConfig config,
              readAdapterConfig(directory, expected.fan_in_fan_out));
  HONE_TRY(compareConfigs(configPath(directory), expected, config));
  if (use == AdapterUse::Train)
    HONE_TRY(compareDropout(configPath(directory), expected, config));
  HONE_ASSIGN(
      const SafetensorsFile file,
      SafetensorsFile::open(adapterModelPath(directory),
                            HeaderLimit::of(targets, peftPrefix.size())));
  for (const TensorMemory &target : targets)
    HONE_TRY(checkTensor(file, target));
  HONE_TRY(checkNoOther(file, targets));
  std::vector<std::string_view> names(targets.size());
  std::transform(
      targets.begin(), targets.end(), names.begin(),
      [](const TensorMemory &target) { return std::string_view(target.name); });
  HONE_TRY(checkTargets(directory, config, names));
  for (const TensorMemory &target : targets)
    readTensor(file, *file.find(std::string(peftPrefix) + target.name), target);
  return Status::ok();
}

} // namespace hone::rt
