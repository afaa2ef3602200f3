//===- HuggingFaceModelTest.cpp - Which config.json is understood, and how ===//
//
// The module that is built of a config shows how it was understood.
//
//===----------------------------------------------------------------------===//

#include "test/unit/BuiltModelTest.h"

#include <cmath>
#include <limits>

using namespace hone;
using rt::ErrorCode;
using namespace mlir;

/// A valid Llama config with `extra` members added; a member of `extra`
/// replaces the one of the same name.
static std::string llama(const std::string &extra,
                         const std::string &without = "") {
  static const std::pair<const char *, const char *> members[] = {
      {"model_type", "\"llama\""},  {"hidden_size", "64"},
      {"intermediate_size", "172"}, {"num_hidden_layers", "2"},
      {"num_attention_heads", "8"}, {"num_key_value_heads", "4"},
      {"rms_norm_eps", "1e-5"},     {"vocab_size", "512"}};
  std::string text = "{" + extra;
  for (auto [name, value] : members) {
    std::string key = std::string("\"") + name + "\":";
    if (extra.find(key) != std::string::npos || without == name)
      continue;
    text += (text.size() > 1 ? "," : "") + key + value;
  }
  return text + "}";
}

static std::string gemma3(const std::string &extra) {
  return llama("\"model_type\":\"gemma3_text\",\"head_dim\":16" +
               (extra.empty() ? "" : "," + extra));
}

static std::string mistral(const std::string &extra) {
  return llama("\"model_type\":\"mistral\"" +
               (extra.empty() ? "" : "," + extra));
}

static std::string qwen2(const std::string &extra) {
  return llama("\"model_type\":\"qwen2\",\"rope_theta\":1e6" +
               (extra.empty() ? "" : "," + extra));
}

TEST(HubName, IsThatOfAnOwnersModelAndNoPath) {
  auto nameIn = [](const std::string &name) {
    auto model = HuggingFaceModel::parse(
        llama("\"_name_or_path\":\"" + name + "\""), "config.json");
    EXPECT_TRUE(model.isOk());
    return model.isOk() ? model.value()->hubName : "error";
  };
  EXPECT_EQ(nameIn("meta-llama/Llama-3.2-1B"), "meta-llama/Llama-3.2-1B");
  EXPECT_EQ(nameIn("/home/me/model"), "");
  EXPECT_EQ(nameIn("./model"), "");
  EXPECT_EQ(nameIn("model"), "");
  EXPECT_EQ(nameIn("a/b/c"), "");
}

namespace {
class HuggingFaceModelTest : public BuiltModelTest {
protected:
  /// Of each layer in order: the window that it sees, 0: all keys.
  std::vector<int64_t> windows(ModuleOp module) {
    std::vector<int64_t> result;
    for (CallOp call : all<CallOp>(module)) {
      auto block = module.lookupSymbol<BlockOp>(call.getBlock());
      for (AttentionOp op : block.getBody().getOps<AttentionOp>())
        result.push_back(op.getWindow().value_or(0));
    }
    return result;
  }
};
} // namespace

TEST_F(HuggingFaceModelTest, ResolvesDefaults) {
  OwningOpRef<ModuleOp> module = built(llama("", "num_key_value_heads"));
  AttentionOp attention = all<AttentionOp>(*module).front();
  EXPECT_EQ(attention.getHeads(), 8u);
  EXPECT_EQ(attention.getKvHeads(), 8u);
  EXPECT_EQ(all<RopeOp>(*module).front().getTheta().convertToDouble(), 1e4);
  EXPECT_EQ(count(*module, "lm_head.weight"), 1u);
  EXPECT_EQ(count(*module, ".bias"), 0u);
}

TEST_F(HuggingFaceModelTest, LlamaHasTheBiasesOfItsConfig) {
  EXPECT_EQ(count(*built(llama("\"attention_bias\":true")), ".bias"), 4u);
  EXPECT_EQ(count(*built(llama("\"mlp_bias\":true")), ".bias"), 3u);
}

TEST_F(HuggingFaceModelTest, Qwen2HasBiasOnQueriesKeysAndValuesOnly) {
  OwningOpRef<ModuleOp> module = built(qwen2(""));
  EXPECT_EQ(count(*module, ".bias"), 3u);
  EXPECT_EQ(count(*module, "o_proj.bias"), 0u);
}

