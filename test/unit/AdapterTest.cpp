//===- AdapterTest.cpp - PEFT adapters, there and back --------------------===//
//
// The text of adapter_config.json is compared as a whole: an unknown key would
// stop older releases of PEFT.
//
//===----------------------------------------------------------------------===//

#include "formats/Adapter.h"
#include "TemporaryFolder.h"
#include "formats/Safetensors.h"

#include <gtest/gtest.h>

using namespace hone::rt;

static const std::string A = "model.layers.0.self_attn.q_proj.lora_A.weight";
static const std::string B = "model.layers.0.self_attn.q_proj.lora_B.weight";

static AdapterConfig settings() {
  AdapterConfig config;
  config.r = 2;
  config.lora_alpha = 16;
  config.target_modules = {"v_proj", "q_proj"};
  config.base_model_name_or_path = "models/tiny";
  return config;
}

namespace {
/// An adapter of r = 2 on one module with 3 inputs and 1 output.
struct Sample {
  TemporaryFolder folder;
  float a[6] = {1, 2, 3, 4, 5, 6};
  double b[2] = {0.1, -7};

  Sample() {
    Status s =
        writeAdapter(folder.file("out/adapter"), settings(),
                     {{A, {2, 3}, Dtype::F32, a}, {B, {1, 2}, Dtype::F64, b}});
    EXPECT_TRUE(s.isOk()) << s.render();
  }
  std::string path() const { return folder.file("out/adapter"); }

  void config(const std::string &text) const {
    folder.write("out/adapter/adapter_config.json", text);
  }
};

/// The destination of an adapter's values; 9 marks an unwritten one.
struct Targets {
  float a[6] = {9, 9, 9, 9, 9, 9};
  double b[2] = {9, 9};
  std::vector<TensorMemory> list = {{A, {2, 3}, Dtype::F32, a},
                                    {B, {1, 2}, Dtype::F64, b}};
  bool untouched() const { return a[0] == 9 && a[5] == 9 && b[0] == 9; }
};
} // namespace

static void refuse(const Sample &sample, Targets &targets, ErrorCode code,
                   const std::string &place, const std::string &problem,
                   const AdapterConfig &expected = settings()) {
  Status s =
      readAdapter(sample.path(), expected, targets.list, AdapterUse::Train);
  ASSERT_FALSE(s.isOk()) << problem;
  EXPECT_EQ(s.errorCode(), code);
  EXPECT_NE(s.message().place.find(place), std::string::npos) << s.render();
  EXPECT_NE(s.message().problem.find(problem), std::string::npos) << s.render();
  EXPECT_FALSE(s.message().remedy.empty());
  EXPECT_TRUE(targets.untouched());
}

/// A readable adapter_config.json with `extra` members.
static std::string configWith(const std::string &extra) {
  return R"({"peft_type":"LORA","r":2,"lora_alpha":16)" + extra + "}";
}

TEST(AdapterTest, WritesTheConfigPeftWrites) {
  Sample sample;
  EXPECT_EQ(sample.folder.read("out/adapter/adapter_config.json"),
            R"({
  "alpha_pattern": {},
  "base_model_name_or_path": "models/tiny",
  "bias": "none",
  "fan_in_fan_out": false,
  "inference_mode": true,
  "init_lora_weights": true,
  "layers_pattern": null,
  "layers_to_transform": null,
  "lora_alpha": 16,
  "lora_dropout": 0,
  "modules_to_save": null,
  "peft_type": "LORA",
  "peft_version": "0.18.0",
  "r": 2,
  "rank_pattern": {},
  "revision": null,
  "target_modules": [
    "q_proj",
    "v_proj"
  ],
  "task_type": "CAUSAL_LM",
  "use_dora": false,
  "use_rslora": false
})");
  EXPECT_EQ(sample.folder.count("out/adapter"), 2u);
}

