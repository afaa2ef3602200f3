//===- CompareFloats.cpp - The prelude's numbers and the processor's ------===//
//
// compare-floats COUNT [SEED]
//
// Computes each operation of Prelude.metal's f64 and bf16 on COUNT random bit
// patterns, and on special values among each other, as the kernels do and with
// the processor's double. Prints a line for each operation; fails where a bit
// differs. NaN has no promised bits.
//
//===----------------------------------------------------------------------===//

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <vector>

#include "targets/metal/Prelude.metal"

static double hard(f64 x) { return __builtin_bit_cast(double, x.bits); }
static f64 soft(double x) { return {__builtin_bit_cast(ulong, x)}; }

static const double kSpecial[] = {
    0.0,
    -0.0,
    1.0,
    -1.0,
    2.0,
    0.5,
    1.5,
    2.5,
    3.0,
    HUGE_VAL,
    -HUGE_VAL,
    NAN,
    5e-324,
    -5e-324,
    2.2250738585072009e-308, // the largest subnormal number
    2.2250738585072014e-308, // the smallest normal one
    1.7976931348623157e308,
    -1.7976931348623157e308,
    3.4028234663852886e38, // float's largest
    3.4028235677973366e38, // half way to the next, which is inf
    1.1754943508222875e-38,
    1.401298464324817e-45,
    7.006492321624085e-46, // half of float's smallest
    9007199254740992.0,
    9007199254740993.0,
    4503599627370495.5,
    0.49999999999999994,
    9.2233720368547748e18,
    1.0000000000000002,
    0.99999999999999989,
};
static constexpr int kSpecials = sizeof(kSpecial) / sizeof(*kSpecial);

/// Numbers of which sums, products and quotients are interesting.
class Numbers {
public:
  explicit Numbers(uint64_t seed) : random(seed) {}

  double any() {
    uint64_t bits = random();
    switch (random() % 8) {
    case 0:
      return kSpecial[bits % kSpecials];
    case 1: // few bits, so that results are halfway between two numbers
      bits &= ~((1ull << (bits % 52)) - 1);
      return __builtin_bit_cast(double, bits);
    case 2:
    case 3: // near one another: sums cancel
      bits = (bits & 0x800fffffffffffff) | (1020 + bits % 7) << 52;
      return __builtin_bit_cast(double, bits);
    case 4: // subnormal, or near
      bits = (bits & 0x800fffffffffffff) | (bits >> 8 & 3) << 52;
      return __builtin_bit_cast(double, bits);
    case 5: // in the range of float, and of integers
      bits = (bits & 0x800fffffffffffff) | (870 + (bits >> 8) % 300) << 52;
      return __builtin_bit_cast(double, bits);
    default:
      return __builtin_bit_cast(double, bits);
    }
  }
  /// Often a z that makes fma(x, y, z) cancel.
  double third(double x, double y) {
    const uint64_t kind = random() % 4;
    if (kind > 1)
      return any();
    const double product = -x * y;
    uint64_t bits = __builtin_bit_cast(uint64_t, product);
    return __builtin_bit_cast(double, kind ? bits : bits + random() % 5 - 2);
  }

private:
  std::mt19937_64 random;
};

static bool same(double a, double b) {
  return (std::isnan(a) && std::isnan(b)) ||
         __builtin_bit_cast(uint64_t, a) == __builtin_bit_cast(uint64_t, b);
}
static bool same(f64 a, double b) { return same(hard(a), b); }
static bool same(float a, float b) {
  return (std::isnan(a) && std::isnan(b)) ||
         __builtin_bit_cast(uint32_t, a) == __builtin_bit_cast(uint32_t, b);
}
template <typename T> static bool same(T a, T b) { return a == b; }

/// Of the bits of a bfloat16, rounded once: the float on the way has all that
/// decides.
static ushort nearestBFloat16(double x) {
  float f = float(x);
  if (std::isnan(x))
    return 0x7fc0;
  if (std::isinf(x))
    return ushort(__builtin_bit_cast(uint32_t, f) >> 16);
  if (std::fabs(double(f)) > std::fabs(x)) // inf, too
    f = std::nextafterf(f, 0.0f);
  uint32_t bits = __builtin_bit_cast(uint32_t, f);
  if (double(f) != x)
    bits |= 1;
  const uint32_t half = 0x7fff + (bits >> 16 & 1);
  return ushort((bits + half) >> 16);
}

static bool isFine = true;

