// What every text of kernels begins with: the numbers that Metal lacks.
//
// Metal 3.2 is the first language that says in the text how it rounds: each
// operation by itself, none left out, no fused multiply-add but fma().
#include <metal_stdlib>
#if __METAL_VERSION__ < 320
#error "the kernels need Metal 3.2, which came with macOS 15"
#endif
#pragma METAL fp math_mode(safe)
#pragma METAL fp contract(off)
using namespace metal;

//===- bfloat16 ------------------------------------------------------------===

struct bf16 {
  ushort bits;
};

inline float to_f32(bf16 x) { return as_type<float>(uint(x.bits) << 16); }
inline float to_f32(float x) { return x; }
inline float to_f32(int x) { return float(x); }
inline float to_f32(uint x) { return float(x); }
inline float to_f32(long x) { return float(x); }
inline float to_f32(ulong x) { return float(x); }

/// To the nearest, ties to even. What is no number stays none.
inline bf16 to_bf16(float x) {
  uint bits = as_type<uint>(x);
  bf16 result;
  if ((bits & 0x7fffffffu) > 0x7f800000u)
    result.bits = ushort((bits >> 16) | 64u);
  else
    result.bits = ushort((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
  return result;
}

//===- float64 -------------------------------------------------------------===
//
// IEEE 754 binary64 in integers, to the nearest, ties to even, with subnormal
// numbers. A finite number that is not 0 is taken apart as m * 2^e, put together
// by f64_round, which is the one place that rounds. Bits of m below those that
// are kept matter by whether one is set: code that drops some sets the last.

struct f64 {
  ulong bits;
};

inline f64 f64_of(ulong bits) {
  f64 x;
  x.bits = bits;
  return x;
}

inline f64 f64_nan() { return f64_of(0x7ff8000000000000ul); }
inline ulong f64_sign(f64 x) { return x.bits & 0x8000000000000000ul; }
inline ulong f64_magnitude(f64 x) { return x.bits & 0x7ffffffffffffffful; }
inline bool f64_is_nan(f64 x) {
  return f64_magnitude(x) > 0x7ff0000000000000ul;
}
inline bool f64_is_inf(f64 x) {
  return f64_magnitude(x) == 0x7ff0000000000000ul;
}
inline bool f64_is_zero(f64 x) { return f64_magnitude(x) == 0; }
inline f64 f64_inf(ulong sign) { return f64_of(sign | 0x7ff0000000000000ul); }

/// Zeros before the first bit of m, which is not 0.
inline int f64_zeros(ulong m) {
  uint high = uint(m >> 32);
  return high != 0 ? int(clz(high)) : 32 + int(clz(uint(m)));
}

/// m >> count; the last bit says of those that are dropped whether one is set.
inline ulong f64_shift(ulong m, int count) {
  if (count <= 0)
    return m;
  if (count >= 64)
    return ulong(m != 0);
  return (m >> count) | ulong((m << (64 - count)) != 0);
}

/// m * 2^e in a format of this many fraction bits and this bias: the bits
/// without the sign. m is not 0.
inline ulong f64_round(ulong m, int e, int fraction, int bias) {
  int zeros = f64_zeros(m);
  m <<= zeros;
  int biased = e - zeros + 63 + bias;
  int infinite = 2 * bias + 1;
  if (biased >= infinite)
    return ulong(infinite) << fraction;
  int dropped = 63 - fraction;
  ulong base = 0;
  if (biased > 0)
    base = ulong(biased - 1) << fraction; // m's first bit adds the other one
  else
    dropped += 1 - biased;
  if (dropped > 64)
    return base;
  ulong kept = dropped == 64 ? 0 : m >> dropped;
  ulong rest = m << (64 - dropped); // dropped is at least 11
  ulong half_way = 0x8000000000000000ul;
  if (rest > half_way || (rest == half_way && (kept & 1) != 0))
    ++kept;
  return base + kept;
}

inline f64 f64_make(ulong sign, ulong m, int e) {
  return f64_of(sign | f64_round(m, e, 52, 1023));
}

struct f64_parts {
  ulong m; // below 2^53; at least 2^52 after f64_normal
  int e;
};

/// Of a finite number: m * 2^e.
inline f64_parts f64_open(f64 x) {
  f64_parts parts;
  int biased = int(f64_magnitude(x) >> 52);
  parts.m = x.bits & 0xffffffffffffful;
  if (biased != 0)
    parts.m |= 0x10000000000000ul;
  else
    biased = 1;
  parts.e = biased - 1075;
  return parts;
}

/// The same of what is not 0, with m at least 2^52.
inline f64_parts f64_normal(f64 x) {
  f64_parts parts = f64_open(x);
  int zeros = f64_zeros(parts.m) - 11;
  parts.m <<= zeros;
  parts.e -= zeros;
  return parts;
}

struct f64_wide {
  ulong high, low;
};

inline f64_wide f64_product(ulong a, ulong b) {
  ulong a0 = a & 0xfffffffful, a1 = a >> 32;
  ulong b0 = b & 0xfffffffful, b1 = b >> 32;
  ulong low = a0 * b0;
  ulong middle = a1 * b0 + (low >> 32);
  ulong other = a0 * b1 + (middle & 0xfffffffful);
  f64_wide product;
  product.high = a1 * b1 + (middle >> 32) + (other >> 32);
  product.low = (other << 32) | (low & 0xfffffffful);
  return product;
}

inline f64_wide f64_wide_shift(f64_wide x, int count) {
  f64_wide result = x;
  if (count >= 64) {
    result.high = 0;
    result.low = f64_shift(x.high, count - 64) | ulong(x.low != 0);
  } else if (count > 0) {
    result.high = x.high >> count;
    result.low = f64_shift(x.low, count) | (x.high << (64 - count));
  }
  return result;
}

inline f64 operator-(f64 x) { return f64_of(x.bits ^ 0x8000000000000000ul); }

inline f64 operator+(f64 x, f64 y) {
  if (f64_is_nan(x) || f64_is_nan(y))
    return f64_nan();
  if (f64_is_inf(x) && f64_is_inf(y) && x.bits != y.bits)
    return f64_nan();
  if (f64_is_inf(x))
    return x;
  if (f64_is_inf(y))
    return y;
  if (f64_magnitude(x) < f64_magnitude(y)) {
    f64 larger = y;
    y = x;
    x = larger;
  }
  if (f64_is_zero(x)) // and so is y
    return f64_of(x.bits & y.bits);
  f64_parts a = f64_open(x), b = f64_open(y);
  // Ten bits for what is dropped: more than one is lost only where the
  // difference loses at most one at its front.
  a.m <<= 10;
  b.m = f64_shift(b.m << 10, a.e - b.e);
  ulong m = f64_sign(x) == f64_sign(y) ? a.m + b.m : a.m - b.m;
  return m == 0 ? f64_of(0) : f64_make(f64_sign(x), m, a.e - 10);
}

inline f64 operator-(f64 x, f64 y) { return x + -y; }

inline f64 operator*(f64 x, f64 y) {
  ulong sign = f64_sign(x) ^ f64_sign(y);
  if (f64_is_nan(x) || f64_is_nan(y))
    return f64_nan();
  if (f64_is_inf(x) || f64_is_inf(y))
    return f64_is_zero(x) || f64_is_zero(y) ? f64_nan() : f64_inf(sign);
  if (f64_is_zero(x) || f64_is_zero(y))
    return f64_of(sign);
  f64_parts a = f64_normal(x), b = f64_normal(y);
  f64_wide product = f64_product(a.m << 11, b.m << 11);
  return f64_make(sign, product.high | ulong(product.low != 0),
                  a.e + b.e + 64 - 22);
}

inline f64 operator/(f64 x, f64 y) {
  ulong sign = f64_sign(x) ^ f64_sign(y);
  if (f64_is_nan(x) || f64_is_nan(y))
    return f64_nan();
  if (f64_is_inf(x))
    return f64_is_inf(y) ? f64_nan() : f64_inf(sign);
  if (f64_is_inf(y))
    return f64_of(sign);
  if (f64_is_zero(y))
    return f64_is_zero(x) ? f64_nan() : f64_inf(sign);
  if (f64_is_zero(x))
    return f64_of(sign);
  f64_parts a = f64_normal(x), b = f64_normal(y);
  // A bit of the quotient a turn; the first may be 0, so 56 are 55 at least.
  ulong rest = a.m, quotient = 0;
  for (int bit = 0; bit < 56; ++bit) {
    quotient <<= 1;
    if (rest >= b.m) {
      rest -= b.m;
      quotient |= 1;
    }
    rest <<= 1;
  }
  return f64_make(sign, quotient | ulong(rest != 0), a.e - b.e - 55);
}

inline f64 square_root(f64 x) {
  if (f64_is_nan(x))
    return f64_nan();
  if (f64_is_zero(x))
    return x;
  if (f64_sign(x) != 0)
    return f64_nan();
  if (f64_is_inf(x))
    return x;
  f64_parts a = f64_normal(x);
  // An even exponent, and m in [2^52, 2^54): two of its bits a turn, then zeros.
  if ((a.e & 1) != 0) {
    a.m <<= 1;
    a.e -= 1;
  }
  ulong rest = 0, root = 0;
  for (int turn = 0; turn < 55; ++turn) {
    int at = 52 - 2 * turn;
    ulong next = at >= 0 ? (a.m >> at) & 3 : 0;
    rest = (rest << 2) | next;
    ulong step = (root << 2) | 1;
    root <<= 1;
    if (rest >= step) {
      rest -= step;
      root |= 1;
    }
  }
  // 27 turns were of m; the other 28 are bits of the root behind its point.
  return f64_make(0, (root << 1) | ulong(rest != 0), a.e / 2 - 29);
}

inline f64 fma(f64 x, f64 y, f64 z) {
  ulong sign = f64_sign(x) ^ f64_sign(y);
  if (f64_is_nan(x) || f64_is_nan(y) || f64_is_nan(z))
    return f64_nan();
  if (f64_is_inf(x) || f64_is_inf(y)) {
    if (f64_is_zero(x) || f64_is_zero(y) ||
        (f64_is_inf(z) && f64_sign(z) != sign))
      return f64_nan();
    return f64_inf(sign);
  }
  if (f64_is_inf(z))
    return z;
  if (f64_is_zero(x) || f64_is_zero(y)) // + z may be a sum of zeros
    return f64_of(sign) + z;
  f64_parts a = f64_normal(x), b = f64_normal(y);
  // The product is exact, with its first bit at 124 or 125 of 128.
  f64_wide p = f64_product(a.m << 10, b.m << 10);
  int e = a.e + b.e - 20;
  if (f64_is_zero(z)) {
    int zeros = f64_zeros(p.high);
    ulong m = (p.high << zeros) | (p.low >> (64 - zeros));
    return f64_make(sign, m | ulong((p.low << zeros) != 0), e + 64 - zeros);
  }
  f64_parts c = f64_normal(z);
  f64_wide s;
  s.high = c.m << 8; // its first bit at 124
  s.low = 0;
  c.e -= 72;
  if (e >= c.e) {
    s = f64_wide_shift(s, e - c.e);
  } else {
    p = f64_wide_shift(p, c.e - e);
    e = c.e;
  }
  f64_wide sum;
  if (sign == f64_sign(z)) {
    sum.low = p.low + s.low;
    sum.high = p.high + s.high + ulong(sum.low < p.low);
  } else {
    if (p.high < s.high || (p.high == s.high && p.low < s.low)) {
      f64_wide larger = s;
      s = p;
      p = larger;
      sign ^= 0x8000000000000000ul;
    }
    sum.low = p.low - s.low;
    sum.high = p.high - s.high - ulong(p.low < s.low);
  }
  if (sum.high == 0)
    return sum.low == 0 ? f64_of(0) : f64_make(sign, sum.low, e);
  int zeros = f64_zeros(sum.high);
  if (zeros == 0)
    return f64_make(sign, sum.high | ulong(sum.low != 0), e + 64);
  ulong m = (sum.high << zeros) | (sum.low >> (64 - zeros));
  return f64_make(sign, m | ulong((sum.low << zeros) != 0), e + 64 - zeros);
}

/// As integers that have the order of the numbers, with both zeros 0.
inline long f64_order(f64 x) {
  long magnitude = long(f64_magnitude(x));
  return f64_sign(x) != 0 ? -magnitude : magnitude;
}

inline bool f64_ordered(f64 x, f64 y) {
  return !f64_is_nan(x) && !f64_is_nan(y);
}
inline bool operator==(f64 x, f64 y) {
  return f64_ordered(x, y) && f64_order(x) == f64_order(y);
}
inline bool operator!=(f64 x, f64 y) { return !(x == y); }
inline bool operator<(f64 x, f64 y) {
  return f64_ordered(x, y) && f64_order(x) < f64_order(y);
}
inline bool operator<=(f64 x, f64 y) {
  return f64_ordered(x, y) && f64_order(x) <= f64_order(y);
}
inline bool operator>(f64 x, f64 y) { return y < x; }
inline bool operator>=(f64 x, f64 y) { return y <= x; }

inline f64 to_f64(f64 x) { return x; }
inline f64 to_f64(float x) {
  uint bits = as_type<uint>(x);
  ulong sign = ulong(bits & 0x80000000u) << 32;
  uint magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u)
    return f64_nan();
  if (magnitude == 0x7f800000u)
    return f64_inf(sign);
  if (magnitude == 0)
    return f64_of(sign);
  uint biased = magnitude >> 23;
  uint m = magnitude & 0x7fffffu;
  if (biased != 0)
    m |= 0x800000u;
  else
    biased = 1;
  return f64_make(sign, m, int(biased) - 150);
}
inline f64 to_f64(bf16 x) { return to_f64(to_f32(x)); }
inline f64 to_f64(ulong x) { return x == 0 ? f64_of(0) : f64_make(0, x, 0); }
inline f64 to_f64(long x) {
  return x < 0 ? -to_f64(0ul - ulong(x)) : to_f64(ulong(x));
}
inline f64 to_f64(uint x) { return to_f64(ulong(x)); }
inline f64 to_f64(int x) { return to_f64(long(x)); }

inline float to_f32(f64 x) {
  uint sign = uint(f64_sign(x) >> 32);
  if (f64_is_nan(x))
    return as_type<float>(0x7fc00000u);
  if (f64_is_inf(x))
    return as_type<float>(sign | 0x7f800000u);
  if (f64_is_zero(x))
    return as_type<float>(sign);
  f64_parts a = f64_open(x);
  return as_type<float>(sign | uint(f64_round(a.m, a.e, 23, 127)));
}

inline bf16 to_bf16(bf16 x) { return x; }
inline bf16 to_bf16(f64 x) {
  bf16 result;
  result.bits = ushort(f64_sign(x) >> 48);
  if (f64_is_nan(x))
    result.bits = 0x7fc0;
  else if (f64_is_inf(x))
    result.bits |= 0x7f80;
  else if (!f64_is_zero(x)) {
    f64_parts a = f64_open(x);
    result.bits |= ushort(f64_round(a.m, a.e, 7, 127));
  }
  return result;
}

/// Towards zero. Outside of the integers: anything.
inline long to_long(f64 x) {
  f64_parts a = f64_open(x);
  ulong m = a.e >= 0 ? (a.e < 11 ? a.m << a.e : 0)
                     : (a.e > -64 ? a.m >> -a.e : 0);
  return f64_sign(x) != 0 ? long(0ul - m) : long(m);
}
inline long to_long(float x) { return long(x); }
inline int to_int(f64 x) { return int(to_long(x)); }
inline int to_int(float x) { return int(x); }

/// A whole number next to x: the nearest, or the one away from zero or not.
inline f64 f64_whole(f64 x, bool nearest, bool away) {
  if (f64_is_nan(x))
    return f64_nan();
  int biased = int(f64_magnitude(x) >> 52);
  if (biased >= 1075 || f64_is_zero(x))
    return x;
  f64_parts a = f64_open(x);
  int dropped = -a.e; // 1 and more
  ulong m = dropped < 64 ? a.m >> dropped : 0;
  ulong rest = dropped < 64 ? a.m << (64 - dropped) : 1;
  ulong half_way = 0x8000000000000000ul;
  if (nearest ? rest > half_way || (rest == half_way && (m & 1) != 0)
              : away && rest != 0)
    ++m;
  return m == 0 ? f64_of(f64_sign(x)) : f64_make(f64_sign(x), m, 0);
}
inline f64 rint(f64 x) { return f64_whole(x, true, false); }
inline f64 trunc(f64 x) { return f64_whole(x, false, false); }
inline f64 floor(f64 x) { return f64_whole(x, false, f64_sign(x) != 0); }
inline f64 ceil(f64 x) { return f64_whole(x, false, f64_sign(x) == 0); }
inline f64 fabs(f64 x) { return f64_of(f64_magnitude(x)); }
inline f64 copysign(f64 x, f64 y) {
  return f64_of(f64_magnitude(x) | f64_sign(y));
}

//===- What is the same for both -------------------------------------------===

inline f64 choose(bool first, f64 x, f64 y) {
  if (first)
    return x;
  return y;
}
inline bf16 choose(bool first, bf16 x, bf16 y) {
  if (first)
    return x;
  return y;
}

inline float square_root(float x) { return precise::sqrt(x); }

inline uint to_bits(float x) { return as_type<uint>(x); }
inline ulong to_bits(f64 x) { return x.bits; }
inline ushort to_bits(bf16 x) { return x.bits; }
inline float from_bits(uint x) { return as_type<float>(x); }
inline f64 from_bits(ulong x) { return f64_of(x); }
inline bf16 from_bits(ushort x) {
  bf16 result;
  result.bits = x;
  return result;
}

/// IEEE 754-2019's maximum and minimum: what is no number stays none, and -0 is
/// less than 0.
inline float maximum(float x, float y) {
  if (x != x || y != y)
    return as_type<float>(0x7fc00000u);
  if (x == y) // of two zeros the positive one
    return as_type<float>(as_type<uint>(x) & as_type<uint>(y));
  return x > y ? x : y;
}
inline f64 maximum(f64 x, f64 y) {
  if (x != x || y != y)
    return f64_nan();
  if (x == y)
    return f64_of(x.bits & y.bits);
  return choose(x > y, x, y);
}
inline float minimum(float x, float y) { return -maximum(-x, -y); }
inline f64 minimum(f64 x, f64 y) { return -maximum(-x, -y); }

/// The value of lane `lane ^ distance`, and that of lane `lane`.
inline float lane_across(float x, ushort distance) {
  return simd_shuffle_xor(x, distance);
}
inline uint lane_across(uint x, ushort distance) {
  return simd_shuffle_xor(x, distance);
}
inline float lane_at(float x, ushort lane) { return simd_shuffle(x, lane); }
inline uint lane_at(uint x, ushort lane) { return simd_shuffle(x, lane); }
inline ulong lane_across(ulong x, ushort distance) {
  uint low = simd_shuffle_xor(uint(x), distance);
  return ulong(simd_shuffle_xor(uint(x >> 32), distance)) << 32 | low;
}
inline ulong lane_at(ulong x, ushort lane) {
  uint low = simd_shuffle(uint(x), lane);
  return ulong(simd_shuffle(uint(x >> 32), lane)) << 32 | low;
}
inline f64 lane_across(f64 x, ushort distance) {
  return f64_of(lane_across(x.bits, distance));
}
inline f64 lane_at(f64 x, ushort lane) { return f64_of(lane_at(x.bits, lane)); }
inline long lane_across(long x, ushort distance) {
  return long(lane_across(ulong(x), distance));
}
inline long lane_at(long x, ushort lane) { return long(lane_at(ulong(x), lane)); }