TEST(AdapterTest, WritesThePrefixedKeys) {
  Sample sample;
  Result<SafetensorsFile> file =
      SafetensorsFile::open(sample.path() + "/adapter_model.safetensors");
  ASSERT_TRUE(file.isOk());
  EXPECT_EQ(*file.value().findMetadata("format"), "pt");
  EXPECT_EQ(file.value().tensors().size(), 2u);
  EXPECT_NE(file.value().find("base_model.model." + A), nullptr);
  EXPECT_NE(file.value().find("base_model.model." + B), nullptr);
}

static void accept(const Sample &sample) {
  Targets targets;
  Status s =
      readAdapter(sample.path(), settings(), targets.list, AdapterUse::Train);
  EXPECT_TRUE(s.isOk()) << s.render();
}

TEST(AdapterTest, ReadsWhatItWrote) {
  Sample sample;
  Targets targets;
  Status s =
      readAdapter(sample.path(), settings(), targets.list, AdapterUse::Train);
  ASSERT_TRUE(s.isOk()) << s.render();
  EXPECT_EQ(targets.a[5], 6);
  EXPECT_EQ(targets.b[0], 0.1);
  EXPECT_EQ(targets.b[1], -7);
  Result<AdapterConfig> config = readAdapterConfig(sample.path());
  ASSERT_TRUE(config.isOk());
  EXPECT_EQ(config.value().r, 2);
  EXPECT_EQ(config.value().lora_alpha, 16);
  EXPECT_EQ(config.value().base_model_name_or_path, "models/tiny");
  EXPECT_EQ(config.value().target_modules,
            (std::vector<std::string>{"q_proj", "v_proj"}));
}

TEST(AdapterTest, DropoutIsRefusedByTrainingAndNotByEvaluation) {
  Sample sample;
  Targets targets;
  sample.config(R"({"peft_type": "LORA", "r": 2, "lora_alpha": 16,
                    "lora_dropout": 0.05})");
  Status s =
      readAdapter(sample.path(), settings(), targets.list, AdapterUse::Train);
  EXPECT_EQ(s.errorCode(), ErrorCode::OtherAdapter);
  EXPECT_NE(s.render().find("lora_dropout = 0, as the program trains, found "
                            "0.05"),
            std::string::npos)
      << s.render();
  s = readAdapter(sample.path(), settings(), targets.list,
                  AdapterUse::Evaluate);
  EXPECT_TRUE(s.isOk()) << s.render();
}

TEST(AdapterTest, FractionalAlphaAndRsloraReadBackExactly) {
  TemporaryFolder folder;
  AdapterConfig config = settings();
  config.lora_alpha = 0.1;
  config.lora_dropout = 0.05;
  config.use_rslora = true;
  config.base_model_name_or_path = "";
  config.target_modules = {};
  ASSERT_TRUE(writeAdapter(folder.path, config, {}).isOk());
  Result<AdapterConfig> read = readAdapterConfig(folder.path);
  ASSERT_TRUE(read.isOk()) << read.status().render();
  EXPECT_EQ(read.value().lora_alpha, 0.1);
  EXPECT_EQ(read.value().lora_dropout, 0.05);
  EXPECT_TRUE(read.value().use_rslora);
  EXPECT_EQ(read.value().base_model_name_or_path, "");
}

TEST(AdapterTest, ConvertsHalfAndBfloat16) {
  Sample sample;
  const uint16_t half[6] = {0x3c00, 0, 0, 0, 0, 0xc000}; // 1 ... -2
  const uint16_t brain[2] = {0x3f80, 0xc000};            // 1, -2
  SafetensorsWriter w =
      std::move(SafetensorsWriter::create(
                    sample.path() + "/adapter_model.safetensors",
                    {{"base_model.model." + A, Dtype::F16, {2, 3}},
                     {"base_model.model." + B, Dtype::BF16, {1, 2}}},
                    {})
                    .value());
  ASSERT_TRUE(w.write(brain, sizeof brain).isOk()); // BF16 comes first
  ASSERT_TRUE(w.write(half, sizeof half).isOk());
  ASSERT_TRUE(w.commit().isOk());
  Targets targets;
  Status s =
      readAdapter(sample.path(), settings(), targets.list, AdapterUse::Train);
  ASSERT_TRUE(s.isOk()) << s.render();
  EXPECT_EQ(targets.a[0], 1);
  EXPECT_EQ(targets.a[5], -2);
  EXPECT_EQ(targets.b[1], -2);
}

