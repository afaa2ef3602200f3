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

} // namespace hone::rt
