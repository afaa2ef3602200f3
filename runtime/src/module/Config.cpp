//===- Config.cpp - The configuration that honec compiled in --------------===//
//
// A missing key keeps its default; a key of the wrong kind is an error, since
// then honec and the runtime are not of the same version.
//
//===----------------------------------------------------------------------===//

#include "module/Config.h"

#include "hone/runtime.h"
#include "module/ProcessMemory.h"

#include <cstdlib>

namespace hone::rt {

static Status wrong(const std::string &key, const std::string &expected,
                    const std::string &found) {
  return Status(ErrorCode::OtherRuntime, "compiled config, " + key,
                "expects " + expected + " but got " + found,
                "compile the model again with the honec of this runtime");
}

namespace {

/// Reads the members of one section and remembers the first that is wrong.
class ConfigSection {
public:
  ConfigSection(const Json &root, const char *name, Status &failure)
      : json(root.find(name)), name(name), failure(failure) {}

  void read(const char *key, std::string &out) {
    if (const Json *value = get(key, Json::Kind::String))
      out = value->string();
  }
  void read(const char *key, double &out) {
    if (const Json *value = get(key, Json::Kind::Number))
      out = value->number();
  }
  void read(const char *key, bool &out) {
    if (const Json *value = get(key, Json::Kind::Bool))
      out = value->boolean();
  }
  void read(const char *key, int64_t &out) {
    const Json *value = get(key, Json::Kind::Number);
    if (value && !value->isInteger())
      fail(key, "an integer", "a fraction");
    else if (value)
      out = value->integer();
  }
  void read(const char *key, uint64_t &out) {
    int64_t value = int64_t(out);
    read(key, value);
    if (value < 0)
      fail(key, "zero or more", std::to_string(value));
    else
      out = uint64_t(value);
  }
  void read(const char *key, std::map<std::string, std::string> &out) {
    const Json *value = get(key, Json::Kind::Object);
    if (!value)
      return;
    for (const auto &[name, item] : value->object()) {
      if (!item.isString())
        return fail(key, "strings", describe(item.kind()));
      out[name] = item.string();
    }
  }
  void read(const char *key, std::vector<int64_t> &out) {
    const Json *value = get(key, Json::Kind::Array);
    if (!value)
      return;
    for (const Json &item : value->array()) {
      if (!item.isInteger())
        return fail(key, "integers", describe(item.kind()));
      out.push_back(item.integer());
    }
  }
  /// The classes of each placement.
  void read(const char *key, std::vector<std::vector<PlanClass>> &out) {
    const Json *value = get(key, Json::Kind::Array);
    if (!value)
      return;
    for (const Json &item : value->array()) {
      const Json *classes = item.find("classes");
      if (!classes || !classes->isArray())
        return fail(key, "{\"classes\"}", describe(item.kind()));
      append(key, *classes, out.emplace_back());
    }
  }
  void read(const char *key, std::vector<PlanClass> &out) {
    if (const Json *value = get(key, Json::Kind::Array))
      append(key, *value, out);
  }

private:
  void append(const char *key, const Json &value, std::vector<PlanClass> &out) {
    for (const Json &item : value.array()) {
      const Json *label = item.find("name"), *bytes = item.find("bytes");
      if (!label || !label->isString() || !bytes || !bytes->isInteger() ||
          bytes->integer() < 0)
        return fail(key, "{\"name\", \"bytes\"}", describe(item.kind()));
      out.push_back({label->string(), uint64_t(bytes->integer())});
    }
  }
  const Json *get(const char *key, Json::Kind kind) {
    const Json *value = json ? json->find(key) : nullptr;
    if (!value || value->isNull())
      return nullptr;
    if (value->kind() == kind)
      return value;
    fail(key, describe(kind), describe(value->kind()));
    return nullptr;
  }
  void fail(const char *key, const std::string &expected,
            const std::string &found) {
    if (failure.isOk())
      failure = wrong(std::string(name) + "." + key, expected, found);
  }

