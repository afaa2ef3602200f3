//===- ModelConfig.cpp - A Hugging Face config.json as a struct -----------===//
//
// Three lists decide about a key: those that are read, those that never change
// numerics, and those that change nothing while they have a neutral value. A
// key on no list is an error, unless it is null.
//
//===----------------------------------------------------------------------===//

#include "compiler/import/ModelConfig.h"
#include "base/Json.h"
#include "program/NearestName.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

using namespace hone;
using llvm::StringRef;
using rt::ExitCode;
using rt::Json;
using rt::Result;
using rt::Status;

/// Bookkeeping, initialisation and generation settings.
static const llvm::StringSet<> &benignKeys() {
  static const llvm::StringSet<> keys = {"_attn_implementation_autoset",
                                         "_name_or_path",
                                         "add_cross_attention",
                                         "bad_words_ids",
                                         "begin_suppress_tokens",
                                         "bos_token_id",
                                         "chunk_size_feed_forward",
                                         "cross_attention_hidden_size",
                                         "decoder_start_token_id",
                                         "diversity_penalty",
                                         "do_sample",
                                         "dtype",
                                         "early_stopping",
                                         "encoder_no_repeat_ngram_size",
                                         "eos_token_id",
                                         "exponential_decay_length_penalty",
                                         "finetuning_task",
                                         "forced_bos_token_id",
                                         "forced_eos_token_id",
                                         "id2label",
                                         "is_decoder",
                                         "is_encoder_decoder",
                                         "is_llama_config",
                                         "label2id",
                                         "length_penalty",
                                         "max_length",
                                         "max_window_layers",
                                         "min_length",
                                         "no_repeat_ngram_size",
                                         "num_beam_groups",
                                         "num_beams",
                                         "num_return_sequences",
                                         "output_attentions",
                                         "output_hidden_states",
                                         "output_scores",
                                         "pad_token_id",
                                         "prefix",
                                         "pretraining_tp",
                                         "problem_type",
                                         "pruned_heads",
                                         "remove_invalid_values",
                                         "repetition_penalty",
                                         "return_dict",
                                         "return_dict_in_generate",
                                         "sep_token_id",
                                         "suppress_tokens",
                                         "task_specific_params",
                                         "temperature",
                                         "tf_legacy_loss",
                                         "tie_encoder_decoder",
                                         "tokenizer_class",
                                         "top_k",
                                         "top_p",
                                         "torch_dtype",
                                         "torchscript",
                                         "transformers_version",
                                         "typical_p",
                                         "unsloth_version",
                                         "unsloth_fixed",
                                         "use_bfloat16",
                                         "use_cache"};
  return keys;
}

static bool isFalse(const Json &value) {
  return value.isBool() && !value.boolean();
}
static bool isZero(const Json &value) {
  return value.isNumber() && value.number() == 0;
}
static bool isOne(const Json &value) {
  return value.isNumber() && value.number() == 1;
}

namespace {

struct NeutralKey {
  const char *name, *neutral;
  bool (*isNeutral)(const Json &);
};

class ConfigReader {
public:
  ConfigReader(const Json &root, const std::string &place)
      : root(root), place(place) {}
  Result<ModelConfig> read();

private:
  Status fail(const Json &at, const std::string &pointer,
              const std::string &problem, const std::string &remedy) {
    return Status::error(ExitCode::BadData,
                         {place + ":" + std::to_string(at.line()) + ":" +
                              std::to_string(at.column()) + " " + pointer,
                          problem, remedy});
  }
  /// The value, or null when absent or null in the file; marks it as read.
  const Json *take(const char *key);
  void readSize(const char *key, int64_t &value,
                std::optional<int64_t> fallback = {});
  void readPositive(const Json &object, const std::string &prefix,
                    const char *key, double &value,
                    std::optional<double> fallback = {});
  void readBool(const char *key, bool &value);
  void checkRefusedKeys();
  void readQuantizationKeys();
  void checkModelType();
  void checkActivation();
  void readRope();
  void readRopeObject(const char *key, std::optional<double> &theta,
                      std::optional<RopeScaling> &scaling, bool &present);
  void checkSlidingWindow();
  void checkDtypes();
  void checkRemainingKeys();
  void checkShapes();

  bool failed() const { return !status.isOk(); }
  void note(Status s) {
    if (status.isOk())
      status = std::move(s);
  }