TEST(AdapterTest, DefaultsAreThoseOfPeft) {
  Sample sample;
  sample.config(R"({"peft_type":"LORA"})");
  Result<AdapterConfig> config = readAdapterConfig(sample.path());
  ASSERT_TRUE(config.isOk());
  EXPECT_EQ(config.value().r, 8);
  EXPECT_EQ(config.value().lora_alpha, 8);
  EXPECT_FALSE(config.value().use_rslora);
}

TEST(AdapterTest, NeutralSettingsOfNewerReleasesAreAccepted) {
  Sample sample;
  sample.config(configWith(
      R"(,"use_qalora":false,"loftq_config":{},"lora_bias":false,)"
      R"("corda_config":null,"target_parameters":[],"megatron_core":"m",)"
      R"("qalora_group_size":16,"auto_mapping":{"x":1},)"
      R"("target_modules":"all-linear","exclude_modules":["lm_head"])"));
  accept(sample);
}

TEST(AdapterTest, RefusesSettingsThatChangeTheResult) {
  Sample sample;
  Targets targets;
  for (const char *setting :
       {R"("use_dora":1)", R"("bias":"some")", R"("bias":null)",
        R"("modules_to_save":[1])", R"("rank_pattern":{"q":0})",
        R"("alpha_pattern":["q"])", R"("fan_in_fan_out":true)",
        R"("init_lora_weights":"pissa")", R"("layers_to_transform":["0"])",
        R"("layers_pattern":"h")", R"("task_type":"SEQ_CLS")",
        R"("a_new_setting":1)", R"("lora_bias":true)",
        R"("layer_replication":[[0,1]])"}) {
    std::string key(setting);
    key = key.substr(0, key.find(':'));
    sample.config(configWith("," + std::string(setting)));
    refuse(sample, targets, ErrorCode::UnsupportedAdapter,
           "adapter_config.json:1:", key);
  }
}

TEST(AdapterTest, ModulesThatAreConv1dHaveTheirFlag) {
  AdapterConfig config = settings();
  config.fan_in_fan_out = true;
  TemporaryFolder folder;
  Targets targets;
  ASSERT_TRUE(writeAdapter(folder.path, config, {}).isOk());
  EXPECT_FALSE(readAdapterConfig(folder.path).isOk());
  Result<AdapterConfig> read = readAdapterConfig(folder.path, true);
  ASSERT_TRUE(read.isOk()) << read.status().render();
  EXPECT_TRUE(read.value().fan_in_fan_out);

  Sample sample;
  sample.config(configWith(R"(,"fan_in_fan_out":true)"));
  Status status =
      readAdapter(sample.path(), config, targets.list, AdapterUse::Train);
  EXPECT_TRUE(status.isOk()) << status.render();
}

TEST(AdapterTest, RefusesSettingsOfTheWrongKind) {
  Sample sample;
  Targets targets;
  for (const char *text :
       {R"({"peft_type":"LORA","r":0})", R"({"peft_type":"LORA","r":2.0})",
        R"({"peft_type":"LORA","r":"2"})", R"({"peft_type":"LORA","r":-1})",
        R"({"peft_type":"LORA","lora_alpha":"16"})",
        R"({"peft_type":"LORA","lora_dropout":1})",
        R"({"peft_type":"LORA","use_rslora":1})",
        R"({"peft_type":"LORA","target_modules":{"a":1}})",
        R"({"peft_type":"LORA","target_modules":[1]})",
        R"({"peft_type":"PREFIX_TUNING"})", R"({"peft_type":null})"}) {
    sample.config(text);
    refuse(sample, targets, ErrorCode::UnsupportedAdapter,
           "adapter_config.json:1:", "expected");
  }
  sample.config("{}");
  refuse(sample, targets, ErrorCode::UnsupportedAdapter, "adapter_config.json",
         "\"peft_type\"");
  sample.config("[]");
  refuse(sample, targets, ErrorCode::BadJson, "adapter_config.json:1:1",
         "an object");
  sample.config("{");
  refuse(sample, targets, ErrorCode::BadJson, "adapter_config.json:1:2",
         "found the end");
  sample.config(std::string(2 << 20, ' '));
  refuse(sample, targets, ErrorCode::BadJson, "adapter_config.json",
         "at most 1048576 bytes");
  // A tree of these would be larger than the plan of a small model.
  std::string values = "0";
  while (values.size() < 20002)
    values += ",0";
  sample.config(configWith(",\"auto_mapping\":[" + values + "]"));
  refuse(sample, targets, ErrorCode::BadJson,
         "adapter_config.json:1:", "at most 10000 values");
}

