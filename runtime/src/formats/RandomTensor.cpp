//===- RandomTensor.cpp - Random elements of a named tensor ---------------===//

#include "formats/RandomTensor.h"

#include "base/Philox.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace hone::rt {

void fillRandom(uint64_t seed, std::string_view name, Distribution distribution,
                uint64_t first, uint64_t count, Dtype dtype, char *out) {
  const uint64_t stream = hashName(name);
  const unsigned bytes = dtypeBytes(dtype);
  const uint64_t inBlock = dtype == Dtype::U8 ? 16 : 4;
  for (uint64_t i = 0; i < count; i += inBlock) {
    const uint64_t block = (first + i) / inBlock;
    const std::array<uint32_t, 4> bits =
        philox4x32({uint32_t(block), uint32_t(block >> 32), uint32_t(stream),
                    uint32_t(stream >> 32)},
                   {uint32_t(seed), uint32_t(seed >> 32)});
    const uint64_t here = std::min(inBlock, count - i);
    if (dtype == Dtype::U8) {
      memcpy(out + i, bits.data(), here);
      continue;
    }
    for (uint64_t j = 0; j < here; ++j) {
      const float unit = float(bits[j] >> 8) * 0x1p-23f - 1.0f;
      const float value = distribution.center + distribution.width * unit;
      const uint16_t half = floatToBfloat16(value);
      const double wide = value;
      const void *from = &value;
      if (dtype == Dtype::BF16)
        from = &half;
      else if (dtype == Dtype::F64)
        from = &wide;
      memcpy(out + (i + j) * bytes, from, bytes);
    }
  }
}

} // namespace hone::rt
