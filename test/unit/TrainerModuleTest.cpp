//===- TrainerModuleTest.cpp - Halves that do not fit each other ----------===//
//
// Each case breaks one field of a good module or weights file. None may run
// generated code, and each message must say which part does not fit.
//
//===----------------------------------------------------------------------===//

#include "BigramFixture.h"
#include "program/PlanRun.h"

using namespace hone;
using namespace hone::rt;
using namespace hone::test;

static std::string refusal(const hone_module &module,
                           ErrorCode code = ErrorCode::OtherRuntime) {
  Result<Module> opened = Module::open(module);
  EXPECT_EQ(opened.status().errorCode(), code);
  return opened.status().render();
}

TEST(Module, AcceptsWhatObeysTheAbi) {
  for (uint32_t optimizer : {HONE_SGD, HONE_SGD_MOMENTUM, HONE_ADAMW})
    for (uint32_t dtype : {HONE_F32, HONE_F64}) {
      auto opened = Module::open(bigramModule(optimizer, dtype));
      EXPECT_TRUE(opened.isOk()) << opened.status().render();
    }
}

TEST(Module, RefusesAnotherAbi) {
  hone_module module = bigramModule(HONE_SGD);
  module.abi_version = 999;
  EXPECT_NE(refusal(module).find("999"), std::string::npos);
  module = bigramModule(HONE_SGD);
  module.struct_size = 8;
  EXPECT_NE(refusal(module).find("ABI"), std::string::npos);
}

TEST(Module, RefusesMissingSchedulesAndSlots) {
  hone_module module = bigramModule(HONE_SGD);
  module.schedule_count = 1;
  EXPECT_NE(refusal(module).find("schedule 'evaluate'"), std::string::npos);
  module = bigramModule(HONE_SGD);
  module.input_count = 2;
  EXPECT_NE(refusal(module).find("slot 'sequence_starts'"), std::string::npos);
}

TEST(Module, RefusesSchedulesThatCannotBeRun) {
  hone_module module = bigramModule(HONE_SGD);
  std::vector<hone_schedule> schedules(
      module.schedules, module.schedules + module.schedule_count);
  module.schedules = schedules.data();
  std::vector<hone_item> items(schedules[0].items,
                               schedules[0].items + schedules[0].item_count);
  std::vector<hone_value> values(
      schedules[0].values, schedules[0].values + schedules[0].value_count);
  schedules[0].items = items.data();
  schedules[0].values = values.data();
  EXPECT_TRUE(Module::open(module).isOk());
  auto refuses = [&](auto &field, auto bad, const char *what) {
    auto good = field;
    field = bad;
    EXPECT_NE(refusal(module).find(what), std::string::npos) << what << bad;
    field = good;
  };
  refuses(items[0].kind, 99u, "item 0");
  refuses(items[0].run, nullptr, "item 0");
  refuses(items[2].body, 1000u, "item 2");
  refuses(items[2].stages, 0u, "item 2");
  refuses(items[3].batch, 1000u, "item 3");
  refuses(items[4].condition, 1000u, "item 4");
  refuses(values[1].slots, 0u, "value 1");
  refuses(values[1].offset, uint64_t(1) << 60, "value 1");
  refuses(values[1].depth, 9u, "value 1");
  refuses(schedules[0].batch_slots, 0u, "batch");
}

// With updates in the backward the gradients are after the arena.
TEST(Module, HasRoomForGradientsBehindTheArena) {
  hone_module module = bigramModule(HONE_SGD);
  module.config = R"({"train": {"max_seq_length": 32, "max_grad_norm": 0,
                                "optimizer_in_backward": true}})";
  module.gradient_offset = module.arena_bytes;
  module.gradient_end =
      module.gradient_offset + module.trainable_elements * sizeof(double);
  auto opened = Module::open(module);
  ASSERT_TRUE(opened.isOk()) << opened.status().render();
  EXPECT_TRUE(opened.value().updatesLayers());
  EXPECT_EQ(opened.value().arenaBytes({}), module.arena_bytes);
  EXPECT_EQ(opened.value().arenaBytes({true}), module.gradient_end);
}

