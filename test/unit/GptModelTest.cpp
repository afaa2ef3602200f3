//===- GptModelTest.cpp - Which config.json of OPT and GPT is understood --===//
//
// The module that is built of a config shows how it was understood.
//
//===----------------------------------------------------------------------===//

#include "test/unit/BuiltModelTest.h"

#include <cmath>

using namespace hone;
using rt::ErrorCode;
using namespace mlir;

/// An object of the members of both.
static std::string object(const std::string &base, const std::string &extra) {
  return "{" + base + (extra.empty() ? "" : ", " + extra) + "}";
}

static std::string opt(const std::string &extra = "") {
  return object(R"("model_type": "opt", "hidden_size": 48, "ffn_dim": 96,
      "num_hidden_layers": 3, "num_attention_heads": 6, "vocab_size": 97,
      "max_position_embeddings": 64)",
                extra);
}

static std::string gpt2(const std::string &extra = "") {
  return object(R"("model_type": "gpt2", "n_embd": 48, "n_layer": 3,
      "n_head": 6, "n_positions": 64, "vocab_size": 97)",
                extra);
}

static std::string gptNeo(const std::string &extra) {
  return object(R"("model_type": "gpt_neo", "hidden_size": 48, "num_layers": 3,
      "num_heads": 6, "max_position_embeddings": 64, "vocab_size": 97)",
                extra);
}

static constexpr const char *threeLayers =
    R"("attention_types": [[["global", "local"], 1], [["local"], 1]])";

namespace {
class GptModelTest : public BuiltModelTest {
protected:
  OwningOpRef<ModuleOp> built(const std::string &text, int64_t longest = 64) {
    return BuiltModelTest::built(text, Float32Type::get(&context), longest);
  }
};
} // namespace

TEST_F(GptModelTest, OptHasTheDefaultsOfTransformers) {
  OwningOpRef<ModuleOp> module = built(opt(R"("dropout": 0.1)"));
  EXPECT_EQ(all<LayerNormOp>(*module).size(), 3u);
  EXPECT_EQ(all<ActivationOp>(*module)[0].getActivation(), Activation::Relu);
  EXPECT_EQ(all<PositionEmbeddingOp>(*module)[0].getOffset(), 2u);
  EXPECT_EQ(count(*module, "lm_head.weight"), 0u);
  EXPECT_EQ(count(*module, "_proj.bias"), 4u);
  EXPECT_EQ(model->maxPositionEmbeddings, 64);
  EXPECT_EQ(model->baseModelPrefix, "model.");
  ASSERT_EQ(model->notes.size(), 1u);
  EXPECT_NE(model->notes[0].find("/dropout: Hone trains without dropout"),
            std::string::npos)
      << model->notes[0];
}