// Without a window its mathematics are Llama's, and so is its module.
TEST_F(HuggingFaceModelTest, MistralIsLlamaWithoutBiases) {
  auto textOf = [&](const std::string &config) {
    std::string text;
    llvm::raw_string_ostream(text) << *built(config);
    return text;
  };
  EXPECT_EQ(textOf(llama("\"model_type\":\"mistral\",\"sliding_window\":null")),
            textOf(llama("")));
}

TEST_F(HuggingFaceModelTest, ATiedHeadReadsTheEmbedding) {
  OwningOpRef<ModuleOp> module = built(llama("\"tie_word_embeddings\":true"));
  EXPECT_EQ(count(*module, "embed_tokens.weight"), 2u);
  EXPECT_EQ(count(*module, "lm_head.weight"), 0u);
}

static const char *llama3Keys =
    "\"factor\":8.0,\"low_freq_factor\":1.0,\"high_freq_factor\":4.0,"
    "\"original_max_position_embeddings\":32";

TEST_F(HuggingFaceModelTest, BothSpellingsOfRopeMeanTheSame) {
  OwningOpRef<ModuleOp> four =
      built(llama(std::string("\"rope_theta\":100.0,\"rope_scaling\":{"
                              "\"rope_type\":\"llama3\",") +
                  llama3Keys + "}"));
  OwningOpRef<ModuleOp> five =
      built(llama(std::string("\"rope_parameters\":{\"rope_theta\":100.0,"
                              "\"rope_type\":\"llama3\",") +
                  llama3Keys + "}"));
  RopeOp a = all<RopeOp>(*four).front(), b = all<RopeOp>(*five).front();
  EXPECT_EQ(a.getTheta().convertToDouble(), 100.0);
  ASSERT_TRUE(a.getScaling());
  EXPECT_EQ(a->getAttrDictionary(), b->getAttrDictionary());
}

TEST_F(HuggingFaceModelTest, SlidingWindowMayBeConfiguredButNotUsed) {
  built(qwen2("\"sliding_window\":32,\"use_sliding_window\":false,"
              "\"max_window_layers\":1"));
  built(qwen2("\"sliding_window\":32,\"use_sliding_window\":true,"
              "\"max_window_layers\":2"));
}

using Windows = std::vector<int64_t>;

TEST_F(HuggingFaceModelTest, MistralSlidesInEveryLayerUnlessItSaysNull) {
  EXPECT_EQ(windows(*built(mistral(""))), (Windows{4096, 4096}));
  EXPECT_EQ(windows(*built(mistral("\"sliding_window\":32"))),
            (Windows{32, 32}));
  EXPECT_EQ(windows(*built(mistral("\"sliding_window\":null"))),
            (Windows{0, 0}));
}

TEST_F(HuggingFaceModelTest, QwenSlidesFromALayerOn) {
  const std::string used = "\"num_hidden_layers\":3,\"sliding_window\":32,"
                           "\"use_sliding_window\":true";
  EXPECT_EQ(windows(*built(qwen2(used + ",\"max_window_layers\":1"))),
            (Windows{0, 32, 32}));
  EXPECT_EQ(windows(*built(qwen2(used +
                                 ",\"layer_types\":[\"sliding_attention\","
                                 "\"full_attention\",\"sliding_attention\"]"))),
            (Windows{32, 0, 32}));
}

TEST_F(HuggingFaceModelTest, GemmaSeesAllKeysInEveryNthLayer) {
  const std::string layers = "\"num_hidden_layers\":5,\"sliding_window\":32,";
  const Windows expected = {32, 0, 32, 0, 32};
  for (const char *key : {"sliding_window_pattern", "_sliding_window_pattern"})
    EXPECT_EQ(windows(*built(gemma3(layers + "\"" + key + "\":2"))), expected)
        << key;
  EXPECT_EQ(windows(*built(gemma3("\"num_hidden_layers\":7"))),
            (Windows{4096, 4096, 4096, 4096, 4096, 0, 4096}));
}

TEST_F(HuggingFaceModelTest, LayersOfOneKindShareABlock) {
  const std::string config = qwen2("\"sliding_window\":32,\"use_sliding_"
                                   "window\":true,\"max_window_layers\":1");
  auto blocks = [&](int64_t longestSequence) {
    return all<BlockOp>(
               *built(config, Float32Type::get(&context), longestSequence))
        .size();
  };
  EXPECT_EQ(blocks(33), 4u);
  // A window that no sequence fills is left out.
  EXPECT_EQ(blocks(32), 3u);
}