// A copy of the gradient is after it where another one is compared.
TEST(Module, HasRoomForTwoGradientsToCompare) {
  hone_module module = bigramModule(HONE_SGD);
  std::vector<hone_schedule> schedules(
      module.schedules, module.schedules + module.schedule_count);
  for (uint32_t i = 0; i < module.schedule_count; ++i)
    if (schedules[i].purpose == HONE_DIFFERENTIATE)
      schedules.push_back(schedules[i]);
  schedules.back().purpose = HONE_COMPARE;
  const char *compares =
      R"({"train": {"max_seq_length": 32, "compare": "mezo"}})";
  module.config = compares;
  EXPECT_NE(refusal(module).find("schedule 'compare'"), std::string::npos);
  module.schedules = schedules.data();
  module.schedule_count = uint32_t(schedules.size());
  module.arena_bytes += 4 * module.trainable_elements * sizeof(double);
  module.accumulation_end = module.gradient_end = module.arena_bytes;
  auto opened = Module::open(module);
  ASSERT_TRUE(opened.isOk()) << opened.status().render();
  EXPECT_TRUE(opened.value().compares());
  uint64_t bytes = opened.value().vectorBytes();
  module.gradient_offset = (module.arena_bytes - bytes) / 8 * 8;
  EXPECT_NE(refusal(module).find("comparison"), std::string::npos);
  module.config = bigramModule(HONE_SGD).config;
  EXPECT_NE(refusal(module).find("schedule 'compare'"), std::string::npos);
}

TEST(Module, RefusesWhatReachesBeyondTheArena) {
  hone_module module = bigramModule(HONE_SGD);
  module.arena_bytes = 64;
  EXPECT_NE(refusal(module).find("arena"), std::string::npos);
  module = bigramModule(HONE_ADAMW);
  std::vector<hone_slot> states(module.states,
                                module.states + module.state_count);
  states[1].offset = module.arena_bytes - 8;
  module.states = states.data();
  EXPECT_NE(refusal(module).find("state 'state1'"), std::string::npos);
  module = bigramModule(HONE_SGD);
  module.gradient_offset = module.gradient_end - 8;
  EXPECT_NE(refusal(module).find("gradient"), std::string::npos);
  module = bigramModule(HONE_SGD);
  module.trainable_elements -= 1;
  EXPECT_NE(refusal(module).find("lora_B"), std::string::npos);
}

// Which of them this machine lacks is its own affair; the answers must agree.
TEST(Module, RefusesACpuThatLacksAFeature) {
  hone_module module = bigramModule(HONE_SGD);
  for (const char *feature :
       {"sse3", "avx2", "avx512fp16", "amx-bf16", "avxvnni", "avxvnniint8",
        "avx10.2", "egpr", "64bit"}) {
    std::string config = std::string(R"({"train": {"max_seq_length": 32},
        "target": {"cpu": "future", "features": ["-avx", "+)") +
                         feature + R"("]}})";
    module.config = config.c_str();
    if (missingCpuFeature({feature}).empty()) {
      EXPECT_TRUE(Module::open(module).isOk()) << feature;
      continue;
    }
    std::string text = refusal(module, ErrorCode::OtherProcessor);
    EXPECT_NE(text.find(feature), std::string::npos);
    EXPECT_NE(text.find("'future'"), std::string::npos);
  }
  EXPECT_EQ(missingCpuFeature({"-avx512f", "64bit", "cx8"}), "");
}

#if defined(__x86_64__)
// The compiler's own answers, where its runtime fills them. Not amx-tile, for
// which the system must be asked.
TEST(CpuFeatures, AreThoseThatTheCompilersRuntimeFinds) {
#define HONE_CHECK_FEATURE(NAME)                                               \
  EXPECT_EQ(missingCpuFeature({NAME}).empty(),                                 \
            __builtin_cpu_supports(NAME) != 0)                                 \
      << NAME;
  HONE_CHECK_FEATURE("sse3")
  HONE_CHECK_FEATURE("ssse3")
  HONE_CHECK_FEATURE("sse4.1")
  HONE_CHECK_FEATURE("sse4.2")
  HONE_CHECK_FEATURE("sse4a")
  HONE_CHECK_FEATURE("popcnt")
  HONE_CHECK_FEATURE("avx")
  HONE_CHECK_FEATURE("avx2")
  HONE_CHECK_FEATURE("fma")
  HONE_CHECK_FEATURE("f16c")
  HONE_CHECK_FEATURE("bmi")
  HONE_CHECK_FEATURE("bmi2")
  HONE_CHECK_FEATURE("lzcnt")
  HONE_CHECK_FEATURE("movbe")
  HONE_CHECK_FEATURE("gfni")
  HONE_CHECK_FEATURE("avxvnni")
  HONE_CHECK_FEATURE("avx512f")
  HONE_CHECK_FEATURE("avx512vl")
  HONE_CHECK_FEATURE("avx512bw")
  HONE_CHECK_FEATURE("avx512dq")
  HONE_CHECK_FEATURE("avx512cd")
  HONE_CHECK_FEATURE("avx512ifma")
  HONE_CHECK_FEATURE("avx512vbmi")
  HONE_CHECK_FEATURE("avx512vbmi2")
  HONE_CHECK_FEATURE("avx512vnni")
  HONE_CHECK_FEATURE("avx512bitalg")
  HONE_CHECK_FEATURE("avx512vpopcntdq")
  HONE_CHECK_FEATURE("avx512bf16")
  HONE_CHECK_FEATURE("avx512fp16")
  HONE_CHECK_FEATURE("amx-int8")
  HONE_CHECK_FEATURE("amx-bf16")
#undef HONE_CHECK_FEATURE
}
#endif

