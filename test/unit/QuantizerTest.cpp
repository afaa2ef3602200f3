//===- QuantizerTest.cpp --------------------------------------------------===//

#include "compiler/weights/Quantizer.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

using namespace hone;

namespace {

struct Format {
  int64_t bits, group;
};

class QuantizerTest : public testing::TestWithParam<Format> {
protected:
  Quantizer quantizer{GetParam().bits, GetParam().group};
  int64_t group = GetParam().group;

  std::vector<float> random(uint64_t count) {
    std::mt19937 generator(7);
    std::normal_distribution<float> normal(0.01f, 0.02f);
    std::vector<float> values(count);
    for (float &value : values)
      value = normal(generator);
    return values;
  }
  std::vector<float> restored(const QuantizedGroups &groups) {
    std::vector<float> values(groups.scales.size() * group);
    quantizer.dequantize(groups, values.data());
    return values;
  }
};

TEST_P(QuantizerTest, ErrorsAreAtMostHalfAStep) {
  std::vector<float> values = random(40 * group);
  QuantizedGroups groups;
  ASSERT_FALSE(quantizer.quantize(values.data(), values.size(), groups));
  ASSERT_EQ(groups.scales.size(), 40u);
  EXPECT_EQ(groups.packed.size(), values.size() * GetParam().bits / 8);
  std::vector<float> back = restored(groups);
  for (size_t i = 0; i < values.size(); ++i)
    EXPECT_LE(std::fabs(back[i] - values[i]),
              0.5001 * groups.scales[i / group] + 1e-9);
}

TEST_P(QuantizerTest, QuantisesItsOwnOutputToTheSameNumbers) {
  std::vector<float> values = random(40 * group);
  QuantizedGroups first, second;
  ASSERT_FALSE(quantizer.quantize(values.data(), values.size(), first));
  std::vector<float> once = restored(first);
  ASSERT_FALSE(quantizer.quantize(once.data(), once.size(), second));
  EXPECT_EQ(first.packed, second.packed);
  EXPECT_EQ(first.biases, second.biases);
  std::vector<float> twice = restored(second);
  for (size_t i = 0; i < once.size(); ++i)
    EXPECT_NEAR(twice[i], once[i], 1e-7);
}

TEST_P(QuantizerTest, AConstantGroupIsExact) {
  for (float constant : {0.0f, -3.25f, 1e-38f, 3e38f}) {
    std::vector<float> values(group, constant);
    QuantizedGroups groups;
    ASSERT_FALSE(quantizer.quantize(values.data(), values.size(), groups));
    EXPECT_EQ(groups.scales[0], 0.0f);
    EXPECT_EQ(restored(groups), values);
  }
}

TEST_P(QuantizerTest, TheEndsOfTheRangeAreReached) {
  std::vector<float> values(group, 0.25f);
  values[3] = -1.0f;
  values[8] = 2.0f;
  QuantizedGroups groups;
  ASSERT_FALSE(quantizer.quantize(values.data(), values.size(), groups));
  std::vector<float> back = restored(groups);
  EXPECT_EQ(back[3], -1.0f);
  EXPECT_NEAR(back[8], 2.0f, 1e-6);
}

TEST_P(QuantizerTest, ARangeBeyondFloatStaysFinite) {
  float most = std::numeric_limits<float>::max();
  std::vector<float> values(group, 0.0f);
  values[0] = -most / 2;
  values[1] = most;
  QuantizedGroups groups;
  ASSERT_FALSE(quantizer.quantize(values.data(), values.size(), groups));
  EXPECT_TRUE(std::isfinite(groups.scales[0]));
}

TEST_P(QuantizerTest, NamesTheFirstValueThatIsNotFinite) {
  for (float bad : {std::numeric_limits<float>::quiet_NaN(),
                    std::numeric_limits<float>::infinity(),
                    -std::numeric_limits<float>::infinity()}) {
    std::vector<float> values = random(8 * group);
    values[5 * group + 7] = bad;
    values[7 * group] = bad;
    QuantizedGroups groups;
    auto found = quantizer.quantize(values.data(), values.size(), groups);
    ASSERT_TRUE(found);
    EXPECT_EQ(*found, uint64_t(5 * group + 7));
  }
}

/// One number after the other, as the format defines them.
TEST_P(QuantizerTest, HasTheBitsOfThePlainFormula) {
  const int64_t bits = GetParam().bits;
  const int steps = (1 << bits) - 1;
  std::mt19937 generator(11);
  std::vector<float> values = random(64 * group);
  for (int64_t i = 8 * group; i < 16 * group; ++i) // ties
    values[i] = 0.5f * float(generator() % 64);
  for (int64_t i = 16 * group; i < 24 * group; ++i) // both zeros
    values[i] = generator() % 8 ? 1.0f : generator() % 2 ? 0.0f : -0.0f;
  for (int64_t i = 24 * group; i < 32 * group; ++i) // below normal numbers
    values[i] = float(generator() % 40) * 0x1p-149f;
  QuantizedGroups groups;
  ASSERT_FALSE(quantizer.quantize(values.data(), values.size(), groups));
  for (size_t g = 0; g < groups.scales.size(); ++g) {
    const float *first = &values[g * group];
    float bias = *std::min_element(first, first + group);
    float most = *std::max_element(first, first + group);
    auto scale = static_cast<float>((double(most) - double(bias)) / steps);
    EXPECT_EQ(groups.biases[g], bias);
    EXPECT_EQ(std::signbit(groups.biases[g]), std::signbit(bias)) << g;
    EXPECT_EQ(groups.scales[g], scale);
    EXPECT_FALSE(std::signbit(groups.scales[g]));
    double inverse = scale > 0 ? 1.0 / double(scale) : 0.0;
    for (int64_t i = 0; i < group; ++i) {
      double step = std::rint((double(first[i]) - double(bias)) * inverse);
      size_t at = g * group + i;
      unsigned found = bits == 8 ? groups.packed[at]
                                 : groups.packed[at / 2] >> (at % 2 * 4) & 15;
      EXPECT_EQ(found, unsigned(std::min<double>(step, steps))) << at;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Formats, QuantizerTest,
                         testing::Values(Format{4, 32}, Format{4, 64},
                                         Format{4, 128}, Format{8, 32},
                                         Format{8, 64}, Format{8, 128}),
                         [](const auto &info) {
                           return "Int" + std::to_string(info.param.bits) +
                                  "Group" + std::to_string(info.param.group);
                         });

} // namespace

TEST(Quantizer, TheLowHalfOfAByteIsFirst) {
  std::vector<float> values(32);
  for (int i = 0; i < 32; ++i)
    values[i] = float(i % 16);
  QuantizedGroups groups;
  ASSERT_FALSE(Quantizer(4, 32).quantize(values.data(), 32, groups));
  EXPECT_EQ(groups.scales[0], 1.0f);
  EXPECT_EQ(groups.packed[0], 0x10);
  EXPECT_EQ(groups.packed[1], 0x32);
  EXPECT_EQ(groups.packed[7], 0xfe);
}