TEST_F(HuggingFaceModelTest, Qwen3NormalisesTheHeadsOfQueriesAndKeys) {
  OwningOpRef<ModuleOp> module = built(
      llama("\"model_type\":\"qwen3\",\"rope_theta\":1e6,\"head_dim\":6"));
  EXPECT_EQ(count(*module, ".bias"), 0u);
  std::vector<RmsNormOp> norms = all<RmsNormOp>(*module);
  EXPECT_EQ(norms[1].getHeads(), 8u);
  EXPECT_EQ(norms[2].getHeads(), 4u);
  EXPECT_EQ(norms[1].getWeight().getType().getDimSize(0), 6);
  EXPECT_EQ(norms[1].getOffset().convertToDouble(), 0);
}

TEST_F(HuggingFaceModelTest, GemmaHasItsOwnScales) {
  const std::string config =
      gemma3("\"hidden_size\":1152,\"query_pre_attn_scalar\":25");
  OwningOpRef<ModuleOp> module = built(config);
  for (RmsNormOp norm : all<RmsNormOp>(*module))
    EXPECT_EQ(norm.getOffset().convertToDouble(), 1);
  EXPECT_EQ(all<AttentionOp>(*module)[0].getScale().convertToDouble(), 0.2);
  auto scale = [&](Type element) {
    return all<EmbeddingOp>(*built(config, element))[0]
        .getScale()
        ->convertToDouble();
  };
  EXPECT_EQ(scale(Float64Type::get(&context)), std::sqrt(1152.0));
  EXPECT_EQ(scale(Float32Type::get(&context)), std::sqrt(1152.0f));
  EXPECT_EQ(scale(BFloat16Type::get(&context)), 34.0);
  // Tied unless config.json says otherwise.
  EXPECT_EQ(count(*module, "lm_head.weight"), 0u);
}

TEST_F(HuggingFaceModelTest, BothSpellingsOfGemmasRopeMeanTheSame) {
  auto ropes = [&](const std::string &keys) {
    std::vector<std::pair<double, double>> found;
    for (RopeOp op : all<RopeOp>(*built(gemma3(
             "\"sliding_window_pattern\":2,\"sliding_window\":8," + keys))))
      found.push_back(
          {op.getTheta().convertToDouble(),
           op.getStretch() ? op.getStretch()->convertToDouble() : 1});
    return found;
  };
  // Queries and keys of the sliding layers, then of the others.
  const std::vector<std::pair<double, double>> expected = {
      {50, 1}, {50, 1}, {100, 8}, {100, 8}};
  EXPECT_EQ(ropes("\"rope_theta\":100,\"rope_local_base_freq\":50,"
                  "\"rope_scaling\":{\"rope_type\":\"linear\",\"factor\":8}"),
            expected);
  EXPECT_EQ(ropes("\"rope_parameters\":{\"sliding_attention\":{\"rope_type\":"
                  "\"default\",\"rope_theta\":50},\"full_attention\":{"
                  "\"rope_type\":\"linear\",\"factor\":8,\"rope_theta\":"
                  "100}}"),
            expected);
}

TEST_F(HuggingFaceModelTest, ActivationsHaveTransformersNames) {
  auto activation = [&](const char *word) {
    return all<GatedActivationOp>(
               *built(llama(std::string("\"hidden_act\":\"") + word + "\"")))[0]
        .getActivation();
  };
  EXPECT_EQ(activation("silu"), Activation::Silu);
  EXPECT_EQ(activation("gelu"), Activation::Gelu);
  EXPECT_EQ(activation("gelu_pytorch_tanh"), Activation::GeluTanh);
  EXPECT_EQ(activation("relu"), Activation::Relu);
}

TEST_F(HuggingFaceModelTest, NullAndNeutralKeysAreBenign) {
  built(llama("\"attn_logit_softcapping\":null,\"attention_dropout\":0.0,"
              "\"rope_scaling\":null,\"head_dim\":null"));
}

namespace {
struct BadConfig {
  const char *name;
  ErrorCode code;
  std::string text;
  const char *place, *problem, *remedy;
};
} // namespace

class BadConfigTest : public testing::TestWithParam<BadConfig> {};