  const Json &root;
  std::string place;
  ModelConfig config;
  llvm::StringSet<> readKeys;
  Status status = Status::ok(); // the first error
};

} // namespace

static std::string describeValue(const Json &value) {
  switch (value.kind()) {
  case Json::Kind::Number:
    return value.isInteger() ? std::to_string(value.integer())
                             : std::to_string(value.number());
  case Json::Kind::String:
    return "\"" + value.string() + "\"";
  case Json::Kind::Bool:
    return value.boolean() ? "true" : "false";
  default:
    return rt::describe(value.kind());
  }
}

static std::string pointerTo(StringRef key) { return ("/" + key).str(); }

const Json *ConfigReader::take(const char *key) {
  readKeys.insert(key);
  const Json *value = root.find(key);
  return value && !value->isNull() ? value : nullptr;
}

void ConfigReader::readSize(const char *key, int64_t &value,
                            std::optional<int64_t> fallback) {
  const Json *found = take(key);
  if (!found && fallback) {
    value = *fallback;
    return;
  }
  if (!found)
    return note(fail(root, pointerTo(key), "the key is required but missing",
                     "take config.json from the same place as the weights"));
  constexpr int64_t largest = (int64_t(1) << 31) - 1;
  if (!found->isInteger() || found->integer() < 1 || found->integer() > largest)
    return note(fail(*found, pointerTo(key),
                     "expected an integer from 1 to " +
                         std::to_string(largest) + " but found " +
                         describeValue(*found),
                     "take config.json from the same place as the weights"));
  value = found->integer();
}

void ConfigReader::readPositive(const Json &object, const std::string &prefix,
                                const char *key, double &value,
                                std::optional<double> fallback) {
  const Json *found = object.find(key);
  if (fallback && (!found || found->isNull())) {
    value = *fallback;
    return;
  }
  if (!found || !found->isNumber() || !(found->number() > 0))
    return note(fail(found ? *found : object, prefix + pointerTo(key),
                     found ? "expected a positive number but found " +
                                 describeValue(*found)
                           : "the key is required but missing",
                     "take config.json from the same place as the weights"));
  value = found->number();
}

void ConfigReader::readBool(const char *key, bool &value) {
  const Json *found = take(key);
  if (!found)
    return;
  if (!found->isBool())
    return note(
        fail(*found, pointerTo(key),
             "expected true or false but found " + describeValue(*found),
             "take config.json from the same place as the weights"));
  value = found->boolean();
}

void ConfigReader::checkRefusedKeys() {
  if (const Json *map = take("auto_map"))
    note(fail(*map, "/auto_map",
              "the model wants to run Python code from its repository",
              "Hone never runs a model's code; use a checkpoint whose "
              "model_type is llama or qwen2 without auto_map"));
}

void ConfigReader::readQuantizationKeys() {
  // MLX writes the same under both names.
  for (const char *key : {"quantization", "quantization_config"}) {
    const Json *value = take(key);
    if (!value)
      continue;
    Result<Quantization> read = readQuantization(*value, key, place);
    if (!read.isOk())
      return note(read.status());
    if (config.quantization && !(*config.quantization == read.value()))
      return note(fail(*value, pointerTo(key), "disagrees with /quantization",
                       "take config.json from the same place as the weights"));
    config.quantization = std::move(read.value());
  }
}

void ConfigReader::checkModelType() {
  const Json *type = take("model_type");
  std::vector<std::string> supported = {"llama", "qwen2"};
  if (!type || !type->isString())
    return note(fail(type ? *type : root, "/model_type",
                     "expected the name of a model type but found " +
                         (type ? describeValue(*type) : std::string("none")),
                     "supported: llama, qwen2"));
  config.modelType = type->string();
  if (!llvm::is_contained(supported, config.modelType))
    return note(fail(*type, "/model_type",
                     "model type '" + config.modelType + "' is not supported",
                     "supported: llama, qwen2; other models can be written as "
                     "an .mlir file"));
  const Json *architectures = take("architectures");
  if (!architectures)
    return;
  std::string expected =
      config.modelType == "llama" ? "LlamaForCausalLM" : "Qwen2ForCausalLM";
  if (!architectures->isArray() || architectures->array().size() != 1 ||
      !architectures->array()[0].isString() ||
      architectures->array()[0].string() != expected)
    note(
        fail(*architectures, "/architectures",
             "expected [\"" + expected + "\"] but found " +
                 (architectures->isArray() && architectures->array().size() == 1
                      ? describeValue(architectures->array()[0])
                      : std::string(rt::describe(architectures->kind()))),
             "only causal language models can be fine-tuned"));
}

