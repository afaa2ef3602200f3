//===- PortableMathTest.cpp - Errors, exact places, frozen bits -----------===//
//
// Errors are against the C library in long double. The values below "bits" are
// frozen: a change here changes the bits of every run that uses them.
//
//===----------------------------------------------------------------------===//

#include "base/PortableMath.h"
#include "../reference/ScalarFormulas.h"
#include "base/Philox.h"

#include <cmath>
#include <gtest/gtest.h>
#include <vector>

using namespace hone;
using namespace hone::rt;

/// The distance of `got` from `truth` in units of the last place of `truth`.
static double ulpsBetween(double got, long double truth) {
  double size = std::fabs(static_cast<double>(truth));
  return static_cast<double>(std::fabs(got - truth)) /
         (std::nextafter(size, INFINITY) - size);
}

TEST(PortableMathTest, LogIsWithinTwoUlp) {
  std::vector<double> points = {1,
                                2,
                                0.5,
                                3,
                                10,
                                1e-300,
                                1e300,
                                0x1p-53,
                                0.70710678118654746,
                                0.70710678118654757,
                                1.4142135623730949,
                                1.4142135623730951};
  RandomStream stream(1, 0, RandomPurpose::Test, "log");
  for (int i = 0; i < 20000; ++i) {
    points.push_back(stream.uniform(i) + 0x1p-54);
    points.push_back(1 + (stream.uniform(i) - 0.5) * 0x1p-10);
  }
  for (double x : points)
    EXPECT_LE(
        ulpsBetween(portableLog(x), std::log(static_cast<long double>(x))), 2)
        << x;
}

TEST(PortableMathTest, ExpIsWithinTwoUlp) {
  RandomStream stream(1, 0, RandomPurpose::Test, "exp");
  for (int i = 0; i < 200000; ++i) {
    double x =
        (i % 3 ? -1 : 1) * stream.uniform(i) * std::ldexp(1, i % 20 - 11);
    if (x < -708 || x > 709)
      continue;
    EXPECT_LE(
        ulpsBetween(portableExp(x), std::exp(static_cast<long double>(x))), 2)
        << x;
  }
  EXPECT_EQ(portableExp(0), 1.0);
  EXPECT_EQ(portableExp(-709), 0.0);
  EXPECT_EQ(portableExp(-INFINITY), 0.0);
  EXPECT_TRUE(std::isfinite(portableExp(709)));
  EXPECT_EQ(portableExp(710), INFINITY);
  EXPECT_EQ(portableExp(INFINITY), INFINITY);
  EXPECT_TRUE(std::isnan(portableExp(NAN)));
}

TEST(PortableMathTest, CosPiIsWithinTwoUlp) {
  const long double pi = 3.14159265358979323846264338327950288L;
  RandomStream stream(1, 0, RandomPurpose::Test, "cos");
  for (int i = 0; i < 200000; ++i) {
    // Near a zero of the cosine too, where cosl of a rounded product is not
    // the truth but sinl of the distance is.
    double y = i % 2 ? 3 * stream.uniform(i)
                     : 0.5 + (stream.uniform(i) - 0.5) * std::ldexp(1, -i % 40);
    long double zero = y < 1 ? 0.5L : y < 2 ? 1.5L : 2.5L;
    long double sine = std::sin(pi * (zero - y));
    EXPECT_LE(ulpsBetween(reference::cosPi(y), zero == 1.5L ? -sine : sine), 2)
        << y;
    EXPECT_EQ(reference::cosPi(-y), reference::cosPi(y));
  }
}

TEST(PortableMathTest, CosPiIsExactWhereTheCosineIs) {
  for (double turn : {0.0, 2.0, 1024.0, 0x1p51}) {
    EXPECT_EQ(reference::cosPi(turn), 1.0);
    EXPECT_EQ(reference::cosPi(turn + 0.5), 0.0);
    EXPECT_EQ(reference::cosPi(turn + 1.0), -1.0);
    EXPECT_EQ(reference::cosPi(turn + 1.5), 0.0);
  }
}

TEST(PortableMathTest, PowerIsNearTheTruth) {
  EXPECT_EQ(reference::power(0.9, 0), 1.0);
  EXPECT_EQ(reference::power(0.0, 0), 1.0);
  EXPECT_EQ(reference::power(0.0, 5), 0.0);
  EXPECT_EQ(reference::power(-2.0, 63), -0x1p63);
  EXPECT_EQ(reference::power(0.5, uint64_t(1) << 40), 0.0);
  for (double base : {0.9, 0.95, 0.999, 1.001})
    for (uint64_t exponent : {1, 2, 3, 7, 10, 100, 4095, 4096})
      EXPECT_LE(ulpsBetween(reference::power(base, exponent),
                            std::pow(static_cast<long double>(base),
                                     static_cast<long double>(exponent))),
                static_cast<double>(exponent))
          << base << " " << exponent;
}

TEST(PortableMathTest, BitsAreFrozen) {
  EXPECT_EQ(portableLog(3.0), 0x1.193ea7aad030ap+0);
  EXPECT_EQ(reference::cosPi(0.1), 0x1.e6f0e134454ffp-1);
  EXPECT_EQ(reference::cosPi(0.3), 0x1.2cf2304755a5ep-1);
  EXPECT_EQ(reference::cosPi(0.8), -0x1.9e3779b97f4a8p-1);
  EXPECT_EQ(reference::power(0.999, 1000), 0x1.788526411edacp-2);
}
