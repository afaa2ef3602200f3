//===- RunChoiceTest.cpp - A spec for a model, its data and this machine --===//

#include "compiler/hone/RunChoice.h"
#include "compiler/hone/LongSamples.h"

#include "gtest/gtest.h"

using namespace hone;

static ModelFacts aModel(uint64_t numbers, rt::Dtype dtype) {
  ModelFacts model;
  model.folder = "/models/some model";
  model.positions = 4096;
  model.numbers = numbers;
  model.dtype = dtype;
  model.fileBytes = numbers * (dtype == rt::Dtype::F32 ? 4 : 2);
  return model;
}

/// Conversations, one for each length.
static DataFacts conversations(std::vector<uint32_t> lengths) {
  DataFacts data;
  data.path = "notes.jsonl";
  data.format = "conversations";
  data.samples = lengths.size();
  data.lengths = SampleLengths(std::move(lengths));
  return data;
}

static Machine withFree(uint64_t bytes) { return {bytes, ""}; }

static std::string valueOf(const RunChoice &choice, const std::string &key) {
  for (const ChosenKey &chosen : choice.keys)
    if (chosen.key == key)
      return chosen.value;
  return "none";
}

static constexpr uint64_t GiB = uint64_t(1) << 30;

TEST(SampleLengths, PercentilesAreTheLeastLengthThatSoManyDoNotExceed) {
  const SampleLengths lengths({30, 10, 20, 40});
  EXPECT_EQ(lengths.percentile(0.5), 20);
  EXPECT_EQ(lengths.percentile(0.51), 30);
  EXPECT_EQ(lengths.longest(), 40);
  EXPECT_EQ(lengths.longerThan(20), 2u);
  EXPECT_EQ(lengths.longerThan(40), 0u);
  EXPECT_EQ(lengths.tokens(), 100u);
}

// The samples that a run uses decide its steps and its time.
TEST(DataFacts, SamplesAreThoseThatAreTrainedOn) {
  DataFacts data = conversations({10, 20, 21, 45});
  EXPECT_EQ(data.samplesUpTo(20), 2u);
  data.canSplit = true;
  EXPECT_EQ(data.samplesUpTo(20), 7u);
  data = {};
  data.canSplit = data.isPacked = true;
  data.tokens = 1001;
  EXPECT_EQ(data.samplesUpTo(100), 11u);
}

TEST(SampleLengths, OfNoSampleAreZero) {
  EXPECT_EQ(SampleLengths().percentile(0.5), 0);
  EXPECT_EQ(SampleLengths().longerThan(0), 0u);
}

TEST(LongSamples, AboveFivePercentAreLoudUnlessSplit) {
  std::vector<uint32_t> lengths(20, 30);
  lengths[3] = 70;
  const LongSamples one = LongSamples::of(SampleLengths(lengths), 64, false);
  EXPECT_EQ(one.text(),
            "1 of 20 samples (5.0 %) is longer than 64 tokens and left out");
  EXPECT_FALSE(one.isLoud());
  lengths[4] = 65;
  const SampleLengths more(lengths);
  EXPECT_TRUE(LongSamples::of(more, 64, false).isLoud());
  EXPECT_FALSE(LongSamples::of(more, 64, true).isLoud());
  EXPECT_EQ(LongSamples::of(more, 64, false).usual, 96);
  EXPECT_EQ(LongSamples::of(SampleLengths(), 64, false).longer, 0u);
}

TEST(Machine, FreeMemoryIsTheLessOfMachineAndControlGroup) {
  const std::string memory = "MemTotal: 100 kB\nMemAvailable:   80 kB\n";
  EXPECT_EQ(freeMemory(memory, "", ""), 80u * 1024);
  EXPECT_EQ(freeMemory(memory, "max\n", "4096\n"), 80u * 1024);
  EXPECT_EQ(freeMemory(memory, "8192\n", "4096\n"), 4096u);
  EXPECT_EQ(freeMemory(memory, "4096\n", "8192\n"), 0u);
  EXPECT_EQ(freeMemory("", "", ""), 0u);
  EXPECT_EQ(freeMemory("MemAvailable: many\n", "", ""), 0u);
}

