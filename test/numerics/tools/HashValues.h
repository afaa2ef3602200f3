//===- HashValues.h - The numbers from a hash of test/reference/README ----===//
//
// The same in C++ and in the scripts that made the golden figures: adapters
// and projections that need no file.
//
//===----------------------------------------------------------------------===//

#pragma once

#include <cstdint>
#include <string_view>

namespace hone::test {

inline uint64_t fnv1a64(std::string_view bytes) {
  uint64_t hash = 0xCBF29CE484222325u;
  for (unsigned char byte : bytes)
    hash = (hash ^ byte) * 0x100000001B3u;
  return hash;
}

inline uint64_t splitmix64(uint64_t x) {
  uint64_t z = x + 0x9E3779B97F4A7C15u;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

inline uint64_t word(std::string_view name, uint64_t stream, uint64_t index) {
  return splitmix64(splitmix64(fnv1a64(name) + stream) + index);
}

/// In [-1, 1).
inline double uniform(std::string_view name, uint64_t index) {
  return static_cast<double>(word(name, 0, index) >> 11) * 0x1p-52 - 1.0;
}

inline double sign(std::string_view name, uint64_t k, uint64_t index) {
  return word(name, 1 + k, index) >> 63 ? -1.0 : 1.0;
}

} // namespace hone::test
