//===- TrainerTest.cpp - The numbers of a step ----------------------------===//
//
// In double precision against formulas written out again here, or against
// finite differences of the module's own loss.
//
//===----------------------------------------------------------------------===//

#include "BigramFixture.h"

#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <list>
#include <utility>

using namespace hone;
using namespace hone::rt;
using namespace hone::test;

namespace {

class TrainerTest : public BigramFixture {
protected:
  SampleOrder order{21, 4, 1, 7, true};
  Hyperparameters plain = settingsOf("constant", 0.5, 10);

  static Hyperparameters settingsOf(const char *scheduler, double rate,
                                    uint64_t steps) {
    Hyperparameters made{{}, steps};
    TrainSettings &train = made.settings.train;
    train.lr_scheduler_type = scheduler;
    train.learning_rate = rate;
    train.momentum = 0.9;
    train.max_grad_norm = 0;
    train.seed = 0;
    return made;
  }

  /// The gradient of `range`, read from a dump.
  std::vector<double> gradientOf(BigramTrainer &bigram, const Dataset &data,
                                 SampleOrder::Range range) {
    EXPECT_TRUE(bigram.trainer->gradient(data, order, range, plain).isOk());
    std::string path = folder + "gradients";
    EXPECT_TRUE(bigram.trainer->trainables().dumpGradients(path, {}).isOk());
    Result<SafetensorsFile> file = SafetensorsFile::open(path);
    EXPECT_TRUE(file.isOk());
    std::vector<double> out;
    for (const char *name : {"base_model.model.model.bigram.lora_A.weight",
                             "base_model.model.model.bigram.lora_B.weight"}) {
      const TensorInfo *tensor = file.value().find(name);
      for (uint64_t i = 0; i < tensor->elements(); ++i)
        out.push_back(
            loadAsDouble(tensor->dtype, file.value().data(*tensor), i));
    }
    return out;
  }
};

} // namespace

TEST_F(TrainerTest, StartsAsPeftDoes) {
  BigramTrainer bigram(folder, HONE_ADAMW, HONE_F64);
  const double *theta = bigram.values<double>();
  double largest = 0;
  uint64_t half = bigram.count() / 2;
  for (uint64_t i = 0; i < half; ++i)
    largest = std::fmax(largest, std::fabs(theta[i]));
  double bound = 1 / std::sqrt(double(bigramVocab));
  EXPECT_LT(largest, bound);
  EXPECT_GT(largest, 0.9 * bound);
  for (uint64_t i = half; i < 2 * half; ++i)
    EXPECT_EQ(theta[i], 0);
}

TEST_F(TrainerTest, SeedDecidesTheStart) {
  BigramTrainer one(folder, HONE_SGD, HONE_F32),
      two(folder, HONE_SGD, HONE_F32);
  uint64_t bytes = one.module.vectorBytes();
  EXPECT_EQ(memcmp(one.values<float>(), two.values<float>(), bytes), 0);
  two.trainer->trainables().initialize(8);
  EXPECT_NE(memcmp(one.values<float>(), two.values<float>(), bytes), 0);
}

TEST_F(TrainerTest, GradientIsThatOfTheMeanLoss) {
  Dataset data = openData();
  BigramTrainer bigram(folder, HONE_SGD, HONE_F64);
  double *theta = bigram.values<double>();
  for (uint64_t i = 0; i < bigram.count(); ++i)
    theta[i] = 0.1 * std::sin(double(i));
  // 10 samples: two full batches and one of 2, of different lengths.
  SampleOrder::Range range{0, 0, 10};
  std::vector<double> gradient = gradientOf(bigram, data, range);
  for (uint64_t i = 0; i < bigram.count(); i += 29) {
    double old = theta[i], step = 1e-5;
    theta[i] = old + step;
    double up =
        bigram.trainer->gradient(data, order, range, plain).value().loss;
    theta[i] = old - step;
    double down =
        bigram.trainer->gradient(data, order, range, plain).value().loss;
    theta[i] = old;
    EXPECT_NEAR(gradient[i], (up - down) / (2 * step), 1e-9) << i;
  }
}

TEST_F(TrainerTest, AccumulationWeighsEveryTokenAlike) {
  Dataset data = openData();
  BigramTrainer bigram(folder, HONE_SGD, HONE_F64);
  order.shuffle = false;
  auto whole = bigram.trainer->gradient(data, order, {0, 0, 21}, plain).value();
  double sum = 0;
  uint64_t targets = 0;
  for (uint64_t i = 0; i < 21; ++i) {
    auto one = bigram.trainer->gradient(data, order, {0, i, 1}, plain).value();
    sum += one.loss * double(one.targets);
    targets += one.targets;
  }
  EXPECT_EQ(whole.targets, targets);
  EXPECT_EQ(targets, data.targetCount());
  EXPECT_NEAR(whole.loss, sum / double(targets), 1e-12);
  EXPECT_NEAR(bigram.trainer->evaluate(data, 4, 0).value().loss, whole.loss,
              1e-12);
}