/// compare(x, y, z) for COUNT triples; all pairs of special values are first.
template <typename Compare>
static void check(const char *name, uint64_t count, uint64_t seed,
                  Compare compare) {
  Numbers numbers(seed);
  uint64_t different = 0, done = 0;
  auto one = [&](double x, double y, double z) {
    ++done;
    if (compare(x, y, z))
      return;
    if (different++ == 0)
      printf("%s: differs at %a, %a, %a\n", name, x, y, z);
  };
  for (double x : kSpecial)
    for (double y : kSpecial)
      for (int k = 0; k < kSpecials; k += 3)
        one(x, y, kSpecial[k]);
  for (uint64_t i = 0; i < count; ++i) {
    const double x = numbers.any(), y = numbers.any();
    one(x, y, numbers.third(x, y));
  }
  printf("%s: %llu of %llu equal\n", name,
         (unsigned long long)(done - different), (unsigned long long)done);
  isFine &= different == 0;
}

int main(int argc, char **argv) {
  if (argc < 2) {
    fprintf(stderr, "usage: compare-floats COUNT [SEED]\n");
    return 2;
  }
  const uint64_t count = strtoull(argv[1], nullptr, 10);
  const uint64_t seed = argc > 2 ? strtoull(argv[2], nullptr, 10) : 1;
#define CHECK(name, got, want)                                                 \
  check(name, count, seed, [](double x, double y, double z) {                  \
    const f64 a = soft(x), b = soft(y), c = soft(z);                           \
    (void)a, (void)b, (void)c;                                                 \
    return same(got, want);                                                    \
  })
  CHECK("add", a + b, x + y);
  CHECK("subtract", a - b, x - y);
  CHECK("multiply", a * b, x * y);
  CHECK("divide", a / b, x / y);
  CHECK("fma", fma(a, b, c), std::fma(x, y, z));
  CHECK("square root", square_root(a), std::sqrt(x));
  CHECK("negate", -a, -x);
  CHECK("less", a < b, x < y);
  CHECK("less or equal", a <= b, x <= y);
  CHECK("greater", a > b, x > y);
  CHECK("greater or equal", a >= b, x >= y);
  CHECK("equal", a == b, x == y);
  CHECK("not equal", a != b, x != y);
  CHECK("maximum", maximum(a, b),
        std::isnan(x) || std::isnan(y) ? NAN
        : x == y                       ? (std::signbit(x) ? y : x)
                                       : std::fmax(x, y));
  CHECK("minimum", minimum(a, b),
        std::isnan(x) || std::isnan(y) ? NAN
        : x == y                       ? (std::signbit(x) ? x : y)
                                       : std::fmin(x, y));
  CHECK("absolute", fabs(a), std::fabs(x));
  CHECK("copy the sign", copysign(a, b), std::copysign(x, y));
  CHECK("nearest whole", rint(a), std::nearbyint(x));
  CHECK("floor", floor(a), std::floor(x));
  CHECK("ceil", ceil(a), std::ceil(x));
  CHECK("truncate", trunc(a), std::trunc(x));
  CHECK("to f32", to_f32(a), float(x));
  CHECK("from f32", to_f64(float(x)), double(float(x)));
  CHECK("to bf16", to_bf16(a).bits, nearestBFloat16(x));
  CHECK("f32 to bf16", to_bf16(float(x)).bits,
        std::isnan(float(x)) ? ushort((to_bits(float(x)) >> 16) | 64)
                             : nearestBFloat16(float(x)));
  CHECK("from bf16", to_f64(to_bf16(a)),
        double(__builtin_bit_cast(float, uint(to_bf16(a).bits) << 16)));
#undef CHECK
#define CHECK(name, type, got, want)                                           \
  check(name, count, seed, [](double x, double y, double) {                    \
    const type i = type(__builtin_bit_cast(ulong, x) ^                         \
                        (__builtin_bit_cast(ulong, y) >> 40));                 \
    return same(got, want);                                                    \
  })
  CHECK("from i32", int, to_f64(i), double(i));
  CHECK("from u32", uint, to_f64(i), double(i));
  CHECK("from i64", long, to_f64(i), double(i));
  CHECK("from u64", ulong, to_f64(i), double(i));
#undef CHECK
  check("to i64", count, seed, [](double x, double, double) {
    return !(std::fabs(x) < 0x1p63) || to_long(soft(x)) == long(x);
  });
  check("to i32", count, seed, [](double x, double, double) {
    return !(std::fabs(x) < 0x1p31) || to_int(soft(x)) == int(x);
  });
  return isFine ? 0 : 1;
}
