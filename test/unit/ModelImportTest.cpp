//===- ModelImportTest.cpp - What the imported IR says --------------------===//

#include "compiler/import/ModelImport.h"
#include "compiler/driver/Registration.h"
#include "compiler/import/TargetModules.h"
#include "dialects/Hone/HoneOps.h"
#include "passes/module/ParameterTable.h"

#include "gtest/gtest.h"

using namespace hone;
using namespace mlir;

static ModelConfig smallConfig() {
  ModelConfig config;
  config.modelType = "llama";
  config.hiddenSize = 16;
  config.intermediateSize = 24;
  config.numHiddenLayers = 3;
  config.numAttentionHeads = 4;
  config.numKeyValueHeads = 2;
  config.headDim = 4;
  config.vocabSize = 32;
  config.rmsNormEps = 1e-5;
  config.ropeTheta = 1e4;
  return config;
}

namespace {
class ModelImportTest : public testing::Test {
protected:
  ModelImportTest() {
    DialectRegistry registry;
    registerDialects(registry);
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
  }
  Spec spec(const std::string &text) {
    auto parsed = parseSpec("model: m\n" + text, "spec.yaml");
    EXPECT_TRUE(parsed.isOk()) << parsed.status().render();
    return parsed.value();
  }
  OwningOpRef<ModuleOp> imported(const std::string &text) {
    auto result = importModel(context, smallConfig(), spec(text));
    EXPECT_TRUE(result.isOk()) << result.status().render();
    return std::move(result.value());
  }
  MLIRContext context;
};
} // namespace

TEST_F(ModelImportTest, FrozenParametersAreTheTensorsOfTheModel) {
  OwningOpRef<ModuleOp> module = imported("");
  FailureOr<ParameterTable> table = ParameterTable::build(*module);
  ASSERT_TRUE(succeeded(table));
  std::vector<ModelTensor> tensors = modelTensors(smallConfig());
  EXPECT_EQ(table->frozen().size(), tensors.size());
  for (const ModelTensor &tensor : tensors) {
    const Parameter *found = nullptr;
    for (const Parameter &p : table->frozen())
      if (p.name == tensor.name)
        found = &p;
    ASSERT_TRUE(found) << tensor.name;
    EXPECT_EQ(found->type.getShape(), ArrayRef<int64_t>(tensor.shape));
  }
}

TEST_F(ModelImportTest, LayersWithTheSameAdaptersShareOneBlock) {
  auto blocks = [](ModuleOp module) {
    return llvm::range_size(module.getOps<BlockOp>());
  };
  EXPECT_EQ(blocks(*imported("")), 3u);
  EXPECT_EQ(blocks(*imported("lora: {target_modules: [layers.1.mlp.up_proj]}")),
            4u);
}

TEST_F(ModelImportTest, AllLinearIsSevenModulesALayer) {
  OwningOpRef<ModuleOp> module = imported("lora: {target_modules: all-linear}");
  FailureOr<ParameterTable> table = ParameterTable::build(*module);
  ASSERT_TRUE(succeeded(table));
  EXPECT_EQ(table->trainable().size(), 3u * 7 * 2);
}

TEST_F(ModelImportTest, LocationsAreModuleNames) {
  OwningOpRef<ModuleOp> module = imported("");
  bool seen = false;
  module->walk([&](LoraLinearOp op) {
    auto name = dyn_cast<NameLoc>(op.getLoc());
    seen |= name && name.getName() == "self_attn.q_proj";
  });
  EXPECT_TRUE(seen);
}

TEST_F(ModelImportTest, RefusesModulesThatCannotHaveAnAdapter) {
  for (auto [target, problem, remedy] :
       {std::tuple("q_porj", "no linear module", "did you mean 'q_proj'?"),
        std::tuple("lm_head", "embedding and head are frozen", "choose from"),
        std::tuple("input_layernorm", "is a norm", "choose from"),
        std::tuple("layers.9.mlp.up_proj", "no linear module", "")}) {
    auto result = resolveTargetModules(
        spec(std::string("lora: {target_modules: [") + target + "]}"),
        smallConfig());
    ASSERT_FALSE(result.isOk()) << target;
    const rt::Status &status = result.status();
    EXPECT_EQ(status.code(), rt::ExitCode::Usage);
    EXPECT_EQ(status.message().place, "spec.yaml: lora.target_modules");
    EXPECT_NE(status.message().problem.find(problem), std::string::npos)
        << status.message().problem;
    EXPECT_NE(status.message().remedy.find(remedy), std::string::npos)
        << status.message().remedy;
  }
}

TEST_F(ModelImportTest, RefusesSequencesLongerThanTheModel) {
  ModelConfig config = smallConfig();
  config.maxPositionEmbeddings = 128;
  auto result = importModel(context, config, spec(""));
  ASSERT_FALSE(result.isOk());
  EXPECT_EQ(result.status().message().place, "spec.yaml: train.max_seq_length");
}