  const Json *json;
  const char *name;
  Status &failure;
};

} // namespace

/// Missing keys keep their defaults.
static Status readSettings(const Json &root, Settings &settings) {
  constexpr std::string_view ofParts = "parts.";
  for (const auto &[name, section] : root.object())
    if (name.compare(0, ofParts.size(), ofParts) == 0)
      settings.parts.add(name.substr(ofParts.size()));
  for (Setting *setting : settings.all()) {
    const Json *section =
        *setting->section ? root.find(setting->section) : nullptr;
    const Json *value = section ? section->find(setting->name) : nullptr;
    if (value && !value->isNull() && !setting->read(*value))
      return wrong(setting->key(), setting->expected(),
                   describe(value->kind()));
  }
  return Status::ok();
}

/// PEFT's settings of the adapter that was compiled in.
static AdapterConfig adapterOf(const LoraSettings &lora) {
  AdapterConfig adapter;
  adapter.r = lora.r;
  adapter.lora_alpha = lora.lora_alpha;
  adapter.lora_dropout = lora.lora_dropout;
  adapter.use_rslora = lora.use_rslora;
  adapter.use_dora = lora.use_dora;
  adapter.target_modules = lora.target_modules;
  adapter.rank_pattern = lora.rank_pattern;
  adapter.alpha_pattern = lora.alpha_pattern;
  for (const std::string &layer : lora.layers_to_transform)
    adapter.layers_to_transform.push_back(strtoll(layer.c_str(), nullptr, 10));
  adapter.modules_to_save = lora.modules_to_save;
  adapter.bias = lora.bias.text();
  adapter.base_model_name_or_path = lora.base_model_name_or_path.text();
  return adapter;
}

Result<ModuleConfig> ModuleConfig::parse(const char *json) {
  Result<Json> parsed = Json::parse(json, "compiled config");
  if (!parsed.isOk())
    return Status(ErrorCode::OtherRuntime, parsed.status().message());
  const Json &root = parsed.value();
  Status failure = Status::ok();
  ModuleConfig config;
  config.processBytes = rt::processBytes({});

  ConfigSection model(root, "model", failure);
  model.read("name", config.modelName);
  model.read("model_type", config.modelType);
  model.read("parameters", config.parameters);
  model.read("vocab_size", config.vocabSize);
  model.read("identity", config.identity);

  HONE_TRY(readSettings(root, config));
  config.adapter = adapterOf(config.lora);
  ConfigSection lora(root, "lora", failure);
  lora.read("fan_in_fan_out", config.adapter.fan_in_fan_out);

  ConfigSection weights(root, "weights", failure);
  weights.read("layout", config.weightsLayout);
  weights.read("source_hash", config.weightsSourceHash);

  ConfigSection exchange(root, "exchange", failure);
  exchange.read("program", config.program);

  ConfigSection generate(root, "generate", failure);
  generate.read("eos_token_ids", config.stopTokens);

  ConfigSection plan(root, "plan", failure);
  plan.read("classes", config.planClasses);
  plan.read("fewer", config.fewer);
  plan.read("process_bytes", config.processBytes);
  plan.read("weight_bytes", config.weightBytes);
  plan.read("resident_weight_bytes", config.residentWeightBytes);
  plan.read("resident_thread_bytes", config.residentThreadBytes);
  plan.read("table_bytes", config.tableBytes);
  plan.read("on_device", config.onDevice);
  plan.read("device_weight_bytes", config.deviceWeightBytes);
  plan.read("device_host_bytes", config.deviceHostBytes);
  plan.read("smallest_bytes", config.smallestBytes);
  plan.read("offload_file_bytes", config.offloadFileBytes);
  plan.read("offloaded_bytes", config.offloadedBytes);
  plan.read("estimated_seconds", config.estimatedSeconds);
  plan.read("longest_launch_seconds", config.longestLaunchSeconds);

  HONE_TRY(failure);
  return config;
}

} // namespace hone::rt
