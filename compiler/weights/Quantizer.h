//===- Quantizer.h - Integers in groups that share a scale ----------------===//
//
// MLX's affine format: see #hone.storage. The range of a group is its smallest
// to its largest value, so an error is at most half a step; MLX's own converter
// shifts the range so that zero is exact, and its errors can be larger.
//
//===----------------------------------------------------------------------===//

#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace hone {

/// Whole groups, in the order of the values.
struct QuantizedGroups {
  std::vector<float> scales, biases; ///< one for each group; scales >= 0
  std::vector<uint8_t> packed;       ///< low half of a byte first
};

class Quantizer {
public:
  /// `bits` is 4 or 8; `group` is a multiple of 8.
  Quantizer(int64_t bits, int64_t group) : bits(bits), group(group) {}

  int64_t groupSize() const { return group; }

  /// Scale and bias of each group of `count` values, a multiple of the group.
  /// On a value that is not finite, returns its index; the output is then
  /// unspecified.
  std::optional<uint64_t> fit(const float *values, uint64_t count,
                              float *scales, float *biases) const;

  /// fit(), and the numbers.
  std::optional<uint64_t> quantize(const float *values, uint64_t count,
                                   QuantizedGroups &out) const;

  /// `scale * q + bias` of each number, rounded once.
  void dequantize(const QuantizedGroups &groups, float *values) const;

private:
  bool fitGroup(const float *values, float &scale, float &bias) const;
  void packGroup(const float *values, float scale, float bias,
                 uint8_t *packed) const;

  int64_t bits, group;
};

} // namespace hone
