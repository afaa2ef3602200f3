//===- DtypeTest.cpp - Names, widths and conversions ----------------------===//
//
// The 16-bit conversions are checked on all 65,536 inputs.
//
//===----------------------------------------------------------------------===//

#include "base/Dtype.h"

#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <utility>

using namespace hone::rt;

TEST(DtypeTest, NamesReadBack) {
  for (unsigned i = 0; i <= unsigned(Dtype::U64); ++i)
    EXPECT_EQ(parseDtype(dtypeName(Dtype(i))), Dtype(i));
  EXPECT_EQ(parseDtype("f32"), std::nullopt);
  EXPECT_EQ(parseDtype(""), std::nullopt);
  EXPECT_EQ(dtypeBits(Dtype::F6_E2M3), 6u);
  EXPECT_EQ(dtypeBytes(Dtype::F4), 0u);
  EXPECT_EQ(dtypeBytes(Dtype::C64), 8u);
}

TEST(DtypeTest, FiniteIsWhatIsNeitherNanNorInfinite) {
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    const auto narrow = uint16_t(bits);
    for (Dtype dtype : {Dtype::F16, Dtype::BF16})
      ASSERT_EQ(areFinite(dtype, &narrow, sizeof(narrow)),
                std::isfinite(loadAsDouble(dtype, &narrow, 0)))
          << bits;
    EXPECT_TRUE(areFinite(Dtype::U16, &narrow, sizeof(narrow)));
  }
  float floats[] = {0, -1, 3e38f, 1e-45f};
  double doubles[] = {0, -1, 1e308, 5e-324};
  EXPECT_TRUE(areFinite(Dtype::F32, floats, sizeof(floats)));
  EXPECT_TRUE(areFinite(Dtype::F64, doubles, sizeof(doubles)));
  for (double other : {double(INFINITY), double(-INFINITY), double(NAN)})
    for (int i = 0; i < 4; ++i) {
      const float oldFloat = std::exchange(floats[i], float(other));
      const double oldDouble = std::exchange(doubles[i], other);
      EXPECT_FALSE(areFinite(Dtype::F32, floats, sizeof(floats)));
      EXPECT_FALSE(areFinite(Dtype::F64, doubles, sizeof(doubles)));
      floats[i] = oldFloat;
      doubles[i] = oldDouble;
    }
}

TEST(DtypeTest, HalfMatchesItsDefinitionOnAllInputs) {
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    int exponent = bits >> 10 & 31;
    double fraction = bits & 1023;
    double truth = exponent == 0 ? std::ldexp(fraction, -24)
                                 : std::ldexp(1024 + fraction, exponent - 25);
    if (exponent == 31)
      truth = fraction == 0 ? INFINITY : NAN;
    if (bits & 0x8000)
      truth = -truth;
    float value = halfToFloat(uint16_t(bits));
    if (std::isnan(truth))
      EXPECT_TRUE(std::isnan(value)) << bits;
    else
      EXPECT_EQ(value, truth) << bits;
    EXPECT_EQ(std::signbit(value), (bits & 0x8000) != 0) << bits;
  }
}

TEST(DtypeTest, Bfloat16RoundTripsOnAllInputs) {
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    float value = bfloat16ToFloat(uint16_t(bits));
    uint16_t back = floatToBfloat16(value);
    if (std::isnan(value))
      EXPECT_EQ(back, bits | 0x40);
    else
      EXPECT_EQ(back, bits);
  }
}

TEST(DtypeTest, Bfloat16RoundsToNearestEven) {
  EXPECT_EQ(floatToBfloat16(0x1.01p0f), 0x3f80);       // tie, stays even
  EXPECT_EQ(floatToBfloat16(0x1.03p0f), 0x3f82);       // tie, goes to even
  EXPECT_EQ(floatToBfloat16(0x1.010002p0f), 0x3f81);   // above the tie
  EXPECT_EQ(floatToBfloat16(0x1.00fffep0f), 0x3f80);   // below the tie
  EXPECT_EQ(floatToBfloat16(0x1.fffffep127f), 0x7f80); // overflows
}

TEST(DtypeTest, ConvertsFromMisalignedBytes) {
  char bytes[1 + 4 * 3];
  const float values[3] = {1.5f, -2, 3e-30f};
  std::memcpy(bytes + 1, values, sizeof values);
  double wide[3];
  convertElements(Dtype::F32, bytes + 1, Dtype::F64, wide, 3);
  EXPECT_EQ(wide[2], double(3e-30f));
  float same[3];
  convertElements(Dtype::F32, bytes + 1, Dtype::F32, same, 3);
  EXPECT_EQ(same[1], -2);
  const double narrow[2] = {0.1, -1e-50};
  float rounded[2];
  convertElements(Dtype::F64, narrow, Dtype::F32, rounded, 2);
  EXPECT_EQ(rounded[0], 0.1f);
  EXPECT_EQ(rounded[1], 0);
  uint16_t halved[2];
  convertElements(Dtype::F64, narrow, Dtype::BF16, halved, 2);
  EXPECT_EQ(halved[0], floatToBfloat16(0.1f));
  convertElements(Dtype::F64, nullptr, Dtype::F32, nullptr, 0);
}