TEST(AdapterTest, RefusesAnotherScale) {
  Sample sample;
  Targets targets;
  AdapterConfig other = settings();
  other.r = 4;
  refuse(sample, targets, ErrorCode::OtherAdapter, "adapter_config.json",
         "expected r = 4, found 2", other);
  other = settings();
  other.lora_alpha = 32.5;
  refuse(sample, targets, ErrorCode::OtherAdapter, "adapter_config.json",
         "expected lora_alpha = 32.5, found 16", other);
  other = settings();
  other.use_rslora = true;
  refuse(sample, targets, ErrorCode::OtherAdapter, "adapter_config.json",
         "expected use_rslora = true, found false", other);
}

TEST(AdapterTest, WritesWhatModulesDifferIn) {
  AdapterConfig config = settings();
  config.rank_pattern = {{"v_proj", 4}, {"^model.layers.0.*", 1}};
  config.alpha_pattern = {{"q_proj", 2.5}};
  config.layers_to_transform = {0, 7};
  config.use_dora = true;
  TemporaryFolder folder;
  ASSERT_TRUE(writeAdapter(folder.path, config, {}).isOk());
  std::string text = folder.read("adapter_config.json");
  EXPECT_NE(text.find(R"(
  "rank_pattern": {
    "v_proj": 4,
    "^model.layers.0.*": 1
  },)"),
            std::string::npos)
      << text;
  Result<AdapterConfig> read = readAdapterConfig(folder.path);
  ASSERT_TRUE(read.isOk()) << read.status().render();
  EXPECT_EQ(read.value().rank_pattern, config.rank_pattern);
  EXPECT_EQ(read.value().alpha_pattern, config.alpha_pattern);
  EXPECT_EQ(read.value().layers_to_transform, config.layers_to_transform);
  EXPECT_TRUE(read.value().use_dora);
}

// PEFT's files have keys in their order.
TEST(AdapterTest, ComparesPatternsInAnyOrder) {
  Sample sample;
  Targets targets, read;
  sample.config(configWith(R"(,"rank_pattern":{"a":2,"b":2})"));
  AdapterConfig other = settings();
  other.rank_pattern = {{"b", 2}, {"a", 2}};
  EXPECT_TRUE(
      readAdapter(sample.path(), other, read.list, AdapterUse::Train).isOk());
  other.rank_pattern = {{"b", 2}};
  refuse(sample, targets, ErrorCode::OtherAdapter, "adapter_config.json",
         "expected rank_pattern = {b: 2}, found {a: 2, b: 2}", other);
  other = settings();
  other.rank_pattern = {{"b", 2}, {"a", 2}};
  other.use_dora = true;
  refuse(sample, targets, ErrorCode::OtherAdapter, "adapter_config.json",
         "expected use_dora = true, found false", other);
}

TEST(AdapterTest, NamesMissingExtraAndMisshapenTensors) {
  Sample sample;
  Targets targets;
  targets.list[1].name = "model.layers.1.mlp.up_proj.lora_B.weight";
  refuse(sample, targets, ErrorCode::OtherAdapter,
         "tensor base_model.model.model.layers.1.mlp.up_proj.lora_B.weight",
         "no such tensor");
  targets.list.pop_back();
  refuse(sample, targets, ErrorCode::OtherAdapter, "adapter_model.safetensors",
         B + "\" too");
  Targets transposed;
  transposed.list[1].shape = {2, 1};
  refuse(sample, transposed, ErrorCode::OtherAdapter, B,
         "expected shape [2, 1], found [1, 2]");
}

