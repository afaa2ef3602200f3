//===- KeyReferenceTest.cpp - Each key of a spec has an example -----------===//

#include "compiler/spec/KeyReference.h"
#include "TemporaryFolder.h"
#include "compiler/driver/Compile.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/raw_ostream.h"
#include "gtest/gtest.h"

using namespace hone;
using llvm::StringRef;

/// With the vocabulary and depth that the examples are written for.
static constexpr const char *config = R"({
  "architectures": ["LlamaForCausalLM"], "model_type": "llama",
  "hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 24,
  "num_attention_heads": 2, "num_key_value_heads": 2, "hidden_act": "silu",
  "rms_norm_eps": 1e-05, "rope_theta": 10000.0, "vocab_size": 97,
  "max_position_embeddings": 512, "tie_word_embeddings": false,
  "torch_dtype": "float32"})";

/// A model of an .mlir file.
static constexpr const char *block = R"mlir(
hone.block @head() -> tensor<f64> {
  %ids = hone.input "input_ids" : tensor<?xi32>
  %table = hone.parameter "embed.weight" trainable init <zero> : tensor<9x4xf32>
  %x = hone.embedding %ids, %table : (tensor<?xi32>, tensor<9x4xf32>) -> tensor<?x4xf32>
  %targets = hone.input "targets" : tensor<?xi32>
  %w = hone.parameter "head.weight" : tensor<9x4xf32>
  %loss = hone.linear_cross_entropy %x, %w, %targets : (tensor<?x4xf32>, tensor<9x4xf32>, tensor<?xi32>) -> tensor<f64>
  hone.return %loss : tensor<f64>
}
hone.entry @loss() -> tensor<f64> {
  %0 = hone.call @head "" () : () -> tensor<f64>
  hone.return %0 : tensor<f64>
})mlir";

TEST(KeyReference, HasOneExampleOfEachKey) {
  const rt::Settings settings = settingsOfSpecs();
  std::vector<std::string> keys, examples;
  for (const rt::Setting *setting : describedSettings(settings))
    keys.push_back(setting->key());
  for (const KeyExample &example : allKeyExamples())
    examples.push_back(example.key);
  llvm::sort(keys);
  llvm::sort(examples);
  EXPECT_EQ(examples, keys);
}

TEST(KeyReference, ExamplesCompile) {
  TemporaryFolder folder;
  std::filesystem::create_directories(folder.file("path/to/Qwen2.5-0.5B"));
  folder.write("path/to/Qwen2.5-0.5B/config.json", config);
  folder.write("block.mlir", block);
  folder.write("rates.json", R"({"flops_per_second": 1e11,
      "other_flops_per_second": 1e10, "bytes_per_second": 1e10,
      "fills_per_second": 1e8})");
  for (const KeyExample &example : allKeyExamples()) {
    SCOPED_TRACE(example.key);
    std::string text = example.spec;
    if (!StringRef(text).starts_with("model:"))
      text = "model: path/to/Qwen2.5-0.5B\n" + text;
    const Result<Spec> spec = parseSpec(text, folder.file("spec.yaml"));
    ASSERT_TRUE(spec.isOk()) << spec.status().render();
    std::string key = example.key;
    rt::Settings defaults;
    for (const auto &part : spec.value().parts)
      defaults.parts.add(part->part);
    if (const size_t name = key.find("NAME"); name != std::string::npos)
      key.replace(name, 4, spec.value().parts[0].part);
    EXPECT_TRUE(spec.value().given.count(key)) << key;
    // A key that changes nothing is no example.
    for (auto [own, other] :
         llvm::zip_equal(spec.value().all(), defaults.all()))
      if (own->key() == key)
        EXPECT_NE(own->text(), other->text());

    CompileRequest request;
    request.specPath = folder.write("spec.yaml", text);
    request.stopAfter = CompilerPhase::Derive;
    // Planning takes most of the time, and these alone have a say in it.
    if (llvm::none_of(
            std::initializer_list<const char *>{"budget", "method", "residuals",
                                                "block"},
            [&](const char *word) { return StringRef(text).contains(word); }))
      request.overrides.push_back(std::string("train.residuals=mesp"));
    testing::internal::CaptureStdout();
    const Status status = compile(request);
    llvm::outs().flush();
    const std::string step = testing::internal::GetCapturedStdout();
    EXPECT_TRUE(status.isOk()) << status.render();
    EXPECT_NE(step.find("hone.schedule"), std::string::npos);
  }
}

TEST(KeyReference, FindsKeysByTheirLastWordSectionOrAlias) {
  auto describe = [](const char *name) {
    const Result<std::string> text = describeSpecKeys({std::string(name)});
    return text.isOk() ? text.value() : text.status().render();
  };
  EXPECT_EQ(describe("lr"), describe("train.learning_rate"));
  EXPECT_EQ(describe("learning_rate"), describe("train.learning_rate"));
  EXPECT_NE(describe("lr").find("train: {learning_rate: 2e-4}"),
            std::string::npos);
  EXPECT_NE(describe("weights").find("weights.group_size"), std::string::npos);
  EXPECT_NE(describe("learnin_rate").find("did you mean 'learning_rate'?"),
            std::string::npos);
}
