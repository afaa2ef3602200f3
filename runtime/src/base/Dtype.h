//===- Dtype.h - Element types of safetensors files -----------------------===//
//
// All the names the format knows, so that a file can be checked in full, and
// scalar conversions for the few types that training reads. Some types are
// narrower than a byte: sizes are in bits.
//
//===----------------------------------------------------------------------===//

#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace hone::rt {

/// In ascending alignment, the order in which safetensors sorts them.
enum class Dtype : uint8_t {
  BOOL,
  F4,
  F6_E2M3,
  F6_E3M2,
  U8,
  I8,
  F8_E5M2,
  F8_E4M3,
  F8_E8M0,
  F8_E4M3FNUZ,
  F8_E5M2FNUZ,
  I16,
  U16,
  F16,
  BF16,
  I32,
  U32,
  F32,
  C64,
  F64,
  I64,
  U64,
};

/// The name in the file, "F32".
const char *dtypeName(Dtype dtype);

/// Exact, case-sensitive; nullopt for a name the format does not have.
std::optional<Dtype> parseDtype(std::string_view name);

/// Width of one element: 4, 6, 8, 16, 32 or 64.
unsigned dtypeBits(Dtype dtype);

/// Bytes of one element; 0 for the types narrower than a byte.
inline unsigned dtypeBytes(Dtype dtype) { return dtypeBits(dtype) / 8; }

/// IEEE binary16, exact, subnormals and NaN payloads included.
float halfToFloat(uint16_t bits);

/// bfloat16, exact.
float bfloat16ToFloat(uint16_t bits);

/// Round to nearest, ties to even; NaN stays NaN (made quiet).
uint16_t floatToBfloat16(float value);

/// True for F64, F32, BF16 and F16: the types that loadAsDouble and
/// convertElements read.
bool isConvertible(Dtype dtype);

/// Element `index` of an array of a convertible type. `data` may be
/// misaligned: safetensors does not promise alignment.
double loadAsDouble(Dtype dtype, const void *data, uint64_t index);

/// Whether no element in `bytes` of an array is NaN or infinite. All are finite
/// of a type that is not convertible. `data` may be misaligned.
bool areFinite(Dtype dtype, const void *data, uint64_t bytes);

/// Copies `count` elements of a convertible type to F32 or F64. Narrowing
/// F64 to F32 rounds to nearest even. `from` may be misaligned; the ranges
/// must not overlap.
void convertElements(Dtype fromType, const void *from, Dtype toType, void *to,
                     uint64_t count);

} // namespace hone::rt
