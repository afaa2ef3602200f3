//===- Rope.cpp - The rotary settings of a config.json --------------------===//

#include "compiler/import/families/Rope.h"

using namespace hone;
using llvm::StringRef;
using rt::Json;

namespace {
/// One of the objects that may hold the settings.
struct RopeObject {
  bool isPresent = false;
  std::optional<double> theta;
  double stretch = 1;
  std::optional<RopeScaling> scaling;
};
} // namespace

/// rope_type; empty after an error. Transformers before 4.43 wrote "type".
static std::string readType(ConfigReader &config, const Json &object,
                            const std::string &pointer) {
  const Json *type = object.find("rope_type");
  const Json *oldType = object.find("type");
  if (type && oldType && type->isString() && oldType->isString() &&
      type->string() != oldType->string())
    config.fail(ErrorCode::BadConfig, *oldType, pointer + "/type",
                "expected the same as rope_type, " + describeValue(*type) +
                    ", but found " + describeValue(*oldType),
                "remove one of the two");
  if (!type)
    type = oldType;
  if (!type || type->isNull())
    return "default";
  for (const char *known : {"default", "linear", "llama3"})
    if (type->is(known))
      return known;
  config.fail(ErrorCode::UnsupportedModel, *type, pointer + "/rope_type",
              type->isString()
                  ? "rope type '" + type->string() + "' is not supported"
                  : "expected a word but found " + describeValue(*type),
              "supported: default, linear, llama3");
  return "";
}

static RopeScaling readLlama3(ConfigReader &config, const Json &object,
                              const std::string &pointer) {
  RopeScaling scaling{};
  scaling.factor = config.positiveIn(object, pointer, "factor");
  scaling.lowFreqFactor = config.positiveIn(object, pointer, "low_freq_factor");
  scaling.highFreqFactor =
      config.positiveIn(object, pointer, "high_freq_factor");
  const char *lengthKey = "original_max_position_embeddings";
  config.positiveIn(object, pointer, lengthKey);
  if (config.failed())
    return scaling;
  const Json &length = *object.find(lengthKey);
  if (!length.isInteger())
    config.fail(ErrorCode::BadConfig, length, pointer + "/" + lengthKey,
                "expected an integer but found " + describeValue(length),
                "Llama 3 models have 8192");
  scaling.originalMaxPositionEmbeddings = length.integer();
  if (scaling.lowFreqFactor >= scaling.highFreqFactor)
    config.fail(ErrorCode::BadConfig, object, pointer,
                "expected low_freq_factor to be below high_freq_factor but "
                "found " +
                    std::to_string(scaling.lowFreqFactor) + " and " +
                    std::to_string(scaling.highFreqFactor),
                "Llama 3 models have 1 and 4");
  return scaling;
}

static RopeObject readMembers(ConfigReader &config, const Json &object,
                              const std::string &pointer) {
  RopeObject rope;
  rope.isPresent = true;
  if (!object.isObject()) {
    config.fail(ErrorCode::BadConfig, object, pointer,
                "expected an object but found " + describeValue(object),
                "see Transformers' documentation of " + pointer.substr(1));
    return rope;
  }
  std::string type = readType(config, object, pointer);
  if (object.find("rope_theta"))
    rope.theta = config.positiveIn(object, pointer, "rope_theta");
  llvm::StringSet<> known = {"rope_type", "type", "rope_theta"};
  if (type == "linear") {
    rope.stretch = config.positiveIn(object, pointer, "factor");
    known.insert("factor");
  }
  if (type == "llama3") {
    rope.scaling = readLlama3(config, object, pointer);
    for (const char *part : {"factor", "low_freq_factor", "high_freq_factor",
                             "original_max_position_embeddings"})
      known.insert(part);
  }
  for (const auto &[name, value] : object.object()) {
    bool wholeHead = name == "partial_rotary_factor" && value.isNumber() &&
                     value.number() == 1;
    if (!known.contains(name) && !value.isNull() && !wholeHead)
      config.fail(ErrorCode::UnknownConfigKey, value, pointer + "/" + name,
                  "the key is not known for rope type " + type,
                  "a key that Hone does not know may change what the model "
                  "computes; remove it if it does not");
  }
  return rope;
}

static RopeObject readObject(ConfigReader &config, const char *key) {
  const Json *object = config.take(key);
  return object ? readMembers(config, *object, "/" + std::string(key))
                : RopeObject();
}

static Rope makeRope(const RopeObject &object, double theta) {
  return {object.theta.value_or(theta), object.stretch, object.scaling};
}

LayerRopes hone::readLayerRopes(ConfigReader &config,
                                std::optional<double> defaultTheta,
                                double defaultSlidingTheta) {
  const char *local = "rope_local_base_freq";
  const Json *parameters = config.take("rope_parameters");
  if (!parameters) {
    Rope full = readRope(config, defaultTheta);
    Rope sliding;
    sliding.theta = config.positive(local, defaultSlidingTheta);
    return {full, sliding};
  }
  // Transformers takes each setting from the object first.
  for (const char *key : {"rope_scaling", "rope_theta", local})
    if (config.take(key))
      config.failAt(ErrorCode::BadConfig, key,
                    "expected none beside /rope_parameters",
                    "Transformers 4 writes the first, Transformers 5 the "
                    "second; remove the wrong one");
  LayerRopes ropes;
  ropes.full.theta = defaultTheta.value_or(1);
  ropes.sliding.theta = defaultSlidingTheta;
  if (!parameters->isObject()) {
    readMembers(config, *parameters, "/rope_parameters");
    return ropes;
  }
  for (const auto &[name, value] : parameters->object()) {
    std::string pointer = "/rope_parameters/" + name;
    bool isFull = name == "full_attention";
    if (!isFull && name != "sliding_attention")
      config.fail(ErrorCode::UnknownConfigKey, value, pointer,
                  "expected full_attention and sliding_attention",
                  "these models have rotary settings for each type of layer");
    else if (!value.isNull()) {
      Rope &rope = isFull ? ropes.full : ropes.sliding;
      rope = makeRope(readMembers(config, value, pointer), rope.theta);
    }
  }
  return ropes;
}

Rope hone::readRope(ConfigReader &config, std::optional<double> defaultTheta) {
  const char *whoWrites = "Transformers 4 writes the first, Transformers 5 the "
                          "second; remove the wrong one";
  RopeObject four = readObject(config, "rope_scaling");
  RopeObject five = readObject(config, "rope_parameters");
  if (config.take("rope_theta")) {
    double theta = config.positive("rope_theta");
    if (four.theta && *four.theta != theta)
      config.failAt(ErrorCode::BadConfig, "rope_theta",
                    "disagrees with /rope_scaling/rope_theta",
                    "remove one of the two");
    four.theta = theta;
  }
  if (four.theta && five.theta && *four.theta != *five.theta)
    config.failAt(ErrorCode::BadConfig, "rope_theta",
                  "expected the same as /rope_parameters/rope_theta, " +
                      std::to_string(*five.theta) + ", but found " +
                      std::to_string(*four.theta),
                  whoWrites);
  if (four.isPresent && five.isPresent &&
      !(four.scaling == five.scaling && four.stretch == five.stretch))
    config.failAt(ErrorCode::BadConfig, "rope_scaling",
                  "disagrees with /rope_parameters", whoWrites);
  Rope rope;
  rope.scaling = five.isPresent ? five.scaling : four.scaling;
  rope.stretch = five.isPresent ? five.stretch : four.stretch;
  rope.theta = four.theta   ? *four.theta
               : five.theta ? *five.theta
                            : config.positive("rope_theta", defaultTheta);
  return rope;
}