void ConfigReader::checkActivation() {
  const Json *activation = take("hidden_act");
  // Llama's and Qwen2's default.
  if (!activation)
    return;
  if (!activation->isString() ||
      (activation->string() != "silu" && activation->string() != "swish"))
    note(fail(*activation, "/hidden_act",
              "expected the activation \"silu\" but found " +
                  describeValue(*activation),
              "only SwiGLU models are supported"));
}

void ConfigReader::readRopeObject(const char *key, std::optional<double> &theta,
                                  std::optional<RopeScaling> &scaling,
                                  bool &present) {
  const Json *object = take(key);
  if (!object)
    return;
  present = true;
  std::string pointer = pointerTo(key);
  if (!object->isObject())
    return note(fail(*object, pointer,
                     "expected an object but found " + describeValue(*object),
                     "see Transformers' documentation of " + std::string(key)));
  // Transformers before 4.43 wrote "type".
  const Json *type = object->find("rope_type");
  const Json *oldType = object->find("type");
  if (type && oldType && type->isString() && oldType->isString() &&
      type->string() != oldType->string())
    return note(fail(*oldType, pointer + "/type",
                     "expected the same as rope_type, " + describeValue(*type) +
                         ", but found " + describeValue(*oldType),
                     "remove one of the two"));
  if (!type)
    type = oldType;
  std::string name = "default";
  if (type && !type->isNull()) {
    if (!type->isString())
      return note(fail(*type, pointer + "/rope_type",
                       "expected a word but found " + describeValue(*type),
                       "supported: default, llama3"));
    name = type->string();
  }
  if (name != "default" && name != "llama3")
    return note(fail(*type, pointer + "/rope_type",
                     "rope type '" + name + "' is not supported",
                     "supported: default, llama3"));

  if (object->find("rope_theta")) {
    double value = 0;
    readPositive(*object, pointer, "rope_theta", value);
    theta = value;
  }
  llvm::StringSet<> known = {"rope_type", "type", "rope_theta"};
  if (name == "llama3") {
    RopeScaling s{};
    double original = 0;
    readPositive(*object, pointer, "factor", s.factor);
    readPositive(*object, pointer, "low_freq_factor", s.lowFreqFactor);
    readPositive(*object, pointer, "high_freq_factor", s.highFreqFactor);
    readPositive(*object, pointer, "original_max_position_embeddings",
                 original);
    if (failed())
      return;
    const Json *length = object->find("original_max_position_embeddings");
    if (!length->isInteger())
      return note(
          fail(*length, pointer + "/original_max_position_embeddings",
               "expected an integer but found " + describeValue(*length),
               "Llama 3 models have 8192"));
    s.originalMaxPositionEmbeddings = length->integer();
    if (s.lowFreqFactor >= s.highFreqFactor)
      return note(fail(*object, pointer,
                       "expected low_freq_factor to be below "
                       "high_freq_factor but found " +
                           std::to_string(s.lowFreqFactor) + " and " +
                           std::to_string(s.highFreqFactor),
                       "Llama 3 models have 1 and 4"));
    scaling = s;
    for (const char *part : {"factor", "low_freq_factor", "high_freq_factor",
                             "original_max_position_embeddings"})
      known.insert(part);
  }
  for (const Json::Member &member : object->object()) {
    bool wholeHead =
        member.first == "partial_rotary_factor" && isOne(member.second);
    if (!known.contains(member.first) && !member.second.isNull() && !wholeHead)
      return note(fail(member.second, pointer + "/" + member.first,
                       "the key is not known for rope type " + name,
                       "a key that Hone does not know may change what the "
                       "model computes; remove it if it does not"));
  }
}

