//===- RopeFrequenciesTest.cpp - Rotation frequencies of hone.rope --------===//
//
// Expected values of the llama3 scaling are those of Transformers'
// _compute_llama3_parameters, written out again from its formula in terms of
// wavelengths, where the op works in turns of the original context.
//
//===----------------------------------------------------------------------===//

#include "test/unit/ParsedModule.h"

#include "llvm/Support/FormatVariadic.h"

#include <cmath>

using namespace hone;

static llvm::SmallVector<double> frequencies(llvm::StringRef attributes,
                                             int64_t width) {
  std::string text = llvm::formatv(R"(
    hone.block @layer(%x: tensor<?x{0}xf32>, %s: tensor<?xi32>) {{
      %y = hone.rope %x, %s {1} : (tensor<?x{0}xf32>, tensor<?xi32>) -> tensor<?x{0}xf32>
      hone.return
    })",
                                   width, attributes);
  ParsedModule module(text);
  return module.only<RopeOp>(module.block("layer")).getFrequencies();
}

TEST(RopeFrequencies, AreAGeometricSeries) {
  auto found = frequencies("heads 2 theta 10000.0", 16);
  ASSERT_EQ(found.size(), 4u);
  const double expected[] = {1.0, 0.1, 0.01, 0.001};
  for (auto [value, wanted] : llvm::zip(found, expected))
    EXPECT_NEAR(value, wanted, 1e-15);
}

TEST(RopeFrequencies, DependOnTheHeadAndNotOnTheirNumber) {
  EXPECT_EQ(frequencies("heads 1 theta 10000.0", 8),
            frequencies("heads 4 theta 10000.0", 32));
}

TEST(RopeFrequencies, IgnoreTheDirection) {
  EXPECT_EQ(frequencies("heads 1 theta 10000.0", 8),
            frequencies("heads 1 theta 10000.0 inverse", 8));
}

TEST(RopeFrequencies, AStretchDividesThem) {
  auto plain = frequencies("heads 1 theta 10000.0", 8);
  auto found = frequencies("heads 1 theta 10000.0 stretch 8.0", 8);
  ASSERT_EQ(found.size(), plain.size());
  for (auto [value, whole] : llvm::zip(found, plain))
    EXPECT_EQ(value, whole / 8);
}

TEST(RopeFrequencies, OfLlama3KeepBlendAndStretch) {
  const double theta = 500000.0, factor = 32.0, low = 1.0, high = 4.0;
  const double context = 8192.0;
  const int64_t dim = 64;
  auto found = frequencies(
      "heads 1 theta 500000.0 scaling <factor = 32.0 : f64, low_freq_factor = "
      "1.0 : f64, high_freq_factor = 4.0 : f64, "
      "original_max_position_embeddings = 8192>",
      dim);
  ASSERT_EQ(found.size(), 32u);
  int kept = 0, blended = 0, stretched = 0;
  for (int64_t j = 0; j < dim / 2; ++j) {
    double plain = std::pow(theta, -2.0 * j / dim);
    double wavelength = 2.0 * M_PI / plain;
    double expected = plain;
    if (wavelength > context / low) {
      expected = plain / factor;
      ++stretched;
    } else if (wavelength >= context / high) {
      double smooth = (context / wavelength - low) / (high - low);
      expected = (1 - smooth) * plain / factor + smooth * plain;
      ++blended;
    } else {
      ++kept;
    }
    EXPECT_NEAR(found[j] / expected, 1.0, 1e-14) << "frequency " << j;
  }
  EXPECT_GT(kept, 0);
  EXPECT_GT(blended, 0);
  EXPECT_GT(stretched, 0);
}
