//===- HuggingFaceModelTest.cpp - Which config.json is understood, and how ===//
//
// What was understood shows in the module that is built of it.
//
//===----------------------------------------------------------------------===//

#include "compiler/import/ModelImport.h"
#include "dialects/Hone/HoneOps.h"

#include "gtest/gtest.h"

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

static std::string qwen2(const std::string &extra) {
  return llama("\"model_type\":\"qwen2\",\"rope_theta\":1e6" +
               (extra.empty() ? "" : "," + extra));
}

namespace {
class HuggingFaceModelTest : public testing::Test {
protected:
  HuggingFaceModelTest() { context.loadDialect<HoneDialect>(); }
  OwningOpRef<ModuleOp> built(const std::string &text) {
    auto model = HuggingFaceModel::parse(text, "config.json");
    EXPECT_TRUE(model.isOk()) << model.status().render();
    return buildModule(*model.value(), Float32Type::get(&context));
  }
  template <typename Op> static std::vector<Op> all(ModuleOp module) {
    std::vector<Op> ops;
    module.walk([&](Op op) { ops.push_back(op); });
    return ops;
  }
  /// The parameters whose names end in `suffix`, of all blocks.
  static size_t count(ModuleOp module, StringRef suffix) {
    return llvm::count_if(all<ParameterOp>(module), [&](ParameterOp op) {
      return op.getName().ends_with(suffix);
    });
  }
  MLIRContext context;
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
     llama("\"hidden_act\":\"gelu\""), "/hidden_act",
     "\"silu\" but found \"gelu\"", "SwiGLU"},
    {"NegativeEps", ErrorCode::BadConfig, llama("\"rms_norm_eps\":-1"),
     "/rms_norm_eps", "positive number", "same place"},
    {"RopeType", ErrorCode::UnsupportedModel,
     llama("\"rope_scaling\":{\"rope_type\":\"yarn\"}"),
     "/rope_scaling/rope_type", "'yarn' is not supported", "default, llama3"},
    {"OldRopeType", ErrorCode::UnsupportedModel,
     llama("\"rope_scaling\":{\"type\":\"linear\"}"), "/rope_scaling/rope_type",
     "'linear' is not supported", "default, llama3"},
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
    {"MistralWindowByDefault", ErrorCode::UnsupportedModel,
     llama("\"model_type\":\"mistral\""), "/sliding_window", "expected null",
     "trained without"},
    {"MistralWindow", ErrorCode::UnsupportedModel,
     llama("\"model_type\":\"mistral\",\"sliding_window\":4096"),
     "/sliding_window", "expected null", "trained without"},
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
    {"SlidingWindow", ErrorCode::UnsupportedModel,
     qwen2("\"sliding_window\":32,\"use_sliding_window\":true,"
           "\"max_window_layers\":1"),
     "/use_sliding_window", "not supported", "trained without"},
    {"LayerTypes", ErrorCode::UnsupportedModel,
     llama("\"layer_types\":[\"full_attention\",\"sliding_attention\"]"),
     "/layer_types", "\"full_attention\"", "not supported"},
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
