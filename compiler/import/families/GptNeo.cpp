//===- GptNeo.cpp - GPT-Neo -----------------------------------------------===//
//
// Transformers' modeling_gpt_neo.py is the source. Scores are not scaled, and a
// local layer sees the last window_size keys.
//
//===----------------------------------------------------------------------===//

#include "compiler/import/families/ActivationKey.h"
#include "compiler/import/families/GptDecoder.h"

using namespace hone;
using namespace mlir;
using rt::Json;

namespace {

class GptNeo : public GptDecoder {
  void read(ConfigReader &config) override {
    sizes.hidden = config.size("hidden_size", 2048);
    sizes.layers = config.sizeOf("num_layers", "num_hidden_layers", 24);
    sizes.heads = config.sizeOf("num_heads", "num_attention_heads", 16);
    sizes.positions = config.size("max_position_embeddings", 2048);
    sizes.vocabulary = config.size("vocab_size", 50257);
    checkSizes(config, "hidden_size", "num_layers");
    sizes.inner = config.size("intermediate_size", 4 * sizes.hidden);
    window = config.size("window_size", 256);
    epsilon = config.positive("layer_norm_epsilon", 1e-5);
    function =
        readActivation(config, "activation_function", Activation::GeluTanh);
    readLayers(config);
    config.takeDropout({"resid_dropout", "embed_dropout", "attention_dropout"});
    // Heads of other classes.
    for (const char *key :
         {"classifier_dropout", "summary_type", "summary_use_proj",
          "summary_activation", "summary_proj_to_labels",
          "summary_first_dropout", "gradient_checkpointing"})
      config.take(key);
    baseModelPrefix = "transformer.";
    for (int64_t i = 0; !config.failed() && i < sizes.layers; ++i)
      for (const char *buffer : {"bias", "masked_bias"})
        redundantTensors.push_back("transformer.h." + std::to_string(i) +
                                   ".attn.attention." + buffer);
  }

  /// Appends the kinds of layers in `list`; false if it holds something else.
  static bool appendKinds(const Json &list, std::vector<bool> &kinds) {
    if (!list.isArray())
      return false;
    for (const Json &kind : list.array()) {
      if (!kind.isString() ||
          (kind.string() != "global" && kind.string() != "local"))
        return false;
      kinds.push_back(kind.string() == "local");
    }
    return true;
  }

  /// attention_types: [[kinds, how often], ...], and attention_layers, which
  /// Transformers makes of it and writes beside it.
  void readLayers(ConfigReader &config) {
    auto malformed = [&](const char *key, const std::string &expected) {
      config.failAt(ErrorCode::BadConfig, key,
                    "expected " + expected + " of \"global\" and \"local\"",
                    takeFromTheSamePlace);
    };
    const Json *types = config.take("attention_types");
    const Json *listed = config.take("attention_layers");
    std::vector<bool> fromTypes, fromList;
    if (types) {
      constexpr const char *expected = "[[kinds, count], ...] with kinds";
      if (!types->isArray())
        return malformed("attention_types", expected);
      for (const Json &item : types->array()) {
        bool isPair = item.isArray() && item.array().size() == 2;
        std::vector<bool> kinds;
        if (!isPair || !appendKinds(item.array()[0], kinds) ||
            !item.array()[1].isInteger() || item.array()[1].integer() < 0)
          return malformed("attention_types", expected);
        for (int64_t i = 0; i < item.array()[1].integer() && !kinds.empty() &&
                            int64_t(fromTypes.size()) <= sizes.layers;
             ++i)
          fromTypes.insert(fromTypes.end(), kinds.begin(), kinds.end());
      }
    } else if (!listed) {
      for (int64_t i = 0; i < 24; ++i) // Transformers' default
        fromTypes.push_back(i % 2);
    }
    if (listed && !appendKinds(*listed, fromList))
      return malformed("attention_layers", "a list");
    isLocal = types || !listed ? fromTypes : fromList;
    const char *key = types ? "attention_types" : "attention_layers";
    if (int64_t(isLocal.size()) != sizes.layers)
      config.failAt(ErrorCode::BadConfig, key,
                    "expected a kind for each of " +
                        std::to_string(sizes.layers) + " layers",
                    takeFromTheSamePlace);
    else if (types && listed && fromTypes != fromList)
      config.failAt(ErrorCode::BadConfig, "attention_layers",
                    "expected the kinds of /attention_types",
                    "remove one of the two");
  }

  Value layer(ModelBuilder &builder, Value x,
              std::optional<int64_t> window) const {
    Value n = builder.layerNorm("ln_1", x, epsilon);
    auto project = [&](StringRef name) {
      return builder.linear(name, n, sizes.hidden, /*hasBias=*/false);
    };
    Value q = project("attn.attention.q_proj");
    Value k = project("attn.attention.k_proj");
    Value v = project("attn.attention.v_proj");
    Value y = attend(builder, "attn.attention", q, k, v, /*scale=*/1.0, window);
    y = builder.linear("attn.attention.out_proj", y, sizes.hidden, true);
    x = builder.add("attn.residual", x, y);
    n = builder.layerNorm("ln_2", x, epsilon);
    Value inner = builder.linear("mlp.c_fc", n, sizes.inner, true);
    inner = builder.activation("mlp.act", function, inner);
    y = builder.linear("mlp.c_proj", inner, sizes.hidden, true);
    return builder.add("mlp.residual", x, y);
  }

  void build(ModelBuilder &builder) const override {
    // A window that no sequence fills is none.
    bool hasWindow = window < builder.longestSequence();
    auto isWindowed = [&](int64_t i) { return hasWindow && isLocal[i]; };
    connectTransformer(
        builder, epsilon,
        [&](int64_t i) -> std::string {
          return isWindowed(i) ? "decoder_sliding" : "decoder";
        },
        [&](int64_t i, Value x) {
          return layer(builder, x,
                       isWindowed(i) ? std::optional(window) : std::nullopt);
        });
  }

  double epsilon = 1e-5;
  Activation function = Activation::GeluTanh;
  int64_t window = 256;
  std::vector<bool> isLocal; ///< of each layer
};

} // namespace

const Family hone::gptNeo = {
    "gpt_neo", "GPTNeoForCausalLM", create<GptNeo>, {}, "transformer.wte"};