TEST(RunChoice, LengthIsTheLongestSampleWhereThatCostsLittle) {
  std::vector<uint32_t> lengths(100, 90);
  lengths.back() = 110;
  const RunChoice choice = chooseRun(aModel(1000, rt::Dtype::F32),
                                     conversations(lengths), withFree(GiB));
  EXPECT_EQ(choice.maxSequenceLength, 96);
  EXPECT_EQ(choice.longer, 1u);
}

TEST(RunChoice, AllSamplesFitWhereOneIsALittleLonger) {
  std::vector<uint32_t> lengths(200, 200);
  lengths.back() = 250;
  const RunChoice choice = chooseRun(aModel(1000, rt::Dtype::F32),
                                     conversations(lengths), withFree(GiB));
  EXPECT_EQ(choice.maxSequenceLength, 256);
  EXPECT_EQ(choice.longer, 0u);
}

TEST(RunChoice, LengthIsNeverAboveTheModelsPositions) {
  ModelFacts model = aModel(1000, rt::Dtype::F32);
  model.positions = 64;
  const RunChoice choice =
      chooseRun(model, conversations({500, 600, 700}), withFree(GiB));
  EXPECT_EQ(choice.maxSequenceLength, 64);
  EXPECT_EQ(choice.longer, 3u);
}

TEST(RunChoice, FewSamplesAreSeenThreeTimesAndBatchesAreSmall) {
  const RunChoice few = chooseRun(aModel(1000, rt::Dtype::F32),
                                  conversations({30, 30, 30}), withFree(GiB));
  EXPECT_EQ(few.batchSize, 1);
  EXPECT_EQ(few.epochs, 3);
  EXPECT_TRUE(few.options.empty());
  const RunChoice many =
      chooseRun(aModel(1000, rt::Dtype::F32),
                conversations(std::vector<uint32_t>(2000, 30)), withFree(GiB));
  EXPECT_EQ(many.batchSize, 8);
  EXPECT_EQ(many.epochs, 1);
  EXPECT_EQ(many.options, (std::vector<std::string>{"--eval-split", "0.1"}));
  // A run that is killed loses a tenth at most.
  EXPECT_EQ(valueOf(few, "train.save_every"), "5");
  EXPECT_EQ(valueOf(many, "train.save_every"), "25");
}

// A user's setting is taken, with any other choices.
TEST(RunChoice, ChoicesGiveWayToWhatIsSet) {
  const ModelFacts model = aModel(1000, rt::Dtype::F32);
  const DataFacts data = conversations({30, 30, 30});
  const RunChoice choice = chooseRun(model, data, withFree(16 * GiB));
  const std::pair<const char *, const char *> cases[] = {
      {"train.steps=5", "epochs"},
      {"max_steps=5", "epochs"},
      {"train.residuals=full", "memory_budget"},
      {"train.compute_dtype=bfloat16", "float32"}};
  for (auto [set, gone] : cases) {
    const Result<std::string> spec =
        renderSpec(model, data, choice, {SpecOverride(set)});
    ASSERT_TRUE(spec.isOk()) << set << spec.status().render();
    EXPECT_EQ(spec.value().find(gone), std::string::npos) << spec.value();
    EXPECT_NE(spec.value().find("lora_alpha: 16"), std::string::npos);
  }
  EXPECT_EQ(renderSpec(model, data, choice, {SpecOverride("train.stesp=5")})
                .status()
                .errorCode(),
            ErrorCode::UnknownKey);
}

TEST(RunChoice, WeightsShrinkUntilTheyTakeHalfOfTheMemory) {
  const ModelFacts model = aModel(GiB, rt::Dtype::F32); // 4 GiB of files
  auto stored = [&](uint64_t free) {
    return valueOf(chooseRun(model, {}, withFree(free)), "weights.dtype");
  };
  EXPECT_EQ(stored(16 * GiB), "float32");
  EXPECT_EQ(stored(7 * GiB), "bfloat16");
  EXPECT_EQ(stored(3 * GiB), "int4");
  EXPECT_EQ(stored(0), "float32"); // not known
}

