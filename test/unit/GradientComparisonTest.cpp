//===- GradientComparisonTest.cpp - Measures of two gradients -------------===//
//
// The expected numbers are computed by hand. Comparisons of compiled programs
// are checked against dumps in test/methods/compare.sh.
//
//===----------------------------------------------------------------------===//

#include "step/GradientComparison.h"
#include "BigramModule.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

using namespace hone;
using namespace hone::rt;
using namespace hone::test;

namespace {

const int64_t four[] = {4};
/// Layers are not in the order of their numbers, nor is each in one place.
const hone_trainable trainables[] = {
    {"h.10.c_attn.lora_A.weight", 1, HONE_INIT_ZERO, four, 0, 0, 10},
    {"h.2.c_attn.lora_A.weight", 1, HONE_INIT_ZERO, four, 4, 0, 2},
    {"h.10.c_attn.lora_B.weight", 1, HONE_INIT_ZERO, four, 8, 0, 10},
    {"layers.7.lm_head.weight", 1, HONE_INIT_ZERO, four, 12, 0, HONE_NO_LAYER}};

class GradientComparisons : public testing::Test {
protected:
  GradientComparisons() {
    compiled.trainables = trainables;
    compiled.trainable_count = 4;
    auto opened = Module::open(compiled);
    EXPECT_TRUE(opened.isOk()) << opened.status().render();
    module = opened.value();
    found.emplace(module);
  }

  template <typename T>
  void compare(const T (&own)[16], const T (&reference)[16]) {
    found->clear();
    for (uint32_t i = 0; i < 4; ++i)
      found->add(i, sizeof(T) == 8 ? Dtype::F64 : Dtype::F32,
                 reinterpret_cast<const char *>(own + 4 * i),
                 reinterpret_cast<const char *>(reference + 4 * i), 4);
    found->finish();
  }

  hone_module compiled = bigramModule(HONE_SGD, HONE_F64);
  Module module;
  std::optional<GradientComparison> found;
};

} // namespace

TEST_F(GradientComparisons, GroupsAreLayersByNumberAndKindsOfMatrices) {
  ASSERT_EQ(found->layers.size(), 3u);
  EXPECT_EQ(found->layers[0].name, "2");
  EXPECT_EQ(found->layers[1].name, "10");
  EXPECT_EQ(found->layers[2].name, "other");
  ASSERT_EQ(found->kinds.size(), 2u);
  EXPECT_EQ(found->kinds[0].name, "lora_A");
  EXPECT_EQ(found->kinds[1].name, "lora_B");
  const double ones[16] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
  compare(ones, ones);
  EXPECT_EQ(found->layers[0].sums.elements, 4u);
  EXPECT_EQ(found->layers[1].sums.elements, 8u);
  EXPECT_EQ(found->kinds[0].sums.elements, 8u);
  EXPECT_EQ(found->kinds[1].sums.elements, 4u);
  EXPECT_EQ(found->all.elements, 16u);
}

TEST_F(GradientComparisons, ZerosOfTheReferenceHaveNoSign) {
  const float own[16] = {3, -1, 5, 0, 0, 0, 0, 0, 1, 2, 0, -4, 0, 0, 0, 0};
  const float reference[16] = {1, 1, 0, -2, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
  compare(own, reference);
  // 3 and 1 agree; -1 and 1, 0 and -2 do not; 5 and 0 are not asked.
  GradientSums layer = found->layers[1].sums;
  EXPECT_EQ(layer.signAgreement(), 1. / 3);
  EXPECT_EQ(layer.referenceZeros, 5u);
  EXPECT_EQ(layer.zeros, 2u);
  EXPECT_DOUBLE_EQ(layer.cosine(), 2 / std::sqrt(56. * 6));
  EXPECT_DOUBLE_EQ(layer.relativeError(),
                   std::sqrt((4 + 4 + 25 + 4 + 1 + 4 + 16) / 6.));
  // A gradient of zero has an error of 1 and no direction.
  GradientSums zero = found->layers[0].sums;
  EXPECT_TRUE(std::isnan(zero.cosine()));
  EXPECT_EQ(zero.signAgreement(), 0);
  EXPECT_EQ(zero.relativeError(), 1);
  // With a reference of zero nothing is said.
  GradientSums nothing = found->kinds[1].sums;
  EXPECT_EQ(nothing.referenceZeros, nothing.elements);
  EXPECT_TRUE(std::isnan(nothing.cosine()));
  EXPECT_TRUE(std::isnan(nothing.signAgreement()));
  EXPECT_TRUE(std::isnan(nothing.relativeError()));
}

TEST_F(GradientComparisons, EqualGradientsHaveTheCosineOne) {
  double own[16];
  for (int scale : {0, -200, 150, -320}) {
    for (int i = 0; i < 16; ++i)
      own[i] = std::sin(0.7 * i + 1) * std::pow(10., scale);
    compare(own, own);
    // Where squares are too small there is no length to divide by.
    double cosine = found->all.cosine();
    if (scale == 0) {
      EXPECT_EQ(cosine, 1);
      EXPECT_EQ(found->all.relativeError(), 0);
    } else {
      EXPECT_TRUE(std::isnan(cosine) || std::abs(cosine - 1) < 1e-12) << scale;
    }
    EXPECT_EQ(found->all.signAgreement(), 1);
  }
}

TEST_F(GradientComparisons, NonFiniteElementsAreCountedAndSayNothing) {
  float own[16] = {}, reference[16] = {};
  for (int i = 0; i < 16; ++i)
    own[i] = reference[i] = float(i + 1);
  own[1] = std::numeric_limits<float>::quiet_NaN();
  reference[2] = std::numeric_limits<float>::infinity();
  compare(own, reference);
  EXPECT_EQ(found->layers[1].sums.notFinite, 2u);
  EXPECT_EQ(found->all.notFinite, 2u);
  EXPECT_TRUE(std::isnan(found->all.cosine()));
  EXPECT_TRUE(std::isnan(found->all.signAgreement()));
  EXPECT_TRUE(std::isnan(found->all.relativeError()));
  EXPECT_EQ(found->layers[0].sums.cosine(), 1);
}