TEST_F(TrainerTest, NormIsThatOfTheGradient) {
  Dataset data = openData();
  BigramTrainer bigram(folder, HONE_SGD, HONE_F64);
  double sum = 0;
  for (double g : gradientOf(bigram, data, {0, 0, 8}))
    sum += g * g;
  EXPECT_NEAR(bigram.trainer->gradient(data, order, {0, 0, 8}, plain)
                  .value()
                  .gradientNorm,
              std::sqrt(sum), 1e-14);
}

TEST_F(TrainerTest, ClipsAsTorchDoes) {
  Dataset data = openData();
  BigramTrainer bigram(folder, HONE_SGD, HONE_F64);
  std::vector<double> gradient = gradientOf(bigram, data, order.rangeOf(0));
  std::vector<double> before(bigram.values<double>(),
                             bigram.values<double>() + bigram.count());
  Hyperparameters clipped = plain;
  clipped.settings.train.max_grad_norm = 0.01;
  Trainer::StepResult result;
  ASSERT_TRUE(bigram.trainer->step(data, order, clipped, 0, result).isOk());
  ASSERT_GT(result.gradientNorm, 0.01);
  double scale = 0.01 / (result.gradientNorm + 1e-6);
  for (uint64_t i = 0; i < bigram.count(); ++i)
    EXPECT_NEAR(bigram.values<double>()[i],
                before[i] - 0.5 * scale * gradient[i], 1e-16);
}

TEST_F(TrainerTest, AdamWGetsTheScalarsOfTorch) {
  Dataset data = openData();
  BigramTrainer bigram(folder, HONE_ADAMW, HONE_F64);
  uint64_t n = bigram.count();
  std::vector<double> x(bigram.values<double>(), bigram.values<double>() + n);
  std::vector<double> m(n), v(n);
  Hyperparameters settings = settingsOf("linear", 0.01, 6);
  settings.settings.train.warmup_steps = 2;
  settings.settings.train.weight_decay = 0.1;
  for (uint64_t completed = 0; completed < 6; ++completed) {
    std::vector<double> g = gradientOf(bigram, data, order.rangeOf(completed));
    double rate = completed < 2 ? 0.01 * (double(completed) / 2)
                                : 0.01 * (double(6 - completed) / 4);
    for (uint64_t i = 0; i < n; ++i) {
      m[i] = 0.9 * m[i] + 0.1 * g[i];
      v[i] = 0.999 * v[i] + 0.001 * g[i] * g[i];
      double t = double(completed + 1);
      double mean = m[i] / (1 - std::pow(0.9, t));
      double root = std::sqrt(v[i] / (1 - std::pow(0.999, t)));
      x[i] = x[i] * (1 - rate * 0.1) - rate * mean / (root + 1e-8);
    }
    Trainer::StepResult result;
    ASSERT_TRUE(
        bigram.trainer->step(data, order, settings, completed, result).isOk());
    EXPECT_EQ(result.learningRate, rate);
    for (uint64_t i = 0; i < n; ++i)
      ASSERT_NEAR(bigram.values<double>()[i], x[i], 1e-13) << completed;
  }
}

// The key of each batch that a gradient is taken of; entries have no closure.
static std::vector<std::array<uint32_t, 4>> seenKeys;
static uint64_t keyOffset;
static hone_entry_fn gradientEntry;

static void recordKey(const hone_frame *frame, char *const *values) {
  memcpy(seenKeys.emplace_back().data(), frame->batch + keyOffset, 16);
  gradientEntry(frame, values);
}

TEST_F(TrainerTest, EachStepAndEachOfItsBatchesHasAKey) {
  hone_module module = bigramModule(HONE_SGD, HONE_F64);
  std::vector<hone_schedule> schedules(
      module.schedules, module.schedules + module.schedule_count);
  std::list<std::vector<hone_item>> items;
  for (hone_schedule &schedule : schedules) {
    auto &own = items.emplace_back(schedule.items,
                                   schedule.items + schedule.item_count);
    schedule.items = own.data();
    if (schedule.purpose == HONE_TRAIN ||
        schedule.purpose == HONE_DIFFERENTIATE)
      for (size_t i = 1; i < own.size(); ++i)
        if (own[i - 1].kind == HONE_LOAD)
          gradientEntry = std::exchange(own[i].run, recordKey);
  }
  module.schedules = schedules.data();
  const int64_t shape[] = {4};
  keyOffset = module.arena_bytes = (module.arena_bytes + 63) / 64 * 64;
  module.accumulation_end = module.gradient_end = module.arena_bytes += 64;
  std::vector<hone_slot> inputs(module.inputs,
                                module.inputs + module.input_count);
  inputs.push_back({"random_key", HONE_I32, 1, shape, keyOffset});
  module.inputs = inputs.data();
  module.input_count = uint32_t(inputs.size());

  Dataset data = openData();
  BigramTrainer bigram(folder, module);
  order.batchesPerStep = 2;
  plain.settings.train.seed = (uint64_t(5) << 32) + 42;
  auto keyOf = [](uint32_t step, uint32_t batch) {
    return std::array<uint32_t, 4>{42, 5, step, batch << 21};
  };
  for (uint32_t step : {0, 1, 3}) {
    seenKeys.clear();
    Trainer::StepResult result;
    ASSERT_TRUE(bigram.trainer->step(data, order, plain, step, result).isOk());
    EXPECT_EQ(seenKeys, (std::vector{keyOf(step, 0), keyOf(step, 1)})) << step;
  }
  // A gradient is that of the first step.
  seenKeys.clear();
  ASSERT_TRUE(
      bigram.trainer->gradient(data, order, order.rangeOf(0), plain).isOk());
  EXPECT_EQ(seenKeys, (std::vector{keyOf(0, 0), keyOf(0, 1)}));
}

