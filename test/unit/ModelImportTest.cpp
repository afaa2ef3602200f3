//===- ModelImportTest.cpp - The imported IR ------------------------------===//

#include "compiler/import/ModelImport.h"
#include "compiler/driver/Registration.h"
#include "dialects/Hone/HoneOps.h"
#include "passes/module/ParameterTable.h"

#include "gtest/gtest.h"

#include <map>
#include <set>

using namespace hone;
using namespace mlir;

static std::unique_ptr<HuggingFaceModel>
smallModel(const std::string &more = "") {
  auto model = HuggingFaceModel::parse(
      R"({"model_type": "llama", "hidden_size": 16, "intermediate_size": 24,
          "num_hidden_layers": 3, "num_attention_heads": 4,
          "num_key_value_heads": 2, "vocab_size": 32)" +
          more + "}",
      "config.json");
  EXPECT_TRUE(model.isOk()) << model.status().render();
  return std::move(model.value());
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
  OwningOpRef<ModuleOp> imported(const std::string &text,
                                 const std::string &more = "") {
    auto result = importModel(context, *smallModel(more), spec(text));
    EXPECT_TRUE(result.isOk()) << result.status().render();
    return std::move(result.value().module);
  }
  MLIRContext context;
};
} // namespace

TEST_F(ModelImportTest, FrozenParametersAreTheTensorsOfTheModel) {
  OwningOpRef<ModuleOp> module = imported("");
  FailureOr<ParameterTable> table = ParameterTable::build(*module);
  ASSERT_TRUE(succeeded(table));
  EXPECT_EQ(table->frozen().size(), 3u + 3 * 9);
  auto shapeOf = [&](StringRef name) -> std::vector<int64_t> {
    const Parameter *found = table->find("", name);
    return found ? found->type.getShape().vec() : std::vector<int64_t>();
  };
  using Shape = std::vector<int64_t>;
  EXPECT_EQ(shapeOf("model.embed_tokens.weight"), Shape({32, 16}));
  EXPECT_EQ(shapeOf("model.layers.2.self_attn.k_proj.weight"), Shape({8, 16}));
  EXPECT_EQ(shapeOf("model.layers.2.mlp.down_proj.weight"), Shape({16, 24}));
  EXPECT_EQ(shapeOf("model.layers.0.input_layernorm.weight"), Shape({16}));
  EXPECT_EQ(shapeOf("lm_head.weight"), Shape({32, 16}));
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

/// The parameters of the model that train, by full name.
static std::set<std::string> trainedIn(ModuleOp module) {
  FailureOr<ParameterTable> table = ParameterTable::build(module);
  std::set<std::string> names;
  for (const Parameter &parameter : table->trainable())
    if (parameter.init == Init::Pretrained)
      names.insert(parameter.name);
  return names;
}

TEST_F(ModelImportTest, WithoutAdaptersAllParametersTrain) {
  OwningOpRef<ModuleOp> module = imported("lora: none");
  FailureOr<ParameterTable> table = ParameterTable::build(*module);
  ASSERT_TRUE(succeeded(table));
  EXPECT_TRUE(table->frozen().empty());
  EXPECT_EQ(trainedIn(*module).size(), 3u + 3 * 9);
  EXPECT_EQ(table->pretrained().size(), 3u + 3 * 9);
}

TEST_F(ModelImportTest, SavedModulesTrainInFull) {
  OwningOpRef<ModuleOp> module =
      imported("lora: {target_modules: [q_proj], modules_to_save: "
               "[lm_head, layers.1.mlp.up_proj, model.norm]}");
  EXPECT_EQ(trainedIn(*module),
            (std::set<std::string>{"lm_head.weight", "model.norm.weight",
                                   "model.layers.1.mlp.up_proj.weight"}));
  // One layer differs from the others.
  EXPECT_EQ(llvm::range_size(module->getOps<BlockOp>()), 4u);
}

/// Which tensor a head reads.
static std::string headIn(ModuleOp module) {
  std::string name;
  module.walk([&](LinearCrossEntropyOp op) {
    name = op.getWeight().getDefiningOp<ParameterOp>().getName().str();
  });
  return name;
}

TEST_F(ModelImportTest, OfATiedHeadWhatIsSavedIsACopy) {
  const std::string tie = R"(, "tie_word_embeddings": true)";
  const std::string table = "model.embed_tokens.weight";
  using Names = std::set<std::string>;
  for (auto [saved, trained] :
       {std::pair("embed_tokens", Names{table}),
        std::pair("model.embed_tokens", Names{table}),
        std::pair("lm_head", Names{headWeight}),
        std::pair("lm_head, embed_tokens", Names{table, headWeight})}) {
    OwningOpRef<ModuleOp> module =
        imported(std::string("lora: {modules_to_save: [") + saved + "]}", tie);
    EXPECT_EQ(trainedIn(*module), trained) << saved;
    EXPECT_EQ(headIn(*module), headWeight) << saved;
    FailureOr<ParameterTable> parameters = ParameterTable::build(*module);
    ASSERT_TRUE(succeeded(parameters)) << saved;
    for (StringRef name : {StringRef(table), StringRef(headWeight)})
      EXPECT_NE(parameters->find("", name), nullptr) << saved;
  }
  for (const char *text : {"lora: {modules_to_save: [norm]}", "lora: none"})
    EXPECT_EQ(headIn(*imported(text, tie)), table) << text;
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
        std::tuple("lm_head", "embedding and head are frozen, or in",
                   "choose from"),
        std::tuple("input_layernorm", "is a norm", "choose from"),
        std::tuple("layers.9.mlp.up_proj", "no linear module", "")}) {
    auto result = importModel(
        context, *smallModel(),
        spec(std::string("lora: {target_modules: [") + target + "]}"));
    ASSERT_FALSE(result.isOk()) << target;
    const rt::Status &status = result.status();
    EXPECT_EQ(status.errorCode(), rt::ErrorCode::NoSuchModule);
    EXPECT_EQ(status.message().place, "spec.yaml: lora.target_modules");
    EXPECT_NE(status.message().problem.find(problem), std::string::npos)
        << status.message().problem;
    EXPECT_NE(status.message().remedy.find(remedy), std::string::npos)
        << status.message().remedy;
  }
}

