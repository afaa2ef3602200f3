//===- RoundedStore.cpp - Doubles as elements of a file -------------------===//
//
// A double is first rounded to odd with more bits than the result has: an
// inexact one ends in a one, which is no tie. The second rounding then is
// right.
//
//===----------------------------------------------------------------------===//

#include "compiler/hone-adapter/RoundedStore.h"

#include <cmath>
#include <cstring>

using namespace hone;

static float roundToOdd(double value) {
  float nearest = static_cast<float>(value);
  if (double(nearest) == value || std::isnan(value))
    return nearest;
  float truncated = std::fabs(double(nearest)) > std::fabs(value)
                        ? std::nextafterf(nearest, 0.0f)
                        : nearest;
  uint32_t bits;
  std::memcpy(&bits, &truncated, sizeof bits);
  bits |= 1;
  std::memcpy(&truncated, &bits, sizeof bits);
  return truncated;
}

uint16_t hone::doubleToBfloat16(double value) {
  return rt::floatToBfloat16(roundToOdd(value));
}

uint16_t hone::doubleToHalf(double value) {
  uint64_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  const uint16_t sign = static_cast<uint16_t>(bits >> 48 & 0x8000);
  if (std::isnan(value))
    return sign | 0x7e00;
  const double magnitude = std::fabs(value);
  if (magnitude >= 65520.0) // the tie between the largest half and 2^16
    return sign | 0x7c00;
  // The distance between neighbours; below 2^-14 they are subnormal.
  const int exponent = magnitude < 0x1p-14 ? -14 : std::ilogb(magnitude);
  // nearbyint: to even. Scaling by a power of two is exact.
  const double steps =
      std::nearbyint(std::ldexp(magnitude, 10 - exponent)); // to 2048
  return sign | static_cast<uint16_t>((exponent + 14) * 1024 +
                                      static_cast<int>(steps));
}

void hone::storeRounded(const double *values, uint64_t count, rt::Dtype dtype,
                        char *to) {
  auto store = [&](auto convert) {
    for (uint64_t i = 0; i < count; ++i) {
      auto element = convert(values[i]);
      std::memcpy(to + i * sizeof element, &element, sizeof element);
    }
  };
  switch (dtype) {
  case rt::Dtype::F64:
    return store([](double x) { return x; });
  case rt::Dtype::F32:
    return store([](double x) { return static_cast<float>(x); });
  case rt::Dtype::BF16:
    return store(doubleToBfloat16);
  default:
    return store(doubleToHalf);
  }
}