TEST(AdapterTest, RefusesTensorsThatAreNoFloats) {
  Sample sample;
  SafetensorsWriter w = std::move(
      SafetensorsWriter::create(sample.path() + "/adapter_model.safetensors",
                                {{"base_model.model." + A, Dtype::I8, {2, 3}},
                                 {"base_model.model." + B, Dtype::F32, {1, 2}}},
                                {})
          .value());
  ASSERT_TRUE(w.write(std::string(14, 'x').data(), 14).isOk());
  ASSERT_TRUE(w.commit().isOk());
  Targets targets;
  refuse(sample, targets, ErrorCode::OtherAdapter, A, "found I8");
}

TEST(AdapterTest, RefusesABrokenTensorFile) {
  Sample sample;
  Targets targets;
  sample.folder.write("out/adapter/adapter_model.safetensors", "broken");
  refuse(sample, targets, ErrorCode::BadSafetensors,
         "adapter_model.safetensors", "at least 8 bytes");
}

// No plan counts the memory of a header.
TEST(AdapterTest, RefusesAHeaderThatItsTensorsCannotNeed) {
  Sample sample;
  auto writeWith = [&](size_t metadataBytes) {
    SafetensorsWriter w =
        std::move(SafetensorsWriter::create(
                      sample.path() + "/adapter_model.safetensors",
                      {{"base_model.model." + A, Dtype::F32, {2, 3}},
                       {"base_model.model." + B, Dtype::F32, {1, 2}}},
                      {{"x", std::string(metadataBytes, 'x')}})
                      .value());
    ASSERT_TRUE(w.write(std::string(32, '\0').data(), 32).isOk());
    ASSERT_TRUE(w.commit().isOk());
  };
  Targets targets;
  writeWith(HeaderLimit::Least);
  refuse(sample, targets, ErrorCode::BadSafetensors,
         "adapter_model.safetensors: byte 0", "at most 1048576 bytes, which");
  writeWith(HeaderLimit::Least - 1024);
  accept(sample);
}

// PEFT would leave out tensors that its settings do not name.
TEST(AdapterTest, RefusesSettingsThatDoNotNameItsTensors) {
  Sample sample;
  Targets targets;
  for (const char *setting :
       {R"("target_modules":["v_proj"])", R"("target_modules":[])",
        R"("target_modules":["proj","layers.1.self_attn.q_proj"])",
        R"("layers_to_transform":[1])", R"("layers_to_transform":7)",
        R"("target_modules":["q_proj"],"layers_to_transform":[1,2])",
        R"("exclude_modules":["q_proj"])"}) {
    sample.config(configWith("," + std::string(setting)));
    refuse(sample, targets, ErrorCode::UnsupportedAdapter,
           "adapter_config.json",
           "\"model.layers.0.self_attn.q_proj\" an adapter, which is in "
           "adapter_model.safetensors, found [");
  }
  for (const char *setting :
       {R"("target_modules":["k_proj","self_attn.q_proj"])",
        R"("target_modules":".*_proj")", R"("layers_to_transform":[])",
        R"("target_modules":["q_proj"],"layers_to_transform":[3,0])",
        // A whole path is a module in any layer.
        R"("target_modules":["model.layers.0.self_attn.q_proj"],)"
        R"("layers_to_transform":[1])",
        R"("exclude_modules":["proj","k_proj"])"}) {
    sample.config(configWith("," + std::string(setting)));
    accept(sample);
  }
}

TEST(AdapterTest, MissingFilesAreNoInput) {
  Sample sample;
  Targets targets;
  std::filesystem::remove(sample.path() + "/adapter_model.safetensors");
  Status s =
      readAdapter(sample.path(), settings(), targets.list, AdapterUse::Train);
  EXPECT_EQ(s.errorCode(), ErrorCode::CannotRead);
  s = readAdapter(sample.folder.file("nowhere"), settings(), targets.list,
                  AdapterUse::Train);
  EXPECT_EQ(s.errorCode(), ErrorCode::CannotRead);
}