TEST(RunChoice, WeightsThatDoNotFitAreStreamedWithinABudget) {
  const RunChoice choice =
      chooseRun(aModel(4 * GiB, rt::Dtype::BF16), {}, withFree(4 * GiB));
  EXPECT_EQ(valueOf(choice, "weights.dtype"), "int4");
  EXPECT_EQ(valueOf(choice, "weights.streaming"), "planned");
  EXPECT_EQ(valueOf(choice, "train.resident_budget"), "3072MiB");
}

TEST(RunChoice, LittleMemoryIsNoBudget) {
  const ModelFacts model = aModel(1000, rt::Dtype::F32);
  EXPECT_EQ(valueOf(chooseRun(model, {}, withFree(GiB)), "train.memory_budget"),
            "448MiB");
  EXPECT_EQ(
      valueOf(chooseRun(model, {}, withFree(GiB / 4)), "train.memory_budget"),
      "none");
}

// So that the program of an earlier run is found again.
TEST(RunChoice, ALittleMoreMemoryIsTheSameBudget) {
  const ModelFacts model = aModel(1000, rt::Dtype::F32);
  for (uint64_t free : {21, 22, 23})
    EXPECT_EQ(valueOf(chooseRun(model, {}, withFree(free * GiB)),
                      "train.memory_budget"),
              "10240MiB");
}

TEST(RunChoice, AQuantisedModelStaysAsItIs) {
  ModelFacts model = aModel(GiB, rt::Dtype::U32);
  model.isQuantized = true;
  EXPECT_EQ(valueOf(chooseRun(model, {}, withFree(8 * GiB)), "weights.dtype"),
            "none");
}

TEST(RunChoice, ASpecSaysWhyAndReadsBack) {
  const ModelFacts model = aModel(1000, rt::Dtype::F32);
  const DataFacts data = conversations({30, 30, 30});
  const RunChoice choice = chooseRun(model, data, withFree(GiB));
  rt::Result<std::string> text =
      renderSpec(model, data, choice, {SpecOverride("lora.r=4")});
  ASSERT_TRUE(text.isOk()) << text.status().render();
  EXPECT_NE(text.value().find("model: \"/models/some model\""),
            std::string::npos);
  EXPECT_NE(text.value().find("# the longest sample has 30 tokens"),
            std::string::npos);
  rt::Result<Spec> read = parseSpec(text.value(), "hone.yaml");
  ASSERT_TRUE(read.isOk()) << read.status().render();
  EXPECT_EQ(read.value().lora.r, 4);
  EXPECT_EQ(read.value().train.max_seq_length, 32);
  EXPECT_EQ(read.value().model.text(), "/models/some model");
}

TEST(RunChoice, AnOverrideByAnAliasReplacesWhatWasChosen) {
  const ModelFacts model = aModel(1000, rt::Dtype::F32);
  rt::Result<std::string> text =
      renderSpec(model, {}, chooseRun(model, {}, withFree(GiB)),
                 {SpecOverride("train.lr=0.5")});
  ASSERT_TRUE(text.isOk());
  EXPECT_NE(text.value().find("learning_rate: 0.5"), std::string::npos)
      << text.value();
}

TEST(RunChoice, AWrongOverrideIsRefused) {
  const ModelFacts model = aModel(1000, rt::Dtype::F32);
  rt::Result<std::string> text =
      renderSpec(model, {}, chooseRun(model, {}, withFree(GiB)),
                 {SpecOverride("train.lora_r=4")});
  EXPECT_FALSE(text.isOk());
}

TEST(RunChoice, SectionsWithinSectionsAreYaml) {
  const ModelFacts model = aModel(1000, rt::Dtype::F32);
  rt::Result<std::string> text =
      renderSpec(model, {}, chooseRun(model, {}, withFree(GiB)),
                 {SpecOverride("parts.lower.layers=0-1"),
                  SpecOverride("parts.upper.layers=2-3"),
                  SpecOverride("parts.lower.method=mezo")});
  ASSERT_TRUE(text.isOk()) << text.status().render();
  EXPECT_TRUE(parseSpec(text.value(), "hone.yaml").isOk()) << text.value();
}