TEST(Module, RefusesAConfigOfTheWrongKind) {
  hone_module module = bigramModule(HONE_SGD);
  module.config = R"({"train": {"learning_rate": "fast"}})";
  EXPECT_NE(refusal(module).find("train.learning_rate"), std::string::npos);
  module.config = "{";
  EXPECT_NE(refusal(module).find("compiled config"), std::string::npos);
  module.config = R"({"train": {"batch_size": 5, "max_seq_length": 32}})";
  EXPECT_NE(refusal(module).find("batch_size 5"), std::string::npos);
}

TEST(PlanRun, RefusesWhatNoThreadsBringBelowTheBudget) {
  hone_module module = bigramModule(HONE_SGD);
  module.config =
      R"({"train": {"max_seq_length": 32, "memory_budget": "64KiB"}})";
  Result<Module> opened = Module::open(module);
  ASSERT_TRUE(opened.isOk()) << opened.status().render();
  Options options = Options::defaults(opened.value().config());
  EXPECT_EQ(planRun(opened.value(), options).status().errorCode(),
            ErrorCode::BudgetExceeded);
}

namespace {

class WeightsTest : public BigramFixture {
protected:
  std::string refusal(std::vector<TensorSpec> specs,
                      SafetensorsMetadata metadata) {
    auto writer = SafetensorsWriter::create(folder + "bad", specs, metadata);
    EXPECT_TRUE(writer.isOk());
    for (const TensorInfo &tensor : writer.value().tensors()) {
      std::string zeros(tensor.bytes(), 0);
      EXPECT_TRUE(writer.value().write(zeros.data(), zeros.size()).isOk());
    }
    EXPECT_TRUE(writer.value().commit().isOk());
    Module module = std::move(Module::open(bigramModule(HONE_SGD)).value());
    auto weights = Weights::open(folder + "bad", module);
    EXPECT_FALSE(weights.isOk());
    EXPECT_EQ(weights.status().errorCode(), ErrorCode::OtherWeights);
    return weights.status().render();
  }
  const SafetensorsMetadata good{
      {"format", "hone"}, {"layout", "row-major"}, {"source_hash", "bigram"}};
  const std::string name = "model.bigram.weight";
};

} // namespace

TEST_F(WeightsTest, RefusesAnotherModelOrLayout) {
  EXPECT_NE(refusal({{name, Dtype::F32, {47, 47}}}, {{"format", "hone"},
                                                     {"layout", "row-major"},
                                                     {"source_hash", "other"}})
                .find("source_hash: expects 'bigram' but got 'other'"),
            std::string::npos);
  EXPECT_NE(refusal({{name, Dtype::F32, {47, 47}}}, {{"format", "hone"},
                                                     {"layout", "panels"},
                                                     {"source_hash", "bigram"}})
                .find("layout"),
            std::string::npos);
  EXPECT_NE(refusal({{name, Dtype::F32, {47, 47}}}, {{"format", "pt"}})
                .find("format"),
            std::string::npos);
}

TEST_F(WeightsTest, RefusesMissingAndMisshapenTensors) {
  EXPECT_NE(refusal({{"other", Dtype::F32, {47, 47}}}, good)
                .find("'model.bigram.weight'"),
            std::string::npos);
  EXPECT_NE(refusal({{name, Dtype::F32, {47, 46}}}, good)
                .find("F32 [47, 47] but got F32 [47, 46]"),
            std::string::npos);
  EXPECT_NE(refusal({{name, Dtype::BF16, {47, 47}}}, good).find("BF16"),
            std::string::npos);
}
