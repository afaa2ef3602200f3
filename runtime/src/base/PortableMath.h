//===- PortableMath.h - Functions of the same bits on every machine -------===//
//
// From IEEE + - * / and floor in double alone, so that no C library decides the
// bits of a run. Sums and products are rounded one by one: the runtime is
// compiled without contraction of a * b + c.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_RUNTIME_BASE_PORTABLEMATH_H
#define HONE_RUNTIME_BASE_PORTABLEMATH_H

#include <cstdint>

namespace hone::rt {

/// c[0] + x (c[1] + x (c[2] + ...)), from the inside.
template <int N> double horner(const double (&c)[N], double x) {
  double sum = c[N - 1];
  for (int i = N - 2; i >= 0; --i)
    sum = sum * x + c[i];
  return sum;
}

/// 2/3, 2/5, ...: of 2 atanh(s) / s - 2 in powers of s s.
inline constexpr double logSeries[] = {2.0 / 3,  2.0 / 5,  2.0 / 7,  2.0 / 9,
                                       2.0 / 11, 2.0 / 13, 2.0 / 15, 2.0 / 17,
                                       2.0 / 19, 2.0 / 21, 2.0 / 23};

/// Natural logarithm of a positive normal number, within 2 ulp.
double portableLog(double x);

/// base^exponent, by squaring from the lowest bit of `exponent` on:
///   result = 1; while exponent: if exponent is odd, result = result * base;
///   base = base * base; exponent = exponent / 2
/// Within exponent * 2^-52 of the truth, relatively.
double portablePower(double base, uint64_t exponent);

/// cos(pi y) within 2 ulp, for finite y. Exact steps bring y to [0, 0.5]:
///   y = |y|; y = y - 2 floor(y / 2); if y > 1: y = 2 - y;
///   if y > 0.5: y = 1 - y, and the result changes its sign
/// Then Taylor polynomials, with horner() and pi = 3.14159265358979323846:
///   y <= 0.25: x = pi y;         horner(c, x x)
///   else:      x = pi (0.5 - y); x + x (x x horner(s, x x))
///   c = 1, -1/2!, 1/4!, -1/6!, 1/8!, -1/10!, 1/12!, -1/14!, 1/16!
///   s = -1/3!, 1/5!, -1/7!, 1/9!, -1/11!, 1/13!, -1/15!, 1/17!
/// Constants and quotients are rounded to double.
double cosPi(double y);

} // namespace hone::rt

#endif
