//===- LayerKinds.cpp - Which layers of a model see a window --------------===//
//
// Transformers' configuration_qwen2.py, configuration_mistral.py and
// configuration_gemma3.py are the source, with their defaults.
//
//===----------------------------------------------------------------------===//

#include "compiler/import/families/LayerKinds.h"

using namespace hone;
using rt::Json;

static constexpr int64_t kDefaultWindow = 4096;

/// The value of layer_types; nothing if it is absent or wrong.
static std::optional<std::vector<bool>> readTypes(ConfigReader &config,
                                                  int64_t layers) {
  const Json *types = config.take("layer_types");
  if (!types || config.failed())
    return {};
  const char *remedy = "leave it out, or give each layer full_attention or "
                       "sliding_attention";
  if (!types->isArray()) {
    config.failAt(ErrorCode::BadConfig, "layer_types",
                  "expected a list but found " + describeValue(*types), remedy);
    return {};
  }
  if (static_cast<int64_t>(types->array().size()) != layers) {
    config.failAt(ErrorCode::BadConfig, "layer_types",
                  "expected one of each of the " + std::to_string(layers) +
                      " layers but found " +
                      std::to_string(types->array().size()),
                  remedy);
    return {};
  }
  std::vector<bool> slides;
  for (const Json &type : types->array()) {
    bool isFull = type.is("full_attention");
    bool isSliding = type.is("sliding_attention");
    if (!isFull && !isSliding)
      config.fail(ErrorCode::UnsupportedModel, type, "/layer_types",
                  "expected \"full_attention\" or \"sliding_attention\" but "
                  "found " +
                      describeValue(type),
                  "layers with another attention are not supported");
    slides.push_back(isSliding);
  }
  return slides;
}

/// Takes sliding_window, which may be null: then there is none.
static std::optional<int64_t> readWindow(ConfigReader &config,
                                         std::optional<int64_t> fallback) {
  if (config.has("sliding_window") && !config.take("sliding_window"))
    return {};
  return config.size("sliding_window", fallback);
}

/// Of Qwen's keys: without use_sliding_window the others mean nothing.
static std::vector<bool> fromLayer(ConfigReader &config, int64_t layers,
                                   bool hasTypes,
                                   std::optional<int64_t> &window) {
  bool isUsed = config.flag("use_sliding_window");
  // Their defaults have changed between versions.
  if (isUsed)
    window = readWindow(config, {});
  config.take("sliding_window");
  const Json *first = config.take("max_window_layers");
  std::vector<bool> slides(layers);
  if (!window || hasTypes)
    return slides;
  if (!first || !first->isInteger() || first->integer() < 0) {
    config.failAt(ErrorCode::BadConfig, "max_window_layers",
                  first ? "expected an integer from 0 on but found " +
                              describeValue(*first)
                        : "the key is required with use_sliding_window but "
                          "missing",
                  takeFromTheSamePlace);
    return slides;
  }
  for (int64_t layer = first->integer(); layer < layers; ++layer)
    slides[layer] = true;
  return slides;
}

/// Of Gemma's key, which Transformers also writes with an underscore.
static std::vector<bool> fromPattern(ConfigReader &config, int64_t layers) {
  bool isHidden = !config.has("sliding_window_pattern");
  int64_t pattern = config.size("sliding_window_pattern", 6);
  int64_t hidden = config.size("_sliding_window_pattern", pattern);
  if (!isHidden && hidden != pattern)
    config.failAt(ErrorCode::BadConfig, "_sliding_window_pattern",
                  "expected the same as /sliding_window_pattern, " +
                      std::to_string(pattern) + ", but found " +
                      std::to_string(hidden),
                  "remove one of the two");
  std::vector<bool> slides(layers);
  for (int64_t layer = 0; layer < layers; ++layer)
    slides[layer] = (layer + 1) % hidden != 0;
  return slides;
}

LayerKinds hone::readLayerKinds(ConfigReader &config, int64_t layers,
                                SlidingRule rule) {
  LayerKinds kinds;
  if (config.failed())
    return kinds;
  std::optional<std::vector<bool>> types = readTypes(config, layers);
  std::optional<int64_t> window;
  bool mayDiffer = false; // from the rule
  switch (rule) {
  case SlidingRule::None:
    kinds.slides.assign(layers, false);
    break;
  case SlidingRule::All:
    window = readWindow(config, kDefaultWindow);
    kinds.slides.assign(layers, window.has_value());
    break;
  case SlidingRule::FromLayer:
    kinds.slides = fromLayer(config, layers, types.has_value(), window);
    mayDiffer = window.has_value();
    break;
  case SlidingRule::Pattern:
    window = readWindow(config, kDefaultWindow);
    kinds.slides = fromPattern(config, layers);
    mayDiffer = true;
    break;
  }
  if (types && *types != kinds.slides && !mayDiffer)
    config.failAt(
        ErrorCode::UnsupportedModel, "layer_types",
        "expected " +
            std::string(window ? "sliding_attention" : "full_attention") +
            " in every layer",
        rule == SlidingRule::FromLayer
            ? "sliding layers need use_sliding_window and "
              "sliding_window"
            : "models of this type are not supported with other "
              "layers");
  if (types)
    kinds.slides = *types;
  bool anySlides = std::find(kinds.slides.begin(), kinds.slides.end(), true) !=
                   kinds.slides.end();
  if (anySlides && !window)
    config.failAt(ErrorCode::BadConfig, "sliding_window",
                  "expected the number of keys that sliding layers see but "
                  "found null",
                  takeFromTheSamePlace);
  kinds.window = window.value_or(0);
  return kinds;
}
