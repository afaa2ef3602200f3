//===- ArenaPlan.h - Offsets for buffers with lifetimes -------------------===//
//
// Pure: no IR. Dynamic storage allocation: give each buffer an offset so that
// buffers alive at the same time do not overlap, in as little memory as can
// be found. Several greedy orders are tried and the best is kept (as TFLite
// Micro and ExecuTorch do); the result is deterministic.
//
//===----------------------------------------------------------------------===//

#pragma once

#include <cstdint>
#include <vector>

namespace hone {

/// A buffer in use from time `first` to time `last`, both included.
struct Buffer {
  int64_t bytes;
  int64_t first;
  int64_t last;
  int64_t offset = 0; ///< the result
};

struct ArenaPlan {
  /// Every offset and size is a multiple of this: a cache line, and wider than
  /// any vector register.
  static constexpr int64_t alignment = 64;

  /// Rounds up to the alignment.
  static int64_t align(int64_t bytes) {
    return (bytes + alignment - 1) / alignment * alignment;
  }

  /// Sets the offset of each buffer and returns the bytes of the arena.
  static int64_t place(std::vector<Buffer> &buffers);

  /// The most bytes in use at one time: no placement can be smaller.
  static int64_t lowerBound(const std::vector<Buffer> &buffers);

  /// True if both are in use at one time and share memory.
  static bool clash(const Buffer &a, const Buffer &b);
};

} // namespace hone
