//===- ConfigReader.cpp - The keys of a Hugging Face config.json ----------===//
//
// Three lists decide about a key: those that are taken, those that never change
// numerics, and those that change nothing while they have a neutral value. A
// key on no list is an error, unless it is null.
//
//===----------------------------------------------------------------------===//

#include "compiler/import/ConfigReader.h"
#include "base/NearestName.h"

#include "llvm/ADT/STLExtras.h"

#include <charconv>
#include <iterator>
#include <limits>

using namespace hone;
using llvm::StringRef;
using rt::Json;

const char *const hone::takeFromTheSamePlace =
    "take config.json from the same place as the weights";

/// Bookkeeping, initialisation and generation settings.
static const llvm::StringSet<> &benignKeys() {
  static const llvm::StringSet<> keys = {"_attn_implementation_autoset",
                                         "_name_or_path",
                                         "add_cross_attention",
                                         "bad_words_ids",
                                         "begin_suppress_tokens",
                                         "bos_token_id",
                                         "cache_implementation",
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
} // namespace

static const NeutralKey neutralKeys[] = {
    {"attention_dropout", "0", isZero},
    {"hidden_dropout", "0", isZero},
    {"partial_rotary_factor", "1", isOne},
    {"rope_interleaved", "false", isFalse},
    {"use_mrope", "false", isFalse},
    {"use_bidirectional_attention", "false", isFalse},
    {"use_sliding_window", "false", isFalse},
    {"attention_bias", "false", isFalse},
    {"mlp_bias", "false", isFalse},
    {"use_qk_norm", "false", isFalse},
};

std::string hone::describeValue(const Json &value) {
  switch (value.kind()) {
  case Json::Kind::Number: {
    if (value.isInteger())
      return std::to_string(value.integer());
    char text[32];
    return std::string(text,
                       std::to_chars(text, std::end(text), value.number()).ptr);
  }
  case Json::Kind::String:
    return "\"" + value.string() + "\"";
  case Json::Kind::Bool:
    return value.boolean() ? "true" : "false";
  default:
    return rt::describe(value.kind());
  }
}

static std::string pointerTo(StringRef key) { return "/" + key.str(); }

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

void ConfigReader::note(Status status) {
  if (firstError.isOk())
    firstError = std::move(status);
}

void ConfigReader::fail(ErrorCode code, const Json &at,
                        const std::string &pointer, const std::string &problem,
                        const std::string &remedy) {
  note(Status(code,
              place + ":" + std::to_string(at.line()) + ":" +
                  std::to_string(at.column()) + " " + pointer,
              problem, remedy));
}

void ConfigReader::failAt(ErrorCode code, StringRef key,
                          const std::string &problem,
                          const std::string &remedy) {
  const Json *value = root.find(key);
  fail(code, value ? *value : root, pointerTo(key), problem, remedy);
}

const Json *ConfigReader::take(StringRef key) {
  taken.insert(key);
  const Json *value = root.find(key);
  return value && !value->isNull() ? value : nullptr;
}

int64_t ConfigReader::size(StringRef key, std::optional<int64_t> fallback) {
  constexpr int64_t largest = (int64_t(1) << 31) - 1;
  const Json *found = take(key);
  if (found && found->isInteger() && found->integer() >= 1 &&
      found->integer() <= largest)
    return found->integer();
  if (!found && fallback)
    return *fallback;
  failAt(ErrorCode::BadConfig, key,
         found ? "expected an integer from 1 to " + std::to_string(largest) +
                     " but found " + describeValue(*found)
               : "the key is required but missing",
         takeFromTheSamePlace);
  return 1;
}

double ConfigReader::positive(StringRef key, std::optional<double> fallback) {
  const Json *found = take(key);
  if (!found && fallback)
    return *fallback;
  return positiveIn(root, "", key);
}

double ConfigReader::positiveIn(const Json &object, const std::string &pointer,
                                StringRef key) {
  constexpr double least = std::numeric_limits<float>::min(),
                   most = std::numeric_limits<float>::max();
  const Json *found = object.find(key);
  const bool isPositive = found && found->isNumber() && found->number() > 0;
  if (isPositive && found->number() >= least && found->number() <= most)
    return found->number();
  fail(ErrorCode::BadConfig, found ? *found : object, pointer + pointerTo(key),
       found ? std::string(isPositive ? "expected a number from 1.18e-38 to "
                                        "3.4e38, as a normal float32 is,"
                                      : "expected a positive number") +
                   " but found " + describeValue(*found)
             : "the key is required but missing",
       takeFromTheSamePlace);
  return 1;
}

bool ConfigReader::flag(StringRef key, bool fallback) {
  const Json *found = take(key);
  if (found && !found->isBool())
    failAt(ErrorCode::BadConfig, key,
           "expected true or false but found " + describeValue(*found),
           takeFromTheSamePlace);
  return found && found->isBool() ? found->boolean() : fallback;
}

bool hone::readTiesEmbeddings(ConfigReader &config, bool fallback) {
  return config.flag("tie_word_embeddings", fallback);
}

int64_t ConfigReader::sizeOf(StringRef key, StringRef other,
                             std::optional<int64_t> fallback) {
  if (!take(other))
    return size(key, fallback);
  int64_t value = size(other);
  if (take(key) && size(key) != value)
    failAt(ErrorCode::BadConfig, key,
           "expected the same as /" + other.str() + ", " +
               std::to_string(value) + ", but found " +
               std::to_string(size(key)),
           "remove one of the two");
  return value;
}

void ConfigReader::takeDropout(llvm::ArrayRef<StringRef> keys) {
  for (StringRef key : keys) {
    const Json *value = take(key);
    if (!value)
      continue;
    if (!value->isNumber() || value->number() < 0 || value->number() >= 1)
      failAt(ErrorCode::BadConfig, key,
             "expected a probability from 0 to below 1 but found " +
                 describeValue(*value),
             takeFromTheSamePlace);
    else if (!isZero(*value))
      noteList.push_back(place + ":" + std::to_string(value->line()) + ":" +
                         std::to_string(value->column()) + " " +
                         pointerTo(key) + ": Hone trains without dropout");
  }
}

//===----------------------------------------------------------------------===//
// Keys of every family
//===----------------------------------------------------------------------===//

std::optional<Quantization> ConfigReader::quantization() {
  std::optional<Quantization> quantization;
  // MLX writes the same under both names.
  for (const char *key : {"quantization", "quantization_config"}) {
    const Json *value = take(key);
    if (!value)
      continue;
    Result<Quantization> read = readQuantization(*value, key, place);
    if (!read.isOk()) {
      note(read.status());
      break;
    }
    if (quantization && !(*quantization == read.value()))
      failAt(ErrorCode::BadConfig, key, "disagrees with /quantization",
             takeFromTheSamePlace);
    quantization = std::move(read.value());
  }
  return quantization;
}

void ConfigReader::checkCommonKeys() {
  if (take("auto_map"))
    failAt(ErrorCode::UnsupportedModel, "auto_map",
           "the model wants to run Python code from its repository",
           "Hone never runs a model's code; use a checkpoint of a supported "
           "model_type without auto_map");

  const Json *oldName = take("torch_dtype");
  const Json *newName = take("dtype");
  if (oldName && newName &&
      (!oldName->isString() || !newName->isString() ||
       oldName->string() != newName->string()))
    failAt(ErrorCode::BadConfig, "dtype",
           "expected the same as /torch_dtype, " + describeValue(*oldName) +
               ", but found " + describeValue(*newName),
           "remove one of the two; the weights files decide");
}

void ConfigReader::refuseUnknownKeys(StringRef modelType) {
  std::vector<std::string> known;
  for (const auto &key : taken)
    known.push_back(key.getKey().str());
  for (const auto &[key, value] : root.object()) {
    if (taken.contains(key) || benignKeys().contains(key) || value.isNull())
      continue;
    const NeutralKey *neutral =
        llvm::find_if(neutralKeys, [name = &key](const NeutralKey &k) {
          return *name == k.name;
        });
    if (neutral == std::end(neutralKeys)) {
      std::string nearest = rt::nearestName(key, known);
      failAt(ErrorCode::UnknownConfigKey, key,
             "the key is not known for model type " + modelType.str(),
             nearest.empty()
                 ? "a key that Hone does not know may change what the model "
                   "computes; remove it if it does not"
                 : "did you mean '" + nearest + "'?");
    } else if (!neutral->isNeutral(value)) {
      failAt(ErrorCode::UnsupportedModel, key,
             std::string("expected ") + neutral->neutral + " but found " +
                 describeValue(value),
             "models of type " + modelType.str() +
                 " with another value are not supported");
    }
  }
}
