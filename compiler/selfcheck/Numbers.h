//===- Numbers.h - Sums and differences of checks -------------------------===//

#pragma once

#include "llvm/ADT/ArrayRef.h"

#include <array>
#include <cmath>

namespace hone::selfcheck {

inline double dot(llvm::ArrayRef<double> a, llvm::ArrayRef<double> b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i)
    sum += a[i] * b[i];
  return sum;
}

inline double norm(llvm::ArrayRef<double> a) { return std::sqrt(dot(a, a)); }

/// The larger of two errors; a NaN stays.
inline double larger(double a, double b) { return b <= a ? a : b; }

/// A point at which a function is taken, and the factor of its value there.
struct Sample {
  double at, weight;
};

/// Samples whose weighted sum is the function's derivative at 0: two central
/// differences, the second with half the step, so that the error is O(step^4).
inline std::array<Sample, 4> derivativeSamples(double step) {
  return {{{step, -1 / (6 * step)},
           {-step, 1 / (6 * step)},
           {step / 2, 4 / (3 * step)},
           {-step / 2, -4 / (3 * step)}}};
}

} // namespace hone::selfcheck