TEST_F(ModelImportTest, SaysWhatTheAdapterIs) {
  Spec all = spec("lora: {target_modules: all-linear, r: 2}");
  auto result = importModel(context, *smallModel(), all);
  ASSERT_TRUE(result.isOk()) << result.status().render();
  EXPECT_EQ(result.value().lora.r, 2);
  EXPECT_EQ(
      result.value().lora.target_modules,
      (std::vector<std::string>{"down_proj", "gate_proj", "k_proj", "o_proj",
                                "q_proj", "up_proj", "v_proj"}));
}

/// Rank and scale of the module's adapter; nothing if it has none.
static std::map<std::string, std::pair<int64_t, double>>
adaptersIn(ModuleOp module) {
  std::map<std::string, std::pair<int64_t, double>> found;
  SymbolTable symbols(module);
  module.walk([&](CallOp call) {
    symbols.lookup<BlockOp>(call.getBlock()).walk([&](LoraLinearOp op) {
      std::string path =
          (call.getPrefix() + cast<NameLoc>(op.getLoc()).getName().strref())
              .str();
      found[path] = {op.getA().getType().getDimSize(0),
                     op.getScale().convertToDouble()};
    });
  });
  return found;
}

TEST_F(ModelImportTest, RanksAndAlphasAreOfModules) {
  OwningOpRef<ModuleOp> module =
      imported("lora: {r: 2, lora_alpha: 4, target_modules: [q_proj, v_proj], "
               "rank_pattern: {'layers\\.1\\..*': 4, "
               "^model.layers.0.self_attn.q_proj: 1}, "
               "alpha_pattern: {'self_attn\\.[v]_proj': 6}}");
  using Adapters = std::map<std::string, std::pair<int64_t, double>>;
  EXPECT_EQ(adaptersIn(*module),
            (Adapters{{"model.layers.0.self_attn.q_proj", {1, 4}},
                      {"model.layers.0.self_attn.v_proj", {2, 3}},
                      {"model.layers.1.self_attn.q_proj", {4, 1}},
                      {"model.layers.1.self_attn.v_proj", {4, 1.5}},
                      {"model.layers.2.self_attn.q_proj", {2, 2}},
                      {"model.layers.2.self_attn.v_proj", {2, 3}}}));
  EXPECT_EQ(llvm::range_size(module->getOps<BlockOp>()), 5u);
}