void ConfigReader::readRope() {
  std::optional<double> theta, newTheta;
  std::optional<RopeScaling> newScaling;
  bool oldPresent = false, newPresent = false;
  readRopeObject("rope_scaling", theta, config.ropeScaling, oldPresent);
  readRopeObject("rope_parameters", newTheta, newScaling, newPresent);
  const Json *topTheta = take("rope_theta");
  if (failed())
    return;
  if (topTheta) {
    double value = 0;
    readPositive(root, "", "rope_theta", value);
    if (theta && *theta != value)
      return note(fail(*topTheta, "/rope_theta",
                       "disagrees with /rope_scaling/rope_theta",
                       "remove one of the two"));
    theta = value;
  }
  if (theta && newTheta && *theta != *newTheta)
    return note(fail(*topTheta, "/rope_theta",
                     "expected the same as /rope_parameters/rope_theta, " +
                         std::to_string(*newTheta) + ", but found " +
                         std::to_string(*theta),
                     "Transformers 4 writes the first, Transformers 5 the "
                     "second; remove the wrong one"));
  if (oldPresent && newPresent && !(config.ropeScaling == newScaling))
    return note(fail(*root.find("rope_scaling"), "/rope_scaling",
                     "disagrees with /rope_parameters",
                     "Transformers 4 writes the first, Transformers 5 the "
                     "second; remove the wrong one"));
  if (newPresent)
    config.ropeScaling = newScaling;
  if (!theta)
    theta = newTheta;
  // Llama's default is documented; Qwen2's differs between versions.
  if (!theta && config.modelType != "llama")
    return note(fail(root, "/rope_theta", "the key is required but missing",
                     "Qwen2 models have 1000000.0"));
  config.ropeTheta = theta.value_or(10000.0);
}

void ConfigReader::checkSlidingWindow() {
  if (const Json *types = take("layer_types")) {
    if (!types->isArray())
      return note(fail(*types, "/layer_types",
                       "expected a list but found " + describeValue(*types),
                       "leave it out: full attention is the default"));
    for (const Json &type : types->array())
      if (!type.isString() || type.string() != "full_attention")
        return note(
            fail(type, "/layer_types",
                 "expected \"full_attention\" but found " + describeValue(type),
                 "layers with another attention are not supported"));
  }
  if (config.modelType != "qwen2")
    return;
  bool used = false;
  readBool("use_sliding_window", used);
  const Json *window = take("sliding_window");
  const Json *first = take("max_window_layers");
  // Layers from max_window_layers on slide.
  if (used && window &&
      !(first && first->isInteger() &&
        first->integer() >= config.numHiddenLayers))
    note(fail(*root.find("use_sliding_window"), "/use_sliding_window",
              "sliding-window attention is not supported",
              "set it to false only if the model was trained without it"));
}

void ConfigReader::checkDtypes() {
  const Json *oldName = take("torch_dtype");
  const Json *newName = take("dtype");
  if (oldName && newName &&
      (!oldName->isString() || !newName->isString() ||
       oldName->string() != newName->string()))
    note(fail(*newName, "/dtype",
              "expected the same as /torch_dtype, " + describeValue(*oldName) +
                  ", but found " + describeValue(*newName),
              "remove one of the two; the weights files decide"));
}

void ConfigReader::checkRemainingKeys() {
  static const NeutralKey neutralKeys[] = {
      {"attention_dropout", "0", isZero},
      {"hidden_dropout", "0", isZero},
      {"partial_rotary_factor", "1", isOne},
      {"rope_interleaved", "false", isFalse},
      {"use_mrope", "false", isFalse},
      {"use_sliding_window", "false", isFalse},
      {"attention_bias", "false", isFalse},
      {"mlp_bias", "false", isFalse},
      {"use_qk_norm", "false", isFalse},
  };
  std::vector<std::string> known;
  for (const auto &key : readKeys)
    known.push_back(key.getKey().str());
  for (const Json::Member &member : root.object()) {
    const std::string &key = member.first;
    const Json &value = member.second;
    if (readKeys.contains(key) || benignKeys().contains(key) || value.isNull())
      continue;
    const NeutralKey *neutral = llvm::find_if(
        neutralKeys, [&](const NeutralKey &k) { return key == k.name; });
    if (neutral != std::end(neutralKeys) && neutral->isNeutral(value))
      continue;
    if (neutral != std::end(neutralKeys))
      return note(fail(value, pointerTo(key),
                       std::string("expected ") + neutral->neutral +
                           " but found " + describeValue(value),
                       "models of type " + config.modelType +
                           " with another value are not supported"));
    std::string nearest = rt::nearestName(key, known);
    return note(fail(value, pointerTo(key),
                     "the key is not known for model type " + config.modelType,
                     nearest.empty()
                         ? "a key that Hone does not know may change what the "
                           "model computes; remove it if it does not"
                         : "did you mean '" + nearest + "'?"));
  }
}

