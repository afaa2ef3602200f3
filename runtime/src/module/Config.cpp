//===- Config.cpp - What was compiled, as the module says it --------------===//
//
// A missing key keeps its default; a key of the wrong kind is an error, since
// then honec and the runtime are not of the same version.
//
//===----------------------------------------------------------------------===//

#include "module/Config.h"

#include "hone/runtime.h"

namespace hone::rt {

namespace {

/// Reads the members of one section and remembers the first that is wrong.
class Section {
public:
  Section(const Json &root, const char *name, Status &failure)
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
  void read(const char *key, std::vector<std::string> &out) {
    const Json *value = get(key, Json::Kind::Array);
    if (!value)
      return;
    out.clear();
    for (const Json &item : value->array()) {
      if (!item.isString())
        return fail(key, "strings", describe(item.kind()));
      out.push_back(item.string());
    }
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
  void read(const char *key, std::vector<PlanClass> &out) {
    const Json *value = get(key, Json::Kind::Array);
    if (!value)
      return;
    for (const Json &item : value->array()) {
      const Json *label = item.find("name"), *bytes = item.find("bytes");
      if (!label || !label->isString() || !bytes || !bytes->isInteger() ||
          bytes->integer() < 0)
        return fail(key, "{\"name\", \"bytes\"}", describe(item.kind()));
      out.push_back({label->string(), uint64_t(bytes->integer())});
    }
  }

private:
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
    if (!failure.isOk())
      return;
    failure = Status::error(
        ExitCode::Internal,
        {std::string("compiled config, ") + name + "." + key,
         "expects " + expected + " but got " + found,
         "compile the model again with the honec of this runtime"});
  }

  const Json *json;
  const char *name;
  Status &failure;
};

} // namespace

static void readTrain(Section section, TrainConfig &train) {
  section.read("method", train.method);
  section.read("residuals", train.residuals);
  section.read("optimizer", train.optimizer);
  section.read("compute_dtype", train.computeDtype);
  section.read("batch_size", train.batchSize);
  section.read("max_seq_length", train.maxSeqLength);
  section.read("learning_rate", train.learningRate);
  section.read("weight_decay", train.weightDecay);
  section.read("warmup_steps", train.warmupSteps);
  section.read("lr_scheduler_type", train.lrSchedulerType);
  section.read("max_grad_norm", train.maxGradNorm);
  section.read("gradient_accumulation_steps", train.gradientAccumulationSteps);
  section.read("seed", train.seed);
  section.read("steps", train.steps);
  section.read("shuffle", train.shuffle);
  section.read("optimizer_in_backward", train.optimizerInBackward);
  section.read("momentum", train.momentum);
  section.read("adam_beta1", train.adamBeta1);
  section.read("adam_beta2", train.adamBeta2);
  section.read("adam_epsilon", train.adamEpsilon);
  section.read("save_every", train.saveEvery);
}

Result<ModuleConfig> ModuleConfig::parse(const char *json) {
  Result<Json> parsed = Json::parse(json, "compiled config");
  if (!parsed.isOk())
    return Status::error(ExitCode::Internal, parsed.status().message());
  const Json &root = parsed.value();
  Status failure = Status::ok();
  ModuleConfig config;
  config.processBytes = HONE_PROCESS_BYTES;

  Section model(root, "model", failure);
  model.read("name", config.modelName);
  model.read("model_type", config.modelType);
  model.read("parameters", config.parameters);
  model.read("vocab_size", config.vocabSize);

  Section lora(root, "lora", failure);
  lora.read("r", config.lora.r);
  lora.read("lora_alpha", config.lora.lora_alpha);
  lora.read("use_rslora", config.lora.use_rslora);
  lora.read("target_modules", config.lora.target_modules);
  lora.read("base_model_name_or_path", config.lora.base_model_name_or_path);

  readTrain(Section(root, "train", failure), config.train);

  Section weights(root, "weights", failure);
  weights.read("layout", config.weightsLayout);
  weights.read("source_hash", config.weightsSourceHash);
  weights.read("dtype", config.weightsDtype);

  Section identity(root, "identity", failure);
  identity.read("run", config.run);
  identity.read("numerics", config.numerics);

  Section target(root, "target", failure);
  target.read("triple", config.triple);
  target.read("cpu", config.cpu);
  target.read("features", config.features);

  Section plan(root, "plan", failure);
  plan.read("classes", config.planClasses);
  plan.read("process_bytes", config.processBytes);
  plan.read("weight_bytes", config.weightBytes);
  plan.read("resident_weight_bytes", config.residentWeightBytes);
  plan.read("resident_thread_bytes", config.residentThreadBytes);
  plan.read("estimated_seconds", config.estimatedSeconds);

  if (!failure.isOk())
    return failure;
  return config;
}

} // namespace hone::rt
