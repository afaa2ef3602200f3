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
    appendJsonString(text, key);
    text += ": " + value;
  };
  std::string base = "null";
  if (!config.base_model_name_or_path.empty()) {
    base.clear();
    appendJsonString(base, config.base_model_name_or_path);
  }
  auto sorted = [](std::vector<std::string> modules) {
    std::sort(modules.begin(), modules.end());
    std::string list = "[";
    for (const std::string &module : modules) {
      list += list.size() > 1 ? ",\n    " : "\n    ";
      appendJsonString(list, module);
    }
    return list + (modules.empty() ? "]" : "\n  ]");
  };

  member("alpha_pattern", "{}");
  member("base_model_name_or_path", base);
  member("bias", "\"" + config.bias + "\"");
  member("fan_in_fan_out", config.fan_in_fan_out ? "true" : "false");
  member("inference_mode", "true");
  member("init_lora_weights", "true");
  member("layers_pattern", "null");
  member("layers_to_transform", "null");
  member("lora_alpha", jsonNumber(config.lora_alpha));
  member("lora_dropout", jsonNumber(config.lora_dropout));
  member("modules_to_save", config.modules_to_save.empty()
                                ? "null"
                                : sorted(config.modules_to_save));
  member("peft_type", "\"LORA\"");
  member("peft_version", std::string("\"") + PeftVersion + "\"");
  member("r", std::to_string(config.r));
  member("rank_pattern", "{}");
  member("revision", "null");
  member("target_modules", sorted(config.target_modules));
  member("task_type", "\"CAUSAL_LM\"");
  member("use_dora", "false");
  member("use_rslora", config.use_rslora ? "true" : "false");
  return text + "\n}";
}

static Status writeTensors(const std::string &path,
                           const std::vector<AdapterTensor> &tensors) {
  std::vector<TensorSpec> specs;
  std::vector<const AdapterTensor *> byName;
  for (const AdapterTensor &t : tensors) {
    specs.push_back({std::string(peftPrefix) + t.name, t.dtype, t.shape});
    byName.push_back(&t);
  }
  std::sort(byName.begin(), byName.end(),
            [](const AdapterTensor *a, const AdapterTensor *b) {
              return a->name < b->name;
            });
  Result<SafetensorsWriter> created =
      SafetensorsWriter::create(path, std::move(specs), {{"format", "pt"}});
  if (!created.isOk())
    return created.status();
  SafetensorsWriter &writer = created.value();
  for (const TensorInfo &info : writer.tensors()) {
    std::string_view name =
        std::string_view(info.name).substr(peftPrefix.size());
    auto found = std::lower_bound(
        byName.begin(), byName.end(), name,
        [](const AdapterTensor *t, std::string_view n) { return t->name < n; });
    if (Status s = writer.write((*found)->data, info.bytes()); !s.isOk())
      return s;
  }
  return writer.commit(FolderSync::Later);
}

Status writeAdapter(const std::string &directory, const AdapterConfig &config,
                    const std::vector<AdapterTensor> &tensors) {
  if (Status s = createDirectories(directory); !s.isOk())
    return s;
  removeStrayTemporaries(directory, [](const std::string &name) {
    return name == ModelName || name == ConfigName;
  });
  if (Status s = writeTensors(adapterModelPath(directory), tensors); !s.isOk())
    return s;
  // Makes the folder durable too, and with it the model.
  return writeFile(configPath(directory), configText(config));
}

//===----------------------------------------------------------------------===//
// Reading the settings
//===----------------------------------------------------------------------===//

namespace {
/// One adapter_config.json; keeps the first error.
class ConfigReader {
public:
  ConfigReader(const std::string &path, bool hasConv1d,
               bool isMergeable = false)
      : path(path), hasConv1d(hasConv1d), isMergeable(isMergeable) {}
  Result<AdapterConfig> read(const Json &root);

private:
  bool setting(const std::string &key, const Json &value);
  bool refuse(const std::string &key, const Json &value,
              const std::string &expected);
  bool modules(const std::string &key, const Json &value,
               std::vector<std::string> &out);