void ConfigReader::checkShapes() {
  if (config.headDim % 2)
    note(fail(root, "/head_dim",
              "expected an even head size for rotary embedding but found " +
                  std::to_string(config.headDim),
              "check hidden_size and num_attention_heads"));
  // Tables of rotary embedding have a column for each two of its numbers.
  if (config.headDim > 4096)
    note(fail(root, "/head_dim",
              "expected a head size of at most 4096 but found " +
                  std::to_string(config.headDim),
              "check hidden_size and num_attention_heads; 64 to 256 are "
              "common"));
  if (config.numAttentionHeads % config.numKeyValueHeads)
    note(fail(root, "/num_key_value_heads",
              "expected a divisor of num_attention_heads, " +
                  std::to_string(config.numAttentionHeads) + ", but found " +
                  std::to_string(config.numKeyValueHeads),
              "take config.json from the same place as the weights"));
  // Every tensor then has fewer than 2^62 bytes.
  constexpr int64_t largest = int64_t(1) << 31;
  if (config.numAttentionHeads > largest / config.headDim)
    note(fail(root, "/num_attention_heads",
              "num_attention_heads * head_dim is beyond 2^31",
              "take config.json from the same place as the weights"));
  if (config.numHiddenLayers > 10000)
    note(fail(root, "/num_hidden_layers",
              "expected at most 10000 layers but found " +
                  std::to_string(config.numHiddenLayers),
              "take config.json from the same place as the weights"));
}

Result<ModelConfig> ConfigReader::read() {
  config.file = place;
  if (!root.isObject())
    return fail(root, "/",
                std::string("expected an object but found ") +
                    rt::describe(root.kind()),
                "take config.json from the same place as the weights");
  checkRefusedKeys();
  readQuantizationKeys();
  checkModelType();
  if (failed())
    return status;
  bool llama = config.modelType == "llama";
  readSize("hidden_size", config.hiddenSize);
  readSize("intermediate_size", config.intermediateSize);
  readSize("num_hidden_layers", config.numHiddenLayers);
  readSize("num_attention_heads", config.numAttentionHeads);
  readSize("vocab_size", config.vocabSize);
  readSize("max_position_embeddings", config.maxPositionEmbeddings, 0);
  if (failed())
    return status;
  // Qwen2's default number of key/value heads is not its number of heads.
  bool spelledOut = root.find("num_key_value_heads") != nullptr;
  readSize("num_key_value_heads", config.numKeyValueHeads,
           llama || spelledOut
               ? std::optional<int64_t>(config.numAttentionHeads)
               : std::nullopt);
  const Json *headDim = root.find("head_dim");
  if ((!headDim || headDim->isNull()) &&
      config.hiddenSize % config.numAttentionHeads)
    note(fail(root, "/hidden_size",
              "expected a multiple of num_attention_heads, " +
                  std::to_string(config.numAttentionHeads) + ", but found " +
                  std::to_string(config.hiddenSize),
              "give head_dim if the heads have another size"));
  readSize("head_dim", config.headDim,
           config.hiddenSize / config.numAttentionHeads);
  readKeys.insert("rms_norm_eps");
  readPositive(root, "", "rms_norm_eps", config.rmsNormEps,
               llama ? std::optional<double>(1e-6) : std::nullopt);
  readKeys.insert("initializer_range");
  readPositive(root, "", "initializer_range", config.initializerRange, 0.02);
  readBool("tie_word_embeddings", config.tieWordEmbeddings);
  if (llama) {
    readBool("attention_bias", config.qkvBias);
    config.outputBias = config.qkvBias;
    readBool("mlp_bias", config.mlpBias);
  } else {
    config.qkvBias = true; // in Qwen2's code, not in its config
  }
  if (failed())
    return status;
  checkShapes();
  checkActivation();
  readRope();
  checkSlidingWindow();
  checkDtypes();
  checkRemainingKeys();
  if (failed())
    return status;
  return config;
}

Result<ModelConfig> hone::parseModelConfig(const std::string &text,
                                           const std::string &place) {
  Result<Json> json = Json::parse(text, place);
  if (!json.isOk())
    return json.status();
  return ConfigReader(json.value(), place).read();
}

