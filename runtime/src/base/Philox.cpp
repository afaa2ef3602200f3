//===- Philox.cpp - Random numbers without hidden state -------------------===//
//
// Every floating-point result here is specified to the bit; the runtime is
// compiled without contraction of a * b + c.
//
//===----------------------------------------------------------------------===//

#include "base/Philox.h"

#include "base/NormalQuantile.h"
#include "base/PortableMath.h"

#include <cmath>

namespace hone::rt {

static uint32_t low(uint64_t x) { return static_cast<uint32_t>(x); }
static uint32_t high(uint64_t x) { return static_cast<uint32_t>(x >> 32); }

std::array<uint32_t, 4> philox4x32(std::array<uint32_t, 4> counter,
                                   std::array<uint32_t, 2> key) {
  auto [c0, c1, c2, c3] = counter;
  auto [k0, k1] = key;
  for (int round = 0; round < 10; ++round) {
    uint64_t p0 = uint64_t(0xD2511F53) * c0;
    uint64_t p1 = uint64_t(0xCD9E8D57) * c2;
    c0 = high(p1) ^ c1 ^ k0;
    c1 = low(p1);
    c2 = high(p0) ^ c3 ^ k1;
    c3 = low(p0);
    k0 += 0x9E3779B9; // golden ratio
    k1 += 0xBB67AE85; // sqrt(3) - 1
  }
  return {c0, c1, c2, c3};
}

static constexpr uint64_t FnvBasis = 0xcbf29ce484222325;

static uint64_t fnv1a(uint64_t hash, std::string_view bytes) {
  for (char c : bytes)
    hash = (hash ^ static_cast<uint8_t>(c)) * 0x100000001b3;
  return hash;
}

uint64_t hashName(std::string_view name) { return fnv1a(FnvBasis, name); }

uint64_t hashStream(RandomPurpose purpose, std::string_view name) {
  uint32_t p = static_cast<uint32_t>(purpose);
  const char prefix[4] = {char(p), char(p >> 8), char(p >> 16), char(p >> 24)};
  return fnv1a(fnv1a(FnvBasis, {prefix, 4}), name);
}

RandomStream::Key RandomStream::keyOf(uint64_t seed, uint64_t step,
                                      uint64_t probe) {
  uint64_t place = step | probe << (32 + probeShift);
  return {low(seed), high(seed), low(place), high(place)};
}

RandomStream::RandomStream(uint64_t seed, uint64_t step, RandomPurpose purpose,
                           std::string_view name, uint32_t probe)
    : seed(seed) {
  uint64_t hash = hashStream(purpose, name);
  uint32_t upper = high(step) | probe << probeShift;
  auto words = philox4x32({low(step), upper, low(hash), high(hash)},
                          {low(~seed), high(~seed)});
  stream = words[0] | uint64_t(words[1]) << 32;
}

std::array<uint32_t, 4> RandomStream::block(uint64_t index) const {
  return philox4x32({low(index), high(index), low(stream), high(stream)},
                    {low(seed), high(seed)});
}

uint64_t RandomStream::bits(uint64_t index) const {
  auto words = block(index);
  return uint64_t(words[0]) << 32 | words[1];
}

uint32_t RandomStream::word(uint64_t row, uint64_t column,
                            uint64_t columns) const {
  uint64_t groups = (columns + 63) / 64, group = row * groups + column / 64;
  return block(group * 16 + column % 16)[column / 16 % 4];
}

double RandomStream::uniform(uint64_t index) const {
  return static_cast<double>(bits(index) >> 11) * 0x1p-53;
}

float RandomStream::uniformF32(uint64_t index) const {
  return static_cast<float>(bits(index) >> 40) * 0x1p-24f;
}

double RandomStream::normal(uint64_t index) const {
  double cell = static_cast<double>(bits(index) >> 12) + 0.5;
  return inverseNormal(cell * 0x1p-52);
}

double inverseNormal(double p) {
  using namespace normal_quantile;
  double q = p - 0.5;
  if (q >= -0.425 && q <= 0.425) {
    double square = q * q;
    double r = 0.180625 - square;
    return q * horner(a, r) / horner(b, r);
  }
  double r = std::sqrt(-portableLog(q < 0 ? p : 1.0 - p));
  double value = r <= 5 ? horner(c, r - 1.6) / horner(d, r - 1.6)
                        : horner(e, r - 5.0) / horner(f, r - 5.0);
  return q < 0 ? -value : value;
}

uint64_t permuteIndex(uint64_t index, uint64_t count, uint64_t key) {
  if (count <= 1)
    return 0;
  // The smallest even number of bits that holds count - 1.
  int half = 1;
  while (half < 32 && (count - 1) >> (2 * half) != 0)
    ++half;
  uint64_t mask = (uint64_t(1) << half) - 1;
  do {
    uint64_t left = index >> half;
    uint64_t right = index & mask;
    for (uint32_t round = 0; round < 8; ++round) {
      auto words = philox4x32({low(right), high(right), round, 0},
                              {low(key), high(key)});
      uint64_t next = left ^ (words[0] & mask);
      left = right;
      right = next;
    }
    index = left << half | right;
  } while (index >= count);
  return index;
}

} // namespace hone::rt
