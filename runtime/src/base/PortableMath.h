//===- PortableMath.h - Functions of the same bits on every machine -------===//
//
// From IEEE + - * / and floor in double alone, so that no C library decides the
// bits of a run. Sums and products are rounded one by one: the runtime is
// compiled without contraction of a * b + c.
//
//===----------------------------------------------------------------------===//

#pragma once

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

/// 1/0!, 1/1!, ...: of exp in powers of x.
inline constexpr double expSeries[] = {1.0,
                                       1.0,
                                       1.0 / 2,
                                       1.0 / 6,
                                       1.0 / 24,
                                       1.0 / 120,
                                       1.0 / 720,
                                       1.0 / 5040,
                                       1.0 / 40320,
                                       1.0 / 362880,
                                       1.0 / 3628800,
                                       1.0 / 39916800,
                                       1.0 / 479001600,
                                       1.0 / 6227020800};

/// e^x within 2 ulp; 0 below -708, infinity above 709, NaN of NaN.
double portableExp(double x);

/// Natural logarithm of a positive normal number, within 2 ulp.
double portableLog(double x);

} // namespace hone::rt