Result<ModelConfig> hone::readModelConfig(const std::string &modelDirectory) {
  llvm::SmallString<128> path(modelDirectory);
  llvm::sys::path::append(path, "config.json");
  auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/true);
  if (!buffer)
    return Status::error(
        ExitCode::NoInput,
        {path.str().str(),
         "expected the model's configuration but it cannot be read: " +
             buffer.getError().message(),
         "`model:` must name a Hugging Face model directory or an .mlir "
         "file"});
  return parseModelConfig((*buffer)->getBuffer().str(), path.str().str());
}

//===----------------------------------------------------------------------===//
// The tensors of a model
//===----------------------------------------------------------------------===//

std::string hone::layerPrefix(int64_t layer) {
  return "model.layers." + std::to_string(layer) + ".";
}

std::vector<LinearModule> hone::decoderModules(const ModelConfig &config) {
  int64_t query = config.numAttentionHeads * config.headDim;
  int64_t keyValue = config.numKeyValueHeads * config.headDim;
  const char *queryKeys = "num_attention_heads * head_dim";
  const char *keyValueKeys = "num_key_value_heads * head_dim";
  const char *hidden = "hidden_size", *inner = "intermediate_size";
  return {
      {"self_attn.q_proj", query, config.hiddenSize, config.qkvBias, queryKeys,
       hidden},
      {"self_attn.k_proj", keyValue, config.hiddenSize, config.qkvBias,
       keyValueKeys, hidden},
      {"self_attn.v_proj", keyValue, config.hiddenSize, config.qkvBias,
       keyValueKeys, hidden},
      {"self_attn.o_proj", config.hiddenSize, query, config.outputBias, hidden,
       queryKeys},
      {"mlp.gate_proj", config.intermediateSize, config.hiddenSize,
       config.mlpBias, inner, hidden},
      {"mlp.up_proj", config.intermediateSize, config.hiddenSize,
       config.mlpBias, inner, hidden},
      {"mlp.down_proj", config.hiddenSize, config.intermediateSize,
       config.mlpBias, hidden, inner},
  };
}

std::vector<ModelTensor> hone::modelTensors(const ModelConfig &config) {
  std::vector<ModelTensor> tensors;
  auto addVector = [&](std::string name) {
    tensors.push_back({std::move(name), {config.hiddenSize}, "[hidden_size]"});
  };
  auto addTable = [&](std::string name) {
    tensors.push_back({std::move(name),
                       {config.vocabSize, config.hiddenSize},
                       "[vocab_size, hidden_size]"});
  };
  addTable("model.embed_tokens.weight");
  std::vector<LinearModule> modules = decoderModules(config);
  for (int64_t layer = 0; layer < config.numHiddenLayers; ++layer) {
    std::string prefix = layerPrefix(layer);
    addVector(prefix + "input_layernorm.weight");
    addVector(prefix + "post_attention_layernorm.weight");
    for (const LinearModule &module : modules) {
      tensors.push_back({prefix + module.name + ".weight",
                         {module.out, module.in},
                         "[" + module.outKeys + ", " + module.inKeys + "]"});
      if (module.bias)
        tensors.push_back({prefix + module.name + ".bias",
                           {module.out},
                           "[" + module.outKeys + "]"});
    }
  }
  addVector("model.norm.weight");
  if (!config.tieWordEmbeddings)
    addTable("lm_head.weight");
  return tensors;
}

std::vector<ModelTensor> hone::storedModelTensors(const ModelConfig &config) {
  if (!config.quantization)
    return modelTensors(config);
  const Quantization &quantization = *config.quantization;
  std::vector<ModelTensor> stored;
  for (ModelTensor &tensor : modelTensors(config)) {
    if (tensor.shape.size() != 2 ||
        !quantization.covers(tensor.name, tensor.shape[1])) {
      stored.push_back(std::move(tensor));
      continue;
    }
    int64_t out = tensor.shape[0], in = tensor.shape[1];
    std::vector<int64_t> groups = {out, in / quantization.groupSize};
    stored.push_back({scalesName(tensor.name), groups, ""});
    stored.push_back({biasesName(tensor.name), groups, ""});
    stored.push_back({std::move(tensor.name),
                      {out, in * quantization.bits / 32},
                      "",
                      rt::Dtype::U32});
  }
  return stored;
}