TEST_P(BadConfigTest, IsRefusedWithPlaceProblemAndRemedy) {
  const BadConfig &bad = GetParam();
  auto model = HuggingFaceModel::parse(bad.text, "config.json");
  ASSERT_FALSE(model.isOk());
  EXPECT_EQ(model.status().errorCode(), bad.code);
  const rt::Message &message = model.status().message();
  EXPECT_NE(message.place.find("config.json:1:"), std::string::npos)
      << message.place;
  EXPECT_NE(message.place.find(bad.place), std::string::npos) << message.place;
  EXPECT_NE(message.problem.find(bad.problem), std::string::npos)
      << message.problem;
  EXPECT_NE(message.remedy.find(bad.remedy), std::string::npos)
      << message.remedy;
}

static const BadConfig badConfigs[] = {
    {"Array", ErrorCode::BadConfig, "[]", "/", "expected an object",
     "same place"},
    {"NoModelType", ErrorCode::BadConfig, llama("", "model_type"),
     "/model_type", "expected the name of a model type",
     "llama, mistral, qwen2"},
    {"ModelType", ErrorCode::UnsupportedModel,
     llama("\"model_type\":\"bloom\""), "/model_type",
     "'bloom' is not supported", ".mlir"},
    {"Architecture", ErrorCode::UnsupportedModel,
     llama("\"architectures\":[\"LlamaForSequenceClassification\"]"),
     "/architectures", "LlamaForCausalLM", "causal language models"},
    {"AutoMap", ErrorCode::UnsupportedModel,
     llama("\"auto_map\":{\"AutoModel\":\"x.Y\"}"), "/auto_map",
     "wants to run Python code", "never runs"},
    {"Quantization", ErrorCode::UnsupportedQuantization,
     llama("\"quantization_config\":{\"quant_method\":\"gptq\"}"),
     "/quantization_config", "gptq", "unquantised"},
    {"MissingSize", ErrorCode::BadConfig, llama("", "hidden_size"),
     "/hidden_size", "missing", "same place"},
    {"ZeroSize", ErrorCode::BadConfig, llama("\"hidden_size\":0"),
     "/hidden_size", "from 1 to 2147483647 but found 0", "same place"},
    {"FractionalSize", ErrorCode::BadConfig, llama("\"hidden_size\":64.5"),
     "/hidden_size", "expected an integer", "same place"},
    {"StringSize", ErrorCode::BadConfig, llama("\"vocab_size\":\"512\""),
     "/vocab_size", "found \"512\"", "same place"},
    {"HugeSize", ErrorCode::BadConfig, llama("\"vocab_size\":4294967296"),
     "/vocab_size", "found 4294967296", "same place"},
    {"HeadsDoNotDivide", ErrorCode::BadConfig,
     llama("\"num_attention_heads\":7"), "/hidden_size",
     "multiple of num_attention_heads, 7", "head_dim"},
    {"KeyValueHeads", ErrorCode::BadConfig, llama("\"num_key_value_heads\":3"),
     "/num_key_value_heads", "a divisor of num_attention_heads, 8",
     "same place"},
    {"OddHead", ErrorCode::BadConfig, llama("\"head_dim\":7"), "/head_dim",
     "even head size", "hidden_size"},
    {"Layers", ErrorCode::BadConfig, llama("\"num_hidden_layers\":1000000"),
     "/num_hidden_layers", "at most 10000 layers", "same place"},
    {"Activation", ErrorCode::UnsupportedModel,
     llama("\"hidden_act\":\"quick_gelu\""), "/hidden_act",
     "known but found \"quick_gelu\"", "gelu_pytorch_tanh"},
    {"NegativeEps", ErrorCode::BadConfig, llama("\"rms_norm_eps\":-1"),
     "/rms_norm_eps", "positive number", "same place"},
    {"TinyEps", ErrorCode::BadConfig, llama("\"rms_norm_eps\":1e-39"),
     "/rms_norm_eps",
     "from 1.18e-38 to 3.4e38, as a normal float32 is, but found 1e-39",
     "same place"},
    {"ThetaOfNothing", ErrorCode::BadConfig, llama("\"rope_theta\":1e-400"),
     "/rope_theta", "expected a positive number but found 0", "same place"},
    {"HugeTheta", ErrorCode::BadConfig, llama("\"rope_theta\":1e39"),
     "/rope_theta", "as a normal float32 is, but found 1e+39", "same place"},
    {"TinyStretch", ErrorCode::BadConfig,
     llama("\"rope_scaling\":{\"type\":\"linear\",\"factor\":5e-324}"),
     "/rope_scaling/factor", "as a normal float32 is, but found 5e-324",
     "same place"},
    {"RopeType", ErrorCode::UnsupportedModel,
     llama("\"rope_scaling\":{\"rope_type\":\"yarn\"}"),
     "/rope_scaling/rope_type", "'yarn' is not supported",
     "default, linear, llama3"},
    {"OldRopeType", ErrorCode::UnsupportedModel,
     llama("\"rope_scaling\":{\"type\":\"dynamic\"}"),
     "/rope_scaling/rope_type", "'dynamic' is not supported",
     "default, linear, llama3"},
    {"RopeFactorMissing", ErrorCode::BadConfig,
     llama("\"rope_scaling\":{\"type\":\"linear\"}"), "/rope_scaling/factor",
     "missing", "same place"},
    {"RopeTypesDisagree", ErrorCode::BadConfig,
     llama("\"rope_scaling\":{\"type\":\"default\",\"rope_type\":\"llama3\"}"),
     "/rope_scaling/type", "the same as rope_type", "remove one"},
    {"RopeKeyMissing", ErrorCode::BadConfig,
     llama("\"rope_scaling\":{\"rope_type\":\"llama3\",\"factor\":8}"),
     "/rope_scaling/low_freq_factor", "missing", "same place"},
    {"RopeKeyUnknown", ErrorCode::UnknownConfigKey,
     llama("\"rope_scaling\":{\"rope_type\":\"default\",\"mscale\":2}"),
     "/rope_scaling/mscale", "not known", "remove it"},
    {"RopeFrequencies", ErrorCode::BadConfig,
     llama("\"rope_scaling\":{\"rope_type\":\"llama3\",\"factor\":8,"
           "\"low_freq_factor\":4,\"high_freq_factor\":4,"
           "\"original_max_position_embeddings\":32}"),
     "/rope_scaling", "below high_freq_factor", "1 and 4"},
    {"RopeNotAnObject", ErrorCode::BadConfig, llama("\"rope_scaling\":2"),
     "/rope_scaling", "expected an object", "documentation"},
    {"ThetasDisagree", ErrorCode::BadConfig,
     llama("\"rope_theta\":100,\"rope_parameters\":{\"rope_theta\":200,"
           "\"rope_type\":\"default\"}"),
     "/rope_theta", "the same as /rope_parameters/rope_theta",
     "Transformers 5"},
    {"QwenWithoutTheta", ErrorCode::BadConfig,
     llama("\"model_type\":\"qwen2\""), "/rope_theta", "missing", "same place"},
    {"MistralWindow", ErrorCode::BadConfig, mistral("\"sliding_window\":0"),
     "/sliding_window", "from 1 to", "same place"},
    {"MistralLayerTypes", ErrorCode::UnsupportedModel,
     mistral("\"layer_types\":[\"full_attention\",\"sliding_attention\"]"),
     "/layer_types", "sliding_attention in every layer", "not supported"},
    {"MistralBias", ErrorCode::UnsupportedModel,
     llama("\"model_type\":\"mistral\",\"sliding_window\":null,"
           "\"attention_bias\":true"),
     "/attention_bias", "expected false", "another value"},
    {"MistralKeyValueHeads", ErrorCode::BadConfig,
     llama("\"model_type\":\"mistral\",\"sliding_window\":null",
           "num_key_value_heads"),
     "/num_key_value_heads", "missing", "same place"},
    {"PartialRotary", ErrorCode::UnknownConfigKey,
     llama("\"rope_parameters\":{\"rope_theta\":1e4,\"rope_type\":\"default\","
           "\"partial_rotary_factor\":0.5}"),
     "/rope_parameters/partial_rotary_factor", "not known", "remove it"},
    {"QwenWithoutWindow", ErrorCode::BadConfig,
     qwen2("\"use_sliding_window\":true,\"max_window_layers\":1"),
     "/sliding_window", "missing", "same place"},
    {"QwenWithoutWindowLayers", ErrorCode::BadConfig,
     qwen2("\"use_sliding_window\":true,\"sliding_window\":32"),
     "/max_window_layers", "missing", "same place"},
    {"QwenWithNegativeWindowLayers", ErrorCode::BadConfig,
     qwen2("\"use_sliding_window\":true,\"sliding_window\":32,"
           "\"max_window_layers\":-1"),
     "/max_window_layers", "from 0 on but found -1", "same place"},
    {"QwenSlidesUnused", ErrorCode::UnsupportedModel,
     qwen2("\"sliding_window\":32,"
           "\"layer_types\":[\"full_attention\",\"sliding_attention\"]"),
     "/layer_types", "full_attention in every layer", "use_sliding_window"},
    {"LayerTypes", ErrorCode::UnsupportedModel,
     llama("\"layer_types\":[\"full_attention\",\"sliding_attention\"]"),
     "/layer_types", "full_attention in every layer", "not supported"},
    {"LayerTypesNumber", ErrorCode::BadConfig,
     llama("\"layer_types\":[\"full_attention\"]"), "/layer_types",
     "the 2 layers but found 1", "leave it out"},
    {"LayerTypesNoList", ErrorCode::BadConfig,
     llama("\"layer_types\":\"full_attention\""), "/layer_types",
     "expected a list", "leave it out"},
    {"LayerTypesOfAnotherKind", ErrorCode::UnsupportedModel,
     gemma3("\"layer_types\":[\"chunked_attention\",\"full_attention\"]"),
     "/layer_types", "found \"chunked_attention\"", "another attention"},
    {"GemmaWithoutWindow", ErrorCode::BadConfig,
     gemma3("\"sliding_window\":null"), "/sliding_window", "found null",
     "same place"},
    {"GemmaPatternsDisagree", ErrorCode::BadConfig,
     gemma3("\"sliding_window_pattern\":6,\"_sliding_window_pattern\":2"),
     "/_sliding_window_pattern", "the same as /sliding_window_pattern",
     "remove one"},
    {"GemmaSoftcapping", ErrorCode::UnsupportedModel,
     gemma3("\"attn_logit_softcapping\":50.0"), "/attn_logit_softcapping",
     "expected null", "soft capping"},
    {"GemmaFinalSoftcapping", ErrorCode::UnsupportedModel,
     gemma3("\"final_logit_softcapping\":30.0"), "/final_logit_softcapping",
     "expected null", "soft capping"},
    {"GemmaBidirectional", ErrorCode::UnsupportedModel,
     gemma3("\"use_bidirectional_attention\":true"),
     "/use_bidirectional_attention", "expected false", "another value"},
    {"GemmaRopesOfBothKinds", ErrorCode::BadConfig,
     gemma3("\"rope_theta\":1e6,\"rope_parameters\":{}"), "/rope_theta",
     "none beside /rope_parameters", "Transformers 5"},
    {"GemmaRopeOfAnotherLayer", ErrorCode::UnknownConfigKey,
     gemma3("\"rope_parameters\":{\"rope_theta\":1e6}"),
     "/rope_parameters/rope_theta", "full_attention and sliding_attention",
     "for each type of layer"},
    {"GemmaRopeNotAnObject", ErrorCode::BadConfig,
     gemma3("\"rope_parameters\":{\"full_attention\":1e6}"),
     "/rope_parameters/full_attention", "expected an object", "documentation"},
    {"Softcapping", ErrorCode::UnknownConfigKey,
     llama("\"attn_logit_softcapping\":30.0"), "/attn_logit_softcapping",
     "not known for model type llama", "may change"},
    {"MisspeltKey", ErrorCode::UnknownConfigKey, llama("\"rms_norm_epz\":1e-5"),
     "/rms_norm_epz", "not known", "did you mean 'rms_norm_eps'?"},
    {"Dropout", ErrorCode::UnsupportedModel, llama("\"attention_dropout\":0.1"),
     "/attention_dropout", "expected 0", "another value"},
    {"DtypesDisagree", ErrorCode::BadConfig,
     llama("\"dtype\":\"float32\",\"torch_dtype\":\"bfloat16\""), "/dtype",
     "the same as /torch_dtype", "remove one"},
    {"BiasIsANumber", ErrorCode::BadConfig, llama("\"attention_bias\":1"),
     "/attention_bias", "true or false", "same place"},
    {"DuplicateKey", ErrorCode::BadJson,
     "{\"model_type\":\"llama\",\"model_type\":\"llama\"}",
     "config.json:1:", "model_type", ""},
    {"NotJson", ErrorCode::BadJson, "{\"model_type\": llama}",
     "config.json:1:", "", ""},
};

INSTANTIATE_TEST_SUITE_P(HuggingFaceModel, BadConfigTest,
                         testing::ValuesIn(badConfigs),
                         [](const auto &info) { return info.param.name; });
