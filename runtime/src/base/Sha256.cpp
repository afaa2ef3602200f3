//===- Sha256.cpp - Streaming SHA-256 (FIPS 180-4) ------------------------===//
//
// Plain scalar code; section numbers are those of FIPS 180-4.
//
//===----------------------------------------------------------------------===//

#include "base/Sha256.h"

#include <algorithm>
#include <cstring>

namespace hone::rt {

// 4.2.2
static constexpr uint32_t K[64] = {
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

void Sha256::block(const uint8_t *bytes) {
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
  auto [a, b, c, d, e, f, g, h] = state;
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

void Sha256::update(const void *bytes, uint64_t size) {
  if (size == 0)
    return;
  const uint8_t *from = static_cast<const uint8_t *>(bytes);
  uint64_t held = length % 64;
  length += size;
  if (held > 0) {
    uint64_t n = std::min<uint64_t>(size, 64 - held);
    std::memcpy(pending.data() + held, from, n);
    from += n;
    size -= n;
    if (held + n < 64)
      return;
    block(pending.data());
  }
  for (; size >= 64; from += 64, size -= 64)
    block(from);
  if (size > 0)
    std::memcpy(pending.data(), from, size);
}

Sha256::Digest Sha256::finish() {
  // 5.1.1: a one bit, zeros, and the length in bits as a big-endian word.
  uint64_t bits = length * 8;
  uint8_t tail[72] = {0x80};
  uint64_t zeros = (119 - length % 64) % 64; // up to 8 bytes before a block end
  for (int i = 0; i < 8; ++i)
    tail[1 + zeros + i] = uint8_t(bits >> (56 - 8 * i));
  update(tail, 1 + zeros + 8);
  Digest digest;
  for (int i = 0; i < 32; ++i)
    digest[i] = uint8_t(state[i / 4] >> (24 - 8 * (i % 4)));
  *this = Sha256();
  return digest;
}

std::string Sha256::finishHex() {
  static const char digits[] = "0123456789abcdef";
  std::string text;
  text.reserve(64);
  for (uint8_t byte : finish()) {
    text += digits[byte >> 4];
    text += digits[byte & 15];
  }
  return text;
}

std::string Sha256::hex(std::string_view text) {
  Sha256 hash;
  hash.update(text);
  return hash.finishHex();
}

} // namespace hone::rt