  const std::string &path;
  const bool hasConv1d, isMergeable;
  AdapterConfig config;
  Status error = Status::ok();
};
} // namespace

/// A short value as JSON would have it, else its kind.
static std::string show(const Json &value) {
  if (value.isString() && value.string().size() <= 80) {
    std::string text;
    appendJsonString(text, value.string());
    return text;
  }
  if (value.isNumber())
    return jsonNumber(value.number());
  if (value.isBool())
    return value.boolean() ? "true" : "false";
  return describe(value.kind());
}

bool ConfigReader::refuse(const std::string &key, const Json &value,
                          const std::string &expected) {
  std::string quoted;
  appendJsonString(quoted, key);
  error = badJson(ErrorCode::UnsupportedAdapter, path, &value,
                  "expected " + expected + " for " + quoted + ", found " +
                      show(value),
                  "use an adapter made with PEFT's LoraConfig without this "
                  "setting");
  return false;
}

/// Settings that say where the adapter came from or how it began, not what it
/// computes.
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

bool ConfigReader::modules(const std::string &key, const Json &value,
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

bool ConfigReader::setting(const std::string &key, const Json &value) {
  if (key == "peft_type")
    return (value.isString() && value.string() == "LORA") ||
           refuse(key, value, "\"LORA\"");
  if (key == "task_type")
    return value.isNull() ||
           (value.isString() && value.string() == "CAUSAL_LM") ||
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
  if (key == "fan_in_fan_out" && hasConv1d) {
    config.fan_in_fan_out = value.boolean();
    return value.isBool() || refuse(key, value, "true or false");
  }
  // Which tensors there are says which layers.
  if ((key == "layers_to_transform" || key == "layers_pattern") && isMergeable)
    return true;
  if (key == "rank_pattern" && isMergeable) {
    config.hasRankPattern = value.isObject() && !value.object().empty();
    return config.hasRankPattern || isNeutral(value) ||
           refuse(key, value, "an object of ranks");
  }
  if (key == "init_lora_weights")
    // Other ways (pissa, olora, loftq, ...) also changed the base weights.
    return value.isBool() || value.isNull() ||
           (value.isString() && value.string() == "gaussian") ||
           refuse(key, value, "true, false or \"gaussian\"");
  if (key == "target_modules")
    return modules(key, value, config.target_modules);
  if (key == "modules_to_save" && !isNeutral(value))
    return modules(key, value, config.modules_to_save);
  if (key == "base_model_name_or_path" && value.isString())
    config.base_model_name_or_path = value.string();
  return isHistory(key) || isNeutral(value) ||
         refuse(key, value, "nothing, because Hone cannot apply it,");
}

Result<AdapterConfig> ConfigReader::read(const Json &root) {
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
  Result<Json> root = readJsonFile(path);
  if (!root.isOk())
    return root.status();
  return ConfigReader(path, hasConv1d).read(root.value());
}

Result<AdapterConfig> readMergeableConfig(const std::string &directory) {
  std::string path = configPath(directory);
  Result<Json> root = readJsonFile(path);
  if (!root.isOk())
    return root.status();
  return ConfigReader(path, /*hasConv1d=*/true, /*isMergeable=*/true)
      .read(root.value());
}

//===----------------------------------------------------------------------===//
// Reading the tensors
//===----------------------------------------------------------------------===//

static Status badAdapter(const std::string &place, const std::string &problem) {
  return Status::error(ErrorCode::OtherAdapter,
                       {place, problem,
                        "use an adapter of this model with the same r, "
                        "lora_alpha and target_modules as the compiled module, "
                        "or compile again for this adapter"});
}

/// "[lm_head, norm]"
static std::string describeNames(const std::vector<std::string> &names) {
  std::string text = "[";
  for (const std::string &name : names)
    text += (text.size() > 1 ? ", " : "") + name;
  return text + "]";
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
  if (found.use_rslora != expected.use_rslora)
    return differ("use_rslora", expected.use_rslora ? "true" : "false",
                  found.use_rslora ? "true" : "false");
  if (found.bias != expected.bias)
    return differ("bias", expected.bias, found.bias);
  if (found.modules_to_save != expected.modules_to_save)
    return differ("modules_to_save", describeNames(expected.modules_to_save),
                  describeNames(found.modules_to_save));
  return Status::ok();
}

static Status checkTensor(const SafetensorsFile &file,
                          const AdapterTarget &target) {
  std::string name = std::string(peftPrefix) + target.name;
  std::string place = file.path() + ": tensor " + name;
  const TensorInfo *tensor = file.find(name);
  if (!tensor)
    return badAdapter(place, "expected shape " + describeShape(target.shape) +
                                 ", found no such tensor");
  if (tensor->shape != target.shape)
    return badAdapter(place, "expected shape " + describeShape(target.shape) +
                                 ", found " + describeShape(tensor->shape));
  if (!isConvertible(tensor->dtype))
    return badAdapter(place, std::string("expected F32, F64, BF16 or F16, "
                                         "found ") +
                                 dtypeName(tensor->dtype));
  return Status::ok();
}

/// An error naming a tensor of the file that is none of the targets'.
static Status checkNoOther(const SafetensorsFile &file,
                           const std::vector<AdapterTarget> &targets) {
  std::vector<std::string> names;
  for (const AdapterTarget &target : targets)
    names.push_back(std::string(peftPrefix) + target.name);
  std::sort(names.begin(), names.end());
  for (const TensorInfo &tensor : file.tensors()) {
    if (std::binary_search(names.begin(), names.end(), tensor.name))
      continue;
    std::string quoted;
    appendJsonString(quoted, tensor.name);
    return badAdapter(file.path(),
                      "expected only the " + std::to_string(targets.size()) +
                          " tensors of this module, found " + quoted + " too");
  }
  return Status::ok();
}

/// Dropout changes what training computes, and nothing else.
static Status compareDropout(const std::string &path,
                             const AdapterConfig &expected,
                             const AdapterConfig &found) {
  if (found.lora_dropout == expected.lora_dropout)
    return Status::ok();
  std::string wanted = jsonNumber(expected.lora_dropout);
  return Status::error(
      ErrorCode::OtherAdapter,
      {path,
       "expected lora_dropout = " + wanted + ", as the program trains, found " +
           jsonNumber(found.lora_dropout),
       "to go on training, compile with lora.lora_dropout: " +
           jsonNumber(found.lora_dropout) + ", or write " + wanted +
           " into the file; evaluation takes it as it is"});
}

void readTensor(const SafetensorsFile &file, const TensorInfo &tensor,
                Dtype dtype, MemoryView to) {
  const uint64_t from = dtypeBytes(tensor.dtype), width = dtypeBytes(dtype);
  file.visit(tensor, [&](const char *bytes, uint64_t size) {
    to.write(size / from * width, [&](char *part, uint64_t partBytes) {
      uint64_t count = partBytes / width;
      convertElements(tensor.dtype, bytes, dtype, part, count);
      bytes += count * from;
    });
    to = to + size / from * width;
  });
}

Status readAdapter(const std::string &directory, const AdapterConfig &expected,
                   const std::vector<AdapterTarget> &targets, AdapterUse use) {
  Result<AdapterConfig> config =
      readAdapterConfig(directory, expected.fan_in_fan_out);
  if (!config.isOk())
    return config.status();
  if (Status s =
          compareConfigs(configPath(directory), expected, config.value());
      !s.isOk())
    return s;
  if (use == AdapterUse::Train)
    if (Status s =
            compareDropout(configPath(directory), expected, config.value());
        !s.isOk())
      return s;
  Result<SafetensorsFile> opened =
      SafetensorsFile::open(adapterModelPath(directory));
  if (!opened.isOk())
    return opened.status();
  const SafetensorsFile &file = opened.value();
  for (const AdapterTarget &target : targets)
    if (Status s = checkTensor(file, target); !s.isOk())
      return s;
  if (Status s = checkNoOther(file, targets); !s.isOk())
    return s;
  for (const AdapterTarget &target : targets) {
    const TensorInfo &tensor =
        *file.find(std::string(peftPrefix) + target.name);
    readTensor(file, tensor, target.dtype, target.data);
  }
  return Status::ok();
}

} // namespace hone::rt
