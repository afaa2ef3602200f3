//===- Quantizer.cpp - Integers in groups that share a scale --------------===//
//
// Fitted in double: the difference of two floats may be beyond float's range,
// and the nearest step must be found for the scale and bias as they are stored.
//
//===----------------------------------------------------------------------===//

#include "compiler/weights/Quantizer.h"

#include <algorithm>
#include <cmath>
#include <cstring>

using namespace hone;

/// Values at a time; divides every group.
static constexpr int64_t lanes = 8;
template <typename T>
using Vector __attribute__((vector_size(lanes * sizeof(T)))) = T;

static Vector<float> load(const float *values) {
  Vector<float> loaded;
  std::memcpy(&loaded, values, sizeof loaded);
  return loaded;
}

/// False if a value is not finite.
bool Quantizer::fitGroup(const float *values, float &scale, float &bias) const {
  Vector<float> least = load(values), most = least, check = {};
  for (int64_t i = 0; i < group; i += lanes) {
    Vector<float> now = load(values + i);
    least = now < least ? now : least;
    most = now > most ? now : most;
    check += now * 0.0f; // NaN unless finite
  }
  float top = most[0];
  bias = least[0];
  for (int64_t lane = 0; lane < lanes; ++lane) {
    if (check[lane] != 0.0f)
      return false;
    top = std::max(top, most[lane]);
    bias = std::min(bias, least[lane]);
  }
  if (bias == 0.0f) // of zeros with both signs, the first
    bias = *std::find(values, values + group, 0.0f);
  const int steps = (1 << bits) - 1;
  scale = top > bias ? static_cast<float>((double(top) - double(bias)) / steps)
                     : 0.0f;
  return true;
}

void Quantizer::packGroup(const float *values, float scale, float bias,
                          uint8_t *packed) const {
  // A constant group, or a range below the smallest float, is its bias.
  const double inverse = scale > 0 ? 1.0 / double(scale) : 0.0;
  const double first = bias, steps = (1 << bits) - 1;
  // Leaves the nearest integer, ties to even, in the low bits of a small
  // number that it is added to: rint() without a call.
  constexpr double rounder = 0x1.8p52;
  for (int64_t i = 0; i < group; i += lanes) {
    auto step =
        (__builtin_convertvector(load(values + i), Vector<double>) - first) *
        inverse;
    step = step < steps ? step : steps + Vector<double>{};
    auto numbers = __builtin_convertvector((Vector<uint64_t>)(step + rounder),
                                           Vector<uint8_t>);
    uint64_t bytes;
    std::memcpy(&bytes, &numbers, lanes);
    if (bits == 4) { // pairs in one byte of two, then of four, then together
      bytes = (bytes | bytes >> 4) & 0x00ff00ff00ff00ff;
      bytes = (bytes | bytes >> 8) & 0x0000ffff0000ffff;
      bytes |= bytes >> 16;
    }
    std::memcpy(packed + i * bits / 8, &bytes, lanes * bits / 8);
  }
}

std::optional<uint64_t> Quantizer::fit(const float *values, uint64_t count,
                                       float *scales, float *biases) const {
  bool finite = true;
  for (uint64_t g = 0; g < count / group; ++g)
    finite &= fitGroup(values + g * group, scales[g], biases[g]);
  if (finite)
    return std::nullopt;
  return std::find_if(values, values + count,
                      [](float x) { return !std::isfinite(x); }) -
         values;
}

std::optional<uint64_t> Quantizer::quantize(const float *values, uint64_t count,
                                            QuantizedGroups &out) const {
  uint64_t groups = count / group;
  uint64_t groupBytes = group * bits / 8;
  out.scales.resize(groups);
  out.biases.resize(groups);
  out.packed.resize(groups * groupBytes);
  if (auto bad = fit(values, count, out.scales.data(), out.biases.data()))
    return bad;
  for (uint64_t g = 0; g < groups; ++g)
    packGroup(values + g * group, out.scales[g], out.biases[g],
              out.packed.data() + g * groupBytes);
  return std::nullopt;
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
