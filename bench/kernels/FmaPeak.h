//===- FmaPeak.h - The rate that no kernel can exceed ---------------------===//
//
// A loop of fused multiply-adds in registers. Measure it again beside every
// repetition: on a shared machine its rate changes from second to second.
//
//===----------------------------------------------------------------------===//

#pragma once

#include <chrono>

#if defined(__AVX512BF16__)
#include <immintrin.h>
#endif

namespace hone {

#if defined(__AVX512F__)
inline constexpr int vectorBytes = 64;
#elif defined(__AVX__)
inline constexpr int vectorBytes = 32;
#else
inline constexpr int vectorBytes = 16;
#endif

/// Of a clock that only goes forward.
inline double seconds() {
  return std::chrono::duration<double>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

/// Runs `rounds` rounds of independent multiply-add chains on the calling
/// thread and returns the floating-point operations done.
inline double runMultiplyAdds(int rounds) {
  typedef float Vector __attribute__((vector_size(vectorBytes)));
  constexpr int chains = 12; // two units of four cycles need eight
  Vector sums[chains] = {};
  Vector x = {1.0f}, y = {1e-9f};
  asm volatile("" : "+x"(x), "+x"(y));
  for (int i = 0; i < rounds; ++i)
#pragma clang loop unroll(full)
    for (int c = 0; c < chains; ++c) {
      sums[c] = x * y + sums[c];
      asm volatile("" : "+x"(sums[c]));
    }
  return 2.0 * rounds * chains * (vectorBytes / sizeof(float));
}

/// The same of dot products of two bfloat16 numbers each, or where no
/// instruction has them, of multiply-adds.
inline double runPairProducts(int rounds) {
#if defined(__AVX512BF16__)
  constexpr int chains = 12;
  __m512 sums[chains] = {};
  __m512bh x = {}, y = {};
  asm volatile("" : "+x"(x), "+x"(y));
  for (int i = 0; i < rounds; ++i)
#pragma clang loop unroll(full)
    for (int c = 0; c < chains; ++c) {
      sums[c] = _mm512_dpbf16_ps(sums[c], x, y);
      asm volatile("" : "+x"(sums[c]));
    }
  return 4.0 * rounds * chains * 16;
#else
  return runMultiplyAdds(rounds);
#endif
}

} // namespace hone