TEST_F(ModelImportTest, LayersWithEqualAdaptersShareABlock) {
  OwningOpRef<ModuleOp> module =
      imported("lora: {target_modules: [q_proj], rank_pattern: {q_proj: 4}}");
  EXPECT_EQ(llvm::range_size(module->getOps<BlockOp>()), 3u);
}

TEST_F(ModelImportTest, OnlySomeLayersHaveAdapters) {
  auto result = importModel(
      context, *smallModel(),
      spec("lora: {target_modules: all-linear, layers_to_transform: [1]}"));
  ASSERT_TRUE(result.isOk()) << result.status().render();
  for (const auto &[path, adapter] : adaptersIn(*result.value().module))
    EXPECT_EQ(path.rfind("model.layers.1.", 0), 0u) << path;
  EXPECT_EQ(adaptersIn(*result.value().module).size(), 7u);
  EXPECT_EQ(result.value().lora.layers_to_transform.text(), "1");
}

TEST_F(ModelImportTest, AModuleNamedByItsWholePathIsInAnyLayer) {
  OwningOpRef<ModuleOp> module =
      imported("lora: {target_modules: [k_proj, "
               "model.layers.0.self_attn.q_proj], layers_to_transform: [1]}");
  std::vector<std::string> paths;
  for (const auto &[path, adapter] : adaptersIn(*module))
    paths.push_back(path);
  EXPECT_EQ(paths,
            (std::vector<std::string>{"model.layers.0.self_attn.q_proj",
                                      "model.layers.1.self_attn.k_proj"}));
}

TEST_F(ModelImportTest, RefusesShapesOfNoModule) {
  for (auto [lora, key, problem] :
       {std::tuple("rank_pattern: {k_proj: 3}", "rank_pattern",
                   "'k_proj' names no module that gets an adapter"),
        std::tuple("alpha_pattern: {proj: 3}", "alpha_pattern",
                   "'proj' names no module"),
        std::tuple(
            "layers_to_transform: [1-3]", "layers_to_transform",
            "expected layers from 0 to 2, which the model has, but found "
            "'1-3'"),
        std::tuple("layers_to_transform: [0-99999999]", "layers_to_transform",
                   "but found '0-99999999'"),
        std::tuple("rank_pattern: {q_proj: 3, layers.1.self_attn.q_proj: 4}",
                   "rank_pattern",
                   "'q_proj' and 'layers.1.self_attn.q_proj' both name "
                   "model.layers.1.self_attn.q_proj")}) {
    auto result = importModel(
        context, *smallModel(),
        spec(std::string("lora: {target_modules: [q_proj], ") + lora + "}"));
    ASSERT_FALSE(result.isOk()) << lora;
    EXPECT_EQ(result.status().message().place,
              std::string("spec.yaml: lora.") + key);
    EXPECT_NE(result.status().message().problem.find(problem),
              std::string::npos)
        << result.status().message().problem;
  }
}

TEST_F(ModelImportTest, DoraHasMagnitudesAndTheBiasBehindThem) {
  OwningOpRef<ModuleOp> module =
      imported("lora: {target_modules: [q_proj], use_dora: true}");
  int64_t count = 0;
  module->walk([&](RescaleOp op) {
    ++count;
    auto lora = op.getX().getDefiningOp<LoraLinearOp>();
    auto lengths = op.getLengths().getDefiningOp<RowLengthsOp>();
    ASSERT_TRUE(lora && lengths);
    EXPECT_FALSE(lora.getBias());
    EXPECT_EQ(lengths.getWeight(), lora.getWeight());
    EXPECT_EQ(lengths.getScale(), lora.getScale());
    auto magnitude = op.getMagnitude().getDefiningOp<ParameterOp>();
    EXPECT_EQ(magnitude.getName(), "self_attn.q_proj.lora_magnitude_vector");
    EXPECT_EQ(magnitude.getInit(), Init::RowLengths);
  });
  EXPECT_EQ(count, 1);
}

TEST_F(ModelImportTest, RefusesSequencesLongerThanTheModel) {
  auto result = importModel(
      context, *smallModel(", \"max_position_embeddings\": 128"), spec(""));
  ASSERT_FALSE(result.isOk());
  EXPECT_EQ(result.status().message().place, "spec.yaml: train.max_seq_length");
}
