//===- MemoryRead.h - Reading memory as fast as one core does -------------===//
//
// In order and with as many loads in flight as there are registers. A product
// with one row does little else, and can be measured against it.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "bench/kernels/FmaPeak.h"

#include <cstddef>

namespace hone {

/// Reads whole vectors of `count` bytes from `memory` on.
inline void readMemory(const char *memory, size_t count) {
  typedef char Vector __attribute__((vector_size(vectorBytes), aligned(1)));
  constexpr int loads = 8;
  Vector sum[loads] = {};
  for (size_t at = 0; at + sizeof(sum) <= count; at += sizeof(sum))
#pragma clang loop unroll(full)
    for (int i = 0; i < loads; ++i)
      sum[i] ^=
          *reinterpret_cast<const Vector *>(memory + at + i * sizeof(Vector));
  for (int i = 1; i < loads; ++i)
    sum[0] ^= sum[i];
  asm volatile("" : : "m"(sum[0]));
}

} // namespace hone
