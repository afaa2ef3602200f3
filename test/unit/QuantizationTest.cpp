//===- QuantizationTest.cpp - Reading MLX's `quantization` ----------------===//

#include "compiler/import/ModelImport.h"
#include "compiler/import/StorageAssignment.h"
#include "compiler/weights/WeightIndex.h"

#include "gtest/gtest.h"

using namespace hone;
using rt::ErrorCode;
using namespace mlir;

static std::string configWith(const std::string &entries) {
  return "{\"model_type\":\"llama\",\"hidden_size\":64,"
         "\"intermediate_size\":96,\"num_hidden_layers\":1,"
         "\"num_attention_heads\":8,\"vocab_size\":512," +
         entries + "}";
}

static std::vector<std::string> describe(const std::vector<ExpectedTensor> &all,
                                         const std::string &prefix) {
  std::vector<std::string> texts;
  for (const ExpectedTensor &tensor : all)
    if (tensor.name.rfind(prefix, 0) == 0)
      texts.push_back(tensor.name.substr(prefix.size()) + " " +
                      (tensor.dtype ? rt::dtypeName(*tensor.dtype) : "float") +
                      " " + std::to_string(tensor.shape.back()));
  return texts;
}

TEST(Quantization, SaysWhichTensorsTheFilesHave) {
  auto config = HuggingFaceModel::parse(
      configWith("\"quantization\":{\"group_size\":64,\"bits\":4,"
                 "\"mode\":\"affine\",\"lm_head\":false}"),
      "config.json");
  ASSERT_TRUE(config.isOk()) << config.status().render();
  Spec spec = parseSpec("model: m", "spec.yaml").value();
  MLIRContext context;
  context.loadDialect<HoneDialect>();
  OwningOpRef<ModuleOp> module =
      buildModule(*config.value(), Float32Type::get(&context));
  auto weights = assignStorage(*module, spec, config.value().get());
  ASSERT_TRUE(weights.isOk()) << weights.status().render();
  EXPECT_EQ(weights.value().dtype, "int4");
  EXPECT_EQ(spec.weights.dtype, "float32"); // the user's wish stays
  FailureOr<ParameterTable> table = ParameterTable::build(*module);
  ASSERT_TRUE(succeeded(table));
  std::vector<ExpectedTensor> tensors =
      expectedTensors(table->frozen(), /*isPacked=*/true);
  EXPECT_EQ(describe(tensors, "model.layers.0.mlp.up_proj"),
            (std::vector<std::string>{".scales float 1", ".biases float 1",
                                      ".weight U32 8"}));
  // 96 columns are no whole number of groups, and the head is left alone.
  EXPECT_EQ(describe(tensors, "model.layers.0.mlp.down_proj"),
            (std::vector<std::string>{".weight float 96"}));
  EXPECT_EQ(describe(tensors, "lm_head"),
            (std::vector<std::string>{".weight float 64"}));
  EXPECT_EQ(describe(tensors, "model.norm"),
            (std::vector<std::string>{".weight float 64"}));
}

TEST(Quantization, BothNamesMayBeThere) {
  std::string settings = "{\"group_size\":32,\"bits\":8}";
  auto config = HuggingFaceModel::parse(
      configWith("\"quantization\":" + settings +
                 ",\"quantization_config\":" + settings),
      "config.json");
  ASSERT_TRUE(config.isOk()) << config.status().render();
  EXPECT_EQ(config.value()->quantization->bits, 8);
  EXPECT_EQ(config.value()->quantization->groupSize, 32);
}

TEST(Quantization, AModuleMayRepeatTheSettingsOfAll) {
  auto config = HuggingFaceModel::parse(
      configWith("\"quantization\":{\"group_size\":32,\"bits\":4,"
                 "\"lm_head\":{\"group_size\":32,\"bits\":4},"
                 "\"model.embed_tokens\":true}"),
      "config.json");
  ASSERT_TRUE(config.isOk()) << config.status().render();
  EXPECT_TRUE(config.value()->quantization->covers("lm_head.weight", 64));
}

namespace {
struct BadQuantization {
  const char *name;
  ErrorCode code;
  const char *entries, *place, *problem;
};
class BadQuantizationTest : public testing::TestWithParam<BadQuantization> {};
} // namespace

TEST_P(BadQuantizationTest, IsRefusedWithPlaceProblemAndRemedy) {
  const BadQuantization &bad = GetParam();
  auto config = HuggingFaceModel::parse(configWith(bad.entries), "config.json");
  ASSERT_FALSE(config.isOk());
  EXPECT_EQ(config.status().errorCode(), bad.code);
  const rt::Message &message = config.status().message();
  EXPECT_NE(message.place.find(bad.place), std::string::npos) << message.place;
  EXPECT_NE(message.problem.find(bad.problem), std::string::npos)
      << message.problem;
  EXPECT_FALSE(message.remedy.empty());
}

static const BadQuantization badQuantizations[] = {
    {"Bits", ErrorCode::UnsupportedQuantization,
     "\"quantization\":{\"group_size\":64,\"bits\":3}", "/quantization/bits",
     "expected one of 4, 8 but found 3"},
    {"NoBits", ErrorCode::UnsupportedQuantization,
     "\"quantization\":{\"group_size\":64}", "/quantization/bits",
     "found none"},
    {"GroupSize", ErrorCode::UnsupportedQuantization,
     "\"quantization\":{\"group_size\":16,\"bits\":4}",
     "/quantization/group_size", "expected one of 32, 64, 128 but found 16"},
    {"Mode", ErrorCode::UnsupportedQuantization,
     "\"quantization\":{\"group_size\":32,\"bits\":4,\"mode\":\"mxfp4\"}",
     "/quantization/mode", "expected the mode \"affine\" but found \"mxfp4\""},
    {"Module", ErrorCode::UnsupportedQuantization,
     "\"quantization\":{\"group_size\":64,\"bits\":4,"
     "\"lm_head\":{\"group_size\":64,\"bits\":8}}",
     "/quantization/lm_head", "found 8 and 64"},
    {"UnknownKey", ErrorCode::UnsupportedQuantization,
     "\"quantization\":{\"group_size\":64,\"bits\":4,\"linear\":1}",
     "/quantization/linear", "expected the settings of a module"},
    {"Disagreement", ErrorCode::BadConfig,
     "\"quantization\":{\"group_size\":64,\"bits\":4},"
     "\"quantization_config\":{\"group_size\":64,\"bits\":8}",
     "/quantization_config", "disagrees with /quantization"},
    {"NotAnObject", ErrorCode::UnsupportedQuantization, "\"quantization\":4",
     "/quantization", "expected an object"},
};

INSTANTIATE_TEST_SUITE_P(Quantization, BadQuantizationTest,
                         testing::ValuesIn(badQuantizations),
                         [](const auto &info) { return info.param.name; });
