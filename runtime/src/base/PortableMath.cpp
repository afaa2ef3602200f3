//===- PortableMath.cpp - Functions of the same bits on every machine -----===//
//
// The order of operations is the specification: see the header.
//
//===----------------------------------------------------------------------===//

#include "base/PortableMath.h"

#include <cmath>
#include <cstring>

namespace hone::rt {

double portableLog(double x) {
  // x = m 2^e with m in [sqrt(1/2), sqrt(2)).
  uint64_t bits;
  std::memcpy(&bits, &x, sizeof bits);
  int exponent = static_cast<int>(bits >> 52) - 1023;
  bits = (bits & 0x000fffffffffffff) | 0x3ff0000000000000;
  double m;
  std::memcpy(&m, &bits, sizeof m);
  if (m > 0x1.6a09e667f3bcdp0) {
    m = m * 0.5;
    exponent = exponent + 1;
  }
  // log m = 2 atanh(s); |s| < 0.1716, so 12 terms leave less than 2^-62.
  double f = m - 1.0; // exact
  double s = f / (2.0 + f);
  double z = s * s;
  // 2 s = f - s f, which keeps the leading term exact.
  double rest = s * (f - z * horner(logSeries, z));
  double e = static_cast<double>(exponent);
  // ln 2 in two parts; the first has 20 trailing zero bits, so e * it is exact.
  double lowPart = e * 1.90821492927058770002e-10 - rest;
  return e * 6.93147180369123816490e-01 + (f + lowPart);
}

double portablePower(double base, uint64_t exponent) {
  double result = 1.0;
  for (; exponent != 0; exponent >>= 1) {
    if (exponent & 1)
      result = result * base;
    base = base * base;
  }
  return result;
}

double cosPi(double y) {
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
    return sign * horner(cosine, x * x);
  }
  double x = pi * (0.5 - y);
  double t = x * x;
  return sign * (x + x * (t * horner(sine, t)));
}

} // namespace hone::rt
