//===- Sha256.cpp - Streaming SHA-256 (FIPS 180-4) ------------------------===//
//
// Padding and partial blocks; the arithmetic is in Sha256Blocks.cpp. Section
// numbers are those of FIPS 180-4.
//
//===----------------------------------------------------------------------===//

#include "base/Sha256.h"

#include <algorithm>
#include <cstring>

namespace hone::rt {

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
    blocks(state.data(), pending.data(), 1, code);
  }
  blocks(state.data(), from, size / 64, code);
  if (size % 64 > 0)
    std::memcpy(pending.data(), from + size / 64 * 64, size % 64);
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
  *this = Sha256(code);
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
