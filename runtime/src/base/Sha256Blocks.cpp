//===- Sha256Blocks.cpp - SHA-256 of whole blocks -------------------------===//
//
// Plain scalar code, and the same with the processor's own instructions where
// it has them: four to eight times as fast, so that a run can verify a gigabyte
// of weights when it starts. Section numbers are those of FIPS 180-4.
//
//===----------------------------------------------------------------------===//

#include "base/Sha256.h"

#include "platform/System.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

namespace hone::rt {

using Blocks = void (*)(uint32_t *state, const uint8_t *bytes, uint64_t count);

// 4.2.2
alignas(16) static constexpr uint32_t K[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1,
    0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3,
    0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786,
    0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147,
    0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13,
    0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b,
    0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a,
    0x5b9cca4f, 0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208,
    0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static uint32_t rotateRight(uint32_t x, int n) {
  return x >> n | x << (32 - n);
}

static void plainBlock(uint32_t *state, const uint8_t *bytes) {
  uint32_t w[64];
  for (int t = 0; t < 16; ++t)
    w[t] = uint32_t(bytes[4 * t]) << 24 | uint32_t(bytes[4 * t + 1]) << 16 |
           uint32_t(bytes[4 * t + 2]) << 8 | uint32_t(bytes[4 * t + 3]);
  for (int t = 16; t < 64; ++t) {
    uint32_t x = w[t - 15], y = w[t - 2];
    uint32_t sigma0 = rotateRight(x, 7) ^ rotateRight(x, 18) ^ x >> 3;
    uint32_t sigma1 = rotateRight(y, 17) ^ rotateRight(y, 19) ^ y >> 10;
    w[t] = sigma1 + w[t - 7] + sigma0 + w[t - 16];
  }
  uint32_t a = state[0], b = state[1], c = state[2], d = state[3];
  uint32_t e = state[4], f = state[5], g = state[6], h = state[7];
  for (int t = 0; t < 64; ++t) {
    uint32_t sum1 = rotateRight(e, 6) ^ rotateRight(e, 11) ^ rotateRight(e, 25);
    uint32_t t1 = h + sum1 + ((e & f) ^ (~e & g)) + K[t] + w[t];
    uint32_t sum0 = rotateRight(a, 2) ^ rotateRight(a, 13) ^ rotateRight(a, 22);
    uint32_t t2 = sum0 + ((a & b) ^ (a & c) ^ (b & c));
    h = g, g = f, f = e, e = d + t1, d = c, c = b, b = a, a = t1 + t2;
  }
  const uint32_t worked[8] = {a, b, c, d, e, f, g, h};
  for (int i = 0; i < 8; ++i)
    state[i] += worked[i];
}

static void plainBlocks(uint32_t *state, const uint8_t *bytes, uint64_t count) {
  for (; count > 0; --count, bytes += 64)
    plainBlock(state, bytes);
}

#if defined(__x86_64__)

/// The SHA extensions hold the state as (a, b, e, f) and (c, d, g, h), highest
/// element first.
__attribute__((target("sha,sse4.1"))) static void
instructionBlocks(uint32_t *state, const uint8_t *bytes, uint64_t count) {
  auto load = [](const void *from) {
    return _mm_loadu_si128(static_cast<const __m128i *>(from));
  };
  auto store = [](void *to, __m128i value) {
    _mm_storeu_si128(static_cast<__m128i *>(to), value);
  };
  const __m128i bigEndian =
      _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
  __m128i cdab = _mm_shuffle_epi32(load(state), 0xB1);
  __m128i efgh = _mm_shuffle_epi32(load(state + 4), 0x1B);
  __m128i abef = _mm_alignr_epi8(cdab, efgh, 8);
  __m128i cdgh = _mm_blend_epi16(efgh, cdab, 0xF0);
  for (; count > 0; --count, bytes += 64) {
    const __m128i abefBefore = abef, cdghBefore = cdgh;
    __m128i w[4];
    for (int i = 0; i < 4; ++i)
      w[i] = _mm_shuffle_epi8(load(bytes + 16 * i), bigEndian);
    for (int i = 0; i < 16; ++i) { // four rounds each
      __m128i &now = w[i % 4];
      const __m128i last = w[(i + 3) % 4];
      const __m128i added = _mm_add_epi32(now, load(K + 4 * i));
      cdgh = _mm_sha256rnds2_epu32(cdgh, abef, added);
      abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32(added, 0x0E));
      const __m128i middle = _mm_alignr_epi8(last, w[(i + 2) % 4], 4);
      now = _mm_sha256msg1_epu32(now, w[(i + 1) % 4]);
      now = _mm_sha256msg2_epu32(_mm_add_epi32(now, middle), last);
    }
    abef = _mm_add_epi32(abef, abefBefore);
    cdgh = _mm_add_epi32(cdgh, cdghBefore);
  }
  const __m128i feba = _mm_shuffle_epi32(abef, 0x1B);
  const __m128i dchg = _mm_shuffle_epi32(cdgh, 0xB1);
  store(state, _mm_blend_epi16(feba, dchg, 0xF0));
  store(state + 4, _mm_alignr_epi8(dchg, feba, 8));
}

static bool hasInstructions() {
  unsigned eax, ebx, ecx, edx;
  constexpr unsigned ssse3AndSse41 = 1u << 9 | 1u << 19;
  if (!__get_cpuid(1, &eax, &ebx, &ecx, &edx) ||
      (ecx & ssse3AndSse41) != ssse3AndSse41)
    return false;
  return __get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) && (ebx >> 29 & 1);
}

#elif defined(__aarch64__)

__attribute__((target("sha2"))) static void
instructionBlocks(uint32_t *state, const uint8_t *bytes, uint64_t count) {
  uint32x4_t abcd = vld1q_u32(state), efgh = vld1q_u32(state + 4);
  for (; count > 0; --count, bytes += 64) {
    const uint32x4_t abcdBefore = abcd, efghBefore = efgh;
    uint32x4_t w[4];
    for (int i = 0; i < 4; ++i)
      w[i] = vreinterpretq_u32_u8(vrev32q_u8(vld1q_u8(bytes + 16 * i)));
    for (int i = 0; i < 16; ++i) { // four rounds each
      uint32x4_t &now = w[i % 4];
      const uint32x4_t added = vaddq_u32(now, vld1q_u32(K + 4 * i));
      const uint32x4_t abcdNow = abcd;
      abcd = vsha256hq_u32(abcd, efgh, added);
      efgh = vsha256h2q_u32(efgh, abcdNow, added);
      now = vsha256su1q_u32(vsha256su0q_u32(now, w[(i + 1) % 4]),
                            w[(i + 2) % 4], w[(i + 3) % 4]);
    }
    abcd = vaddq_u32(abcd, abcdBefore);
    efgh = vaddq_u32(efgh, efghBefore);
  }
  vst1q_u32(state, abcd);
  vst1q_u32(state + 4, efgh);
}

static bool hasInstructions() {
  return platform::hasArmFeature("sha2").value_or(false);
}

#else

static constexpr Blocks instructionBlocks = plainBlocks;
static bool hasInstructions() { return false; }

#endif

void Sha256::blocks(uint32_t *state, const uint8_t *bytes, uint64_t count,
                    Code code) {
  static const bool instructions = hasInstructions();
  const Blocks run =
      instructions && code == Code::Fastest ? instructionBlocks : plainBlocks;
  run(state, bytes, count);
}

} // namespace hone::rt
