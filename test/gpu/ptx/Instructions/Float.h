//===- Float.h - Numbers as a device has them -----------------------------===//

#pragma once

#include <cstdint>
#include <cstring>

namespace hone::ptx {

template <typename To, typename From> inline To bitsAs(From from) {
  static_assert(sizeof(To) == sizeof(From), "");
  To to;
  memcpy(&to, &from, sizeof to);
  return to;
}

/// The NaN of arithmetic: f32 has one, and f64 keeps its own. By integers: a
/// compiler may give a NaN any bits.
inline float canonical(float value) {
  const uint32_t bits = bitsAs<uint32_t>(value);
  return bitsAs<float>((bits & 0x7fffffff) > 0x7f800000 ? 0x7fffffff : bits);
}
inline double canonical(double value) { return value; }

inline float fromBFloat16(uint16_t bits) {
  return bitsAs<float>(uint32_t(bits) << 16);
}
/// To nearest, ties to even.
inline uint16_t toBFloat16(float value) {
  const uint32_t bits = bitsAs<uint32_t>(value);
  if (value != value)
    return 0x7fff;
  return uint16_t((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

} // namespace hone::ptx
