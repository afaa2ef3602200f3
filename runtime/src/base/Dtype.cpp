//===- Dtype.cpp - Element types of safetensors files ---------------------===//
//
// The table is indexed by Dtype and must stay in the order of the enum.
//
//===----------------------------------------------------------------------===//

#include "base/Dtype.h"

#include <cmath>
#include <cstring>

namespace hone::rt {

namespace {
struct DtypeRow {
  const char *name;
  unsigned bits;
};
} // namespace

static constexpr DtypeRow rows[] = {
    {"BOOL", 8},    {"F4", 4},          {"F6_E2M3", 6},     {"F6_E3M2", 6},
    {"U8", 8},      {"I8", 8},          {"F8_E5M2", 8},     {"F8_E4M3", 8},
    {"F8_E8M0", 8}, {"F8_E4M3FNUZ", 8}, {"F8_E5M2FNUZ", 8}, {"I16", 16},
    {"U16", 16},    {"F16", 16},        {"BF16", 16},       {"I32", 32},
    {"U32", 32},    {"F32", 32},        {"C64", 64},        {"F64", 64},
    {"I64", 64},    {"U64", 64},
};
static constexpr unsigned rowCount = sizeof(rows) / sizeof(rows[0]);
static_assert(rowCount == unsigned(Dtype::U64) + 1, "one row for each type");

const char *dtypeName(Dtype dtype) { return rows[unsigned(dtype)].name; }

unsigned dtypeBits(Dtype dtype) { return rows[unsigned(dtype)].bits; }

std::optional<Dtype> parseDtype(std::string_view name) {
  for (unsigned i = 0; i < rowCount; ++i)
    if (name == rows[i].name)
      return Dtype(i);
  return std::nullopt;
}

static float floatFromBits(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

float halfToFloat(uint16_t bits) {
  uint32_t sign = uint32_t(bits & 0x8000) << 16;
  uint32_t exponent = bits >> 10 & 31;
  uint32_t fraction = bits & 0x3ff;
  if (exponent == 31)
    return floatFromBits(sign | 0x7f800000 | fraction << 13);
  if (exponent != 0)
    return floatFromBits(sign | (exponent + 112) << 23 | fraction << 13);
  // Subnormal: fraction * 2^-24, exact in binary32.
  float magnitude = float(fraction) * 0x1p-24f;
  return sign ? -magnitude : magnitude;
}

float bfloat16ToFloat(uint16_t bits) {
  return floatFromBits(uint32_t(bits) << 16);
}

uint16_t floatToBfloat16(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  if ((bits & 0x7fffffff) > 0x7f800000)
    return uint16_t(bits >> 16 | 0x40);
  // Half of the dropped unit, less one unless the kept part is odd.
  return uint16_t((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

bool isConvertible(Dtype dtype) {
  return dtype == Dtype::F64 || dtype == Dtype::F32 || dtype == Dtype::BF16 ||
         dtype == Dtype::F16;
}

template <typename T> static T loadUnaligned(const void *data, uint64_t index) {
  T value;
  std::memcpy(&value, static_cast<const char *>(data) + index * sizeof(T),
              sizeof(T));
  return value;
}

double loadAsDouble(Dtype dtype, const void *data, uint64_t index) {
  switch (dtype) {
  case Dtype::F64:
    return loadUnaligned<double>(data, index);
  case Dtype::F32:
    return loadUnaligned<float>(data, index);
  case Dtype::BF16:
    return bfloat16ToFloat(loadUnaligned<uint16_t>(data, index));
  case Dtype::F16:
    return halfToFloat(loadUnaligned<uint16_t>(data, index));
  default:
    return std::nan(""); // callers check isConvertible
  }
}

/// One loop for each pair of types, so that it becomes vector instructions.
template <typename Stored, typename Decode>
static void convertFrom(const void *from, Dtype toType, void *to,
                        uint64_t count, Decode decode) {
  auto each = [&](auto *out, auto encode) {
    for (uint64_t i = 0; i < count; ++i)
      out[i] = encode(decode(loadUnaligned<Stored>(from, i)));
  };
  if (toType == Dtype::F64)
    each(static_cast<double *>(to), [](double x) { return x; });
  else if (toType == Dtype::BF16)
    each(static_cast<uint16_t *>(to),
         [](double x) { return floatToBfloat16(float(x)); });
  else
    each(static_cast<float *>(to), [](double x) { return float(x); });
}

/// By the bits of the exponent, which are all set unless the number is finite.
template <typename Bits>
static bool lackExponent(const void *data, uint64_t bytes, Bits exponent) {
  bool lacks = true;
  for (uint64_t at = 0; at + sizeof(Bits) <= bytes; at += sizeof(Bits)) {
    Bits element;
    std::memcpy(&element, static_cast<const char *>(data) + at, sizeof(Bits));
    lacks &= (element & exponent) != exponent;
  }
  return lacks;
}

bool areFinite(Dtype dtype, const void *data, uint64_t bytes) {
  switch (dtype) {
  case Dtype::F64:
    return lackExponent<uint64_t>(data, bytes, uint64_t(0x7FF) << 52);
  case Dtype::F32:
    return lackExponent<uint32_t>(data, bytes, 0x7F800000);
  case Dtype::BF16:
    return lackExponent<uint16_t>(data, bytes, 0x7F80);
  case Dtype::F16:
    return lackExponent<uint16_t>(data, bytes, 0x7C00);
  default:
    return true;
  }
}

void convertElements(Dtype fromType, const void *from, Dtype toType, void *to,
                     uint64_t count) {
  if (count == 0)
    return;
  if (fromType == toType) {
    std::memcpy(to, from, count * dtypeBytes(toType));
    return;
  }
  switch (fromType) {
  case Dtype::F64:
    return convertFrom<double>(from, toType, to, count,
                               [](double x) { return x; });
  case Dtype::F32:
    return convertFrom<float>(from, toType, to, count,
                              [](float x) { return x; });
  case Dtype::BF16:
    return convertFrom<uint16_t>(from, toType, to, count, bfloat16ToFloat);
  case Dtype::F16:
    return convertFrom<uint16_t>(from, toType, to, count, halfToFloat);
  default:
    break; // callers check isConvertible
  }
}

} // namespace hone::rt