TEST_F(GptModelTest, OptNormalisesWhereItsConfigSays) {
  OwningOpRef<ModuleOp> module = built(opt(R"("do_layer_norm_before": false)"));
  // After the sum, and none before the head.
  EXPECT_EQ(all<LayerNormOp>(*module).size(), 2u);
  EXPECT_TRUE(all<LayerNormOp>(*module)[0].getX().getDefiningOp<AddOp>());
  module = built(opt(R"("_remove_final_layer_norm": true)"));
  EXPECT_EQ(all<LayerNormOp>(*module).size(), 2u);
  // All keys that Transformers 5 writes of such a model.
  module = built(opt(R"("_remove_final_layer_norm": false,
      "activation_function": "relu", "attention_dropout": 0.0,
      "bos_token_id": 2, "do_layer_norm_before": false, "dropout": 0.1,
      "enable_bias": true, "eos_token_id": 2, "init_std": 0.02,
      "layer_norm_elementwise_affine": true, "layerdrop": 0.0,
      "pad_token_id": 1, "tie_word_embeddings": true,
      "transformers_version": "5.23.0", "use_cache": true,
      "word_embed_proj_dim": 32)"));
  EXPECT_EQ(all<LayerNormOp>(*module).size(), 2u);
  EXPECT_EQ(count(*module, "project_out.weight"), 1u);
}

TEST_F(GptModelTest, OptProjectsANarrowEmbedding) {
  OwningOpRef<ModuleOp> module = built(opt(R"("word_embed_proj_dim": 20)"));
  EXPECT_EQ(count(*module, "project_in.weight"), 1u);
  EXPECT_EQ(count(*module, "project_out.weight"), 1u);
  EXPECT_EQ(count(*module, "project_in.bias"), 0u);
  EXPECT_EQ(count(*built(opt(R"("enable_bias": false)")), "_proj.bias"), 0u);
}

TEST_F(GptModelTest, Gpt2IsReadTransposedAndSliced) {
  OwningOpRef<ModuleOp> module = built(gpt2());
  size_t transposed =
      llvm::count_if(all<ParameterOp>(*module),
                     [](ParameterOp op) { return op.getTransposed(); });
  EXPECT_EQ(transposed, 4u);
  EXPECT_EQ(all<ColumnsOp>(*module)[2].getFrom(), 96u);
  EXPECT_EQ(all<ActivationOp>(*module)[0].getActivation(),
            Activation::GeluTanh);
  EXPECT_EQ(model->maxPositionEmbeddings, 64);
  EXPECT_TRUE(llvm::is_contained(model->redundantTensors,
                                 "transformer.h.2.attn.masked_bias"));
}

TEST_F(GptModelTest, Gpt2ScalesScoresAsItsConfigSays) {
  auto scales = [&](const std::string &extra) {
    std::vector<double> found;
    for (AttentionOp op : all<AttentionOp>(*built(gpt2(extra))))
      found.push_back(op.getScale().convertToDouble());
    return found;
  };
  double root = 1 / std::sqrt(8.0);
  EXPECT_EQ(scales(""), std::vector<double>({root}));
  EXPECT_EQ(scales(R"("scale_attn_weights": false)"),
            std::vector<double>({1.0}));
  EXPECT_EQ(scales(R"("scale_attn_by_inverse_layer_idx": true)"),
            std::vector<double>({root, root / 2, root / 3}));
  EXPECT_EQ(scales(R"("reorder_and_upcast_attn": true)"),
            std::vector<double>({root}));
}

TEST_F(GptModelTest, GptNeoHasAKindForEachLayer) {
  std::string text =
      gptNeo(std::string(threeLayers) + R"(, "window_size": 16)");
  OwningOpRef<ModuleOp> module = built(text);
  std::vector<AttentionOp> attentions = all<AttentionOp>(*module);
  ASSERT_EQ(attentions.size(), 2u);
  EXPECT_FALSE(attentions[0].getWindow());
  EXPECT_EQ(attentions[1].getWindow(), 16u);
  EXPECT_EQ(attentions[1].getScale().convertToDouble(), 1.0);
  std::vector<std::string> blocks;
  for (CallOp call : all<CallOp>(*module))
    blocks.push_back(call.getBlock().str());
  EXPECT_EQ(blocks,
            (std::vector<std::string>{"embed", "decoder", "decoder_sliding",
                                      "decoder_sliding", "head"}));
  // No sequence fills it.
  EXPECT_EQ(all<AttentionOp>(*built(text, 16)).size(), 1u);
  // After attention's own projection and the two of the MLP.
  EXPECT_EQ(count(*built(text, 16), "proj.bias"), 2u);
}

namespace {
struct BadConfig {
  const char *name;
  ErrorCode code;
  std::string text, place, problem;
};
class BadGptConfigTest : public testing::TestWithParam<BadConfig> {};
} // namespace

TEST_P(BadGptConfigTest, IsRefused) {
  const BadConfig &bad = GetParam();
  auto model = HuggingFaceModel::parse(bad.text, "config.json");
  ASSERT_FALSE(model.isOk());
  EXPECT_EQ(model.status().errorCode(), bad.code);
  const rt::Message &m = model.status().message();
  EXPECT_NE(m.place.find(bad.place), std::string::npos) << m.place;
  EXPECT_NE(m.problem.find(bad.problem), std::string::npos) << m.problem;
  EXPECT_FALSE(m.remedy.empty());
}

static const BadConfig badConfigs[] = {
    {"OptWithoutAffine", ErrorCode::UnsupportedModel,
     opt(R"("layer_norm_elementwise_affine": false)"),
     "/layer_norm_elementwise_affine", "expected true"},
    {"OptActivation", ErrorCode::UnsupportedModel,
     opt(R"("activation_function": "tanh")"), "/activation_function",
     "\"tanh\""},
    {"OptDropout", ErrorCode::BadConfig, opt(R"("dropout": 2)"), "/dropout",
     "a probability"},
    {"OptUnknown", ErrorCode::UnknownConfigKey, opt(R"("rope_theta": 1e4)"),
     "/rope_theta", "not known"},
    {"OptHeads", ErrorCode::BadConfig,
     R"({"model_type": "opt", "hidden_size": 50, "ffn_dim": 96,
         "num_hidden_layers": 3, "num_attention_heads": 6, "vocab_size": 97})",
     "/hidden_size", "a multiple of the heads"},
    {"Gpt2TwoSizes", ErrorCode::BadConfig, gpt2(R"("hidden_size": 50)"),
     "/n_embd", "the same as /hidden_size"},
    {"Gpt2CrossAttention", ErrorCode::UnsupportedModel,
     gpt2(R"("add_cross_attention": true)"), "/add_cross_attention",
     "not supported"},
    {"Gpt2Quantised", ErrorCode::UnsupportedModel,
     gpt2(R"("quantization": {"group_size": 32, "bits": 4})"), "/quantization",
     "not supported"},
    {"GptNeoTooFewKinds", ErrorCode::BadConfig,
     gptNeo(R"("attention_types": [[["global"], 2]])"), "/attention_types",
     "a kind for each of 3"},
    {"GptNeoTooManyKinds", ErrorCode::BadConfig,
     gptNeo(R"("attention_types": [[["global"], 2147483647]])"),
     "/attention_types", "a kind for each of 3"},
    {"GptNeoOtherKind", ErrorCode::BadConfig,
     gptNeo(R"("attention_layers": ["global", "local", "sparse"])"),
     "/attention_layers", "\"global\" and \"local\""},
    {"GptNeoNoPairs", ErrorCode::BadConfig,
     gptNeo(R"("attention_types": ["global"])"), "/attention_types",
     "[[kinds, count], ...]"},
    {"GptNeoTwoLists", ErrorCode::BadConfig,
     gptNeo(std::string(threeLayers) +
            R"(, "attention_layers": ["global", "global", "local"])"),
     "/attention_layers", "the kinds of /attention_types"},
};

INSTANTIATE_TEST_SUITE_P(GptModel, BadGptConfigTest,
                         testing::ValuesIn(badConfigs),
                         [](const auto &info) { return info.param.name; });
