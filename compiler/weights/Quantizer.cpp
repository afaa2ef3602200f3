//===- Quantizer.cpp - Integers in groups that share a scale --------------===//
//
// Fitted in double: the difference of two floats may be beyond float's range,
// and the nearest step must be found for the scale and bias as they are stored.
//
//===----------------------------------------------------------------------===//

#include "compiler/weights/Quantizer.h"

#include "llvm/Support/Parallel.h"

#include <algorithm>
#include <atomic>
#include <cmath>

using namespace hone;

/// False if a value is not finite.
bool Quantizer::quantizeGroup(const float *values, float &scale, float &bias,
                              uint8_t *packed) const {
  float least = values[0], most = values[0];
  bool finite = true;
  for (int64_t i = 0; i < group; ++i) {
    finite &= std::isfinite(values[i]);
    least = std::min(least, values[i]);
    most = std::max(most, values[i]);
  }
  if (!finite)
    return false;
  const int steps = (1 << bits) - 1;
  scale = static_cast<float>((double(most) - double(least)) / steps);
  bias = least;
  // A constant group, or a range below the smallest float, is its bias.
  double inverse = scale > 0 ? 1.0 / double(scale) : 0.0;
  auto nearest = [&](int64_t i) {
    double step = std::rint((double(values[i]) - double(bias)) * inverse);
    return static_cast<uint8_t>(std::min<double>(step, steps));
  };
  for (int64_t i = 0; i < group; ++i) {
    if (bits == 8)
      packed[i] = nearest(i);
    else if (i % 2 == 0)
      packed[i / 2] = uint8_t(nearest(i) | nearest(i + 1) << 4);
  }
  return true;
}

std::optional<uint64_t> Quantizer::quantize(const float *values, uint64_t count,
                                            QuantizedGroups &out) const {
  uint64_t groups = count / group;
  uint64_t groupBytes = group * bits / 8;
  out.scales.resize(groups);
  out.biases.resize(groups);
  out.packed.resize(groups * groupBytes);
  constexpr uint64_t groupsPerTask = 256;
  std::atomic<bool> finite{true};
  llvm::parallelFor(
      0, (groups + groupsPerTask - 1) / groupsPerTask, [&](size_t task) {
        uint64_t end = std::min(groups, (task + 1) * groupsPerTask);
        for (uint64_t g = task * groupsPerTask; g < end; ++g)
          if (!quantizeGroup(values + g * group, out.scales[g], out.biases[g],
                             out.packed.data() + g * groupBytes))
            finite = false;
      });
  if (finite)
    return std::nullopt;
  return std::find_if(values, values + count,
                      [](float x) { return !std::isfinite(x); }) -
         values;
}

void Quantizer::dequantize(const QuantizedGroups &groups, float *values) const {
  for (size_t g = 0; g < groups.scales.size(); ++g)
    for (int64_t i = 0; i < group; ++i) {
      size_t at = g * group + i;
      unsigned q = bits == 8 ? groups.packed[at]
                             : groups.packed[at / 2] >> (at % 2 * 4) & 15;
      values[at] = std::fma(float(q), groups.scales[g], groups.biases[g]);
    }
}