TEST_F(TrainerTest, ThreadsNeverChangeABit) {
  Dataset data = openData();
  std::vector<float> first;
  for (unsigned threads : {1, 2, 3}) {
    BigramTrainer bigram(folder, HONE_SGD_MOMENTUM, HONE_F32, threads);
    Trainer::StepResult result;
    for (uint64_t step = 0; step < 12; ++step)
      ASSERT_TRUE(
          bigram.trainer->step(data, order, plain, step, result).isOk());
    std::vector<float> theta(bigram.values<float>(),
                             bigram.values<float>() + bigram.count());
    if (first.empty())
      first = theta;
    EXPECT_EQ(memcmp(first.data(), theta.data(), theta.size() * 4), 0);
  }
}

TEST_F(TrainerTest, LossThatIsNotFiniteStopsBeforeTheUpdate) {
  Dataset data = openData();
  BigramTrainer bigram(folder, HONE_SGD, HONE_F64);
  bigram.values<double>()[0] = std::numeric_limits<double>::quiet_NaN();
  Trainer::StepResult result;
  Status status = Status::ok();
  for (uint64_t step = 0; step < 12 && status.isOk(); ++step)
    status = bigram.trainer->step(data, order, plain, step, result);
  ASSERT_FALSE(status.isOk());
  EXPECT_EQ(status.errorCode(), ErrorCode::Diverged);
  EXPECT_NE(status.render().find("NaN"), std::string::npos);
  EXPECT_NE(status.render().find("step "), std::string::npos);
  EXPECT_EQ(bigram.trainer->validate(3).errorCode(), ErrorCode::Diverged);
}

TEST_F(TrainerTest, AdapterComesBackBitForBit) {
  Dataset data = openData();
  BigramTrainer bigram(folder, HONE_SGD, HONE_F32),
      other(folder, HONE_SGD, HONE_F32);
  Trainer::StepResult result;
  ASSERT_TRUE(bigram.trainer->step(data, order, plain, 0, result).isOk());
  ASSERT_TRUE(bigram.trainer->trainables().save(folder + "adapter").isOk());
  ASSERT_TRUE(other.trainer->trainables()
                  .load(folder + "adapter", AdapterUse::Train)
                  .isOk());
  EXPECT_EQ(memcmp(bigram.values<float>(), other.values<float>(),
                   bigram.module.vectorBytes()),
            0);
}

TEST(SampleOrder, EachEpochHasEachSampleOnce) {
  SampleOrder order{10, 2, 2, 3, true};
  EXPECT_EQ(order.stepsPerEpoch(), 3u);
  for (uint64_t epoch = 0; epoch < 3; ++epoch) {
    std::vector<int> seen(10);
    for (uint64_t step = 0; step < 3; ++step) {
      SampleOrder::Range range = order.rangeOf(epoch * 3 + step);
      EXPECT_EQ(range.epoch, epoch);
      EXPECT_EQ(range.count, step < 2 ? 4u : 2u);
      for (uint64_t i = 0; i < range.count; ++i)
        ++seen[order.sampleAt(epoch, range.first + i)];
    }
    for (int times : seen)
      EXPECT_EQ(times, 1);
  }
}

TEST(SampleOrder, EpochsDifferAndSeedsDiffer) {
  SampleOrder one{1000, 1, 1, 1, true}, two{1000, 1, 1, 2, true};
  int sameEpoch = 0, sameSeed = 0;
  for (uint64_t i = 0; i < 1000; ++i) {
    sameEpoch += one.sampleAt(0, i) == one.sampleAt(1, i);
    sameSeed += one.sampleAt(0, i) == two.sampleAt(0, i);
  }
  EXPECT_LT(sameEpoch, 20);
  EXPECT_LT(sameSeed, 20);
}

TEST(SampleOrder, FileOrderWithoutShuffle) {
  SampleOrder order{5, 2, 1, 1, false};
  EXPECT_EQ(order.sampleAt(3, 4), 4u);
}
