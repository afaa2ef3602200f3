//===- ScalarFormulas.h - The results of compiled formulas ----------------===//
//
// The specification of passes/derive/ScalarFunctions to the bit: IEEE + - * /
// and floor in double, rounded one by one. So it belongs in files that are
// compiled without contraction of a * b + c.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "base/Philox.h"
#include "base/PortableMath.h"

#include <cmath>
#include <cstdint>
#include <vector>

namespace hone::reference {

/// base^exponent, by squaring from the lowest bit of `exponent` on:
///   result = 1; while exponent: if exponent is odd, result = result * base;
///   base = base * base; exponent = exponent / 2
/// Within exponent * 2^-52 of the truth, relatively.
inline double power(double base, uint64_t exponent) {
  double result = 1.0;
  for (; exponent != 0; exponent >>= 1) {
    if (exponent & 1)
      result = result * base;
    base = base * base;
  }
  return result;
}

/// cos(pi y) within 2 ulp, for finite y. Exact steps bring y to [0, 0.5]:
///   y = |y|; y = y - 2 floor(y / 2); if y > 1: y = 2 - y;
///   if y > 0.5: y = 1 - y, and the result changes its sign
/// Then Taylor polynomials, with horner() and pi = 3.14159265358979323846:
///   y <= 0.25: x = pi y;         horner(c, x x)
///   else:      x = pi (0.5 - y); x + x (x x horner(s, x x))
///   c = 1, -1/2!, 1/4!, -1/6!, 1/8!, -1/10!, 1/12!, -1/14!, 1/16!
///   s = -1/3!, 1/5!, -1/7!, 1/9!, -1/11!, 1/13!, -1/15!, 1/17!
/// Constants and quotients are rounded to double.
inline double cosPi(double y) {
  static constexpr double pi = 3.14159265358979323846;
  static constexpr double cosine[] = {1.0,
                                      -1.0 / 2,
                                      1.0 / 24,
                                      -1.0 / 720,
                                      1.0 / 40320,
                                      -1.0 / 3628800,
                                      1.0 / 479001600,
                                      -1.0 / 87178291200,
                                      1.0 / 20922789888000};
  static constexpr double sine[] = {-1.0 / 6,
                                    1.0 / 120,
                                    -1.0 / 5040,
                                    1.0 / 362880,
                                    -1.0 / 39916800,
                                    1.0 / 6227020800,
                                    -1.0 / 1307674368000,
                                    1.0 / 355687428096000};
  y = std::fabs(y);
  y = y - 2.0 * std::floor(y / 2.0);
  if (y > 1.0)
    y = 2.0 - y;
  double sign = 1.0;
  if (y > 0.5) {
    y = 1.0 - y;
    sign = -1.0;
  }
  if (y <= 0.25) {
    double x = pi * y;
    return sign * rt::horner(cosine, x * x);
  }
  double x = pi * (0.5 - y);
  double t = x * x;
  return sign * (x + x * (t * rt::horner(sine, t)));
}

/// For each of `layers` layers whether it is selected. `random` has one number
/// for each.
using Selection = std::vector<int32_t>;

/// `wanted` of them: Knuth's algorithm S.
inline Selection selectUniform(int64_t layers, int64_t wanted,
                               const rt::RandomStream &random) {
  Selection mask;
  for (int64_t layer = 0; layer < layers; ++layer) {
    bool takes =
        double(layers - layer) * random.uniform(layer) < double(wanted);
    mask.push_back(takes);
    wanted -= takes;
  }
  return mask;
}

/// Each with `probability`.
inline Selection selectBernoulli(int64_t layers, double probability,
                                 const rt::RandomStream &random) {
  Selection mask;
  for (int64_t layer = 0; layer < layers; ++layer)
    mask.push_back(random.uniform(layer) < probability);
  return mask;
}

} // namespace hone::reference
