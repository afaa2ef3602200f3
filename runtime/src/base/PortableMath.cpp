//===- PortableMath.cpp - Functions of the same bits on every machine -----===//
//
// The order of operations is the specification: see the header.
//
//===----------------------------------------------------------------------===//

#include "base/PortableMath.h"

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

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

double portableExp(double x) {
  if (x < -708.0)
    return 0.0;
  if (x > 709.0)
    return std::numeric_limits<double>::infinity();
  if (x != x)
    return x;
  // x = n ln 2 + r with |r| <= ln 2 / 2, where 14 terms leave less than 2^-56;
  // ln 2 in the two parts of portableLog.
  double n = std::floor(x * 1.44269504088896338700e+00 + 0.5);
  double r =
      (x - n * 6.93147180369123816490e-01) - n * 1.90821492927058770002e-10;
  uint64_t bits = static_cast<uint64_t>(static_cast<int64_t>(n) + 1023) << 52;
  double scale;
  std::memcpy(&scale, &bits, sizeof scale);
  return horner(expSeries, r) * scale;
}

} // namespace hone::rt
