//===- Float.cpp - Arithmetic of f32, f64 and bf16 ------------------------===//
//
// Each operation is rounded once, to nearest: the processor's own, in a file
// that is compiled without contraction.
//
//===----------------------------------------------------------------------===//

#include "Float.h"

#include "Lanewise.h"

#include <cmath>
#include <cstring>

namespace hone::ptx {
namespace {

struct Add {
  template <typename T> static T of(T a, T b) { return canonical(a + b); }
};
struct Sub {
  template <typename T> static T of(T a, T b) { return canonical(a - b); }
};
struct Mul {
  template <typename T> static T of(T a, T b) { return canonical(a * b); }
};
struct Div {
  template <typename T> static T of(T a, T b) { return canonical(a / b); }
};
struct Fma {
  template <typename T> static T of(T a, T b, T c) {
    return canonical(T(std::fma(a, b, c)));
  }
};
struct Sqrt {
  template <typename T> static T of(T a) { return canonical(T(std::sqrt(a))); }
};
struct Reciprocal {
  template <typename T> static T of(T a) { return canonical(1 / a); }
};
/// -0 is below +0.
template <typename T> bool isBelow(T a, T b) {
  return a < b || (a == b && std::signbit(a) && !std::signbit(b));
}
struct Min {
  template <typename T> static T of(T a, T b) {
    return canonical(a != a ? b : b != b ? a : isBelow(b, a) ? b : a);
  }
};
struct Max {
  template <typename T> static T of(T a, T b) {
    return canonical(a != a ? b : b != b ? a : isBelow(a, b) ? b : a);
  }
};
struct MinNaN {
  template <typename T> static T of(T a, T b) {
    return a != a ? canonical(a) : b != b ? canonical(b) : Min::of<T>(a, b);
  }
};
struct MaxNaN {
  template <typename T> static T of(T a, T b) {
    return a != a ? canonical(a) : b != b ? canonical(b) : Max::of<T>(a, b);
  }
};
struct Neg {
  template <typename T> static T of(T a) { return -a; }
};
struct Abs {
  template <typename T> static T of(T a) { return std::fabs(a); }
};
struct CopySign { // the first operand's sign
  template <typename T> static T of(T a, T b) { return std::copysign(b, a); }
};

/// x y + z of bf16, which LLVM makes of sums and products that are rounded to
/// it at once. The product is exact in double; the sum is rounded to odd there
/// and in float, so that it is rounded once in effect.
uint16_t fmaOfBFloat16(uint16_t x, uint16_t y, uint16_t z) {
  const double product = double(fromBFloat16(x)) * double(fromBFloat16(y)),
               other = fromBFloat16(z), sum = product + other;
  if (!std::isfinite(sum))
    return toBFloat16(float(sum));
  const double back = sum - product;
  const double error = (product - (sum - back)) + (other - back);
  double odd = sum;
  uint64_t bits;
  memcpy(&bits, &odd, sizeof(bits));
  if (error != 0 && bits % 2 == 0)
    odd = std::nextafter(odd, error > 0 ? HUGE_VAL : -HUGE_VAL);
  float rounded = float(odd);
  if (std::fabs(double(rounded)) > std::fabs(odd))
    rounded = std::nextafter(rounded, 0.0f);
  if (double(rounded) != odd) {
    uint32_t word;
    memcpy(&word, &rounded, sizeof(word));
    word |= 1;
    memcpy(&rounded, &word, sizeof(word));
  }
  return toBFloat16(rounded);
}
struct FmaOfBFloat16 {
  template <typename T> static T of(T a, T b, T c) {
    return fmaOfBFloat16(a, b, c);
  }
};
constexpr uint16_t kOne = 0x3f80, kMinus = 0x8000;
struct AddOfBFloat16 {
  template <typename T> static T of(T a, T b) {
    return fmaOfBFloat16(a, kOne, b);
  }
};
struct SubOfBFloat16 {
  template <typename T> static T of(T a, T b) {
    return fmaOfBFloat16(a, kOne, b ^ kMinus);
  }
};
struct MulOfBFloat16 {
  template <typename T> static T of(T a, T b) {
    return fmaOfBFloat16(a, b, kMinus); // -0 stays -0
  }
};

template <typename T> void addType(Operations &table) {
  const std::string type = "." + nameOf<T>();
  addLanewise<Add, T, T, T>(table, "add.rn" + type);
  addLanewise<Sub, T, T, T>(table, "sub.rn" + type);
  addLanewise<Mul, T, T, T>(table, "mul.rn" + type);
  addLanewise<Div, T, T, T>(table, "div.rn" + type);
  addLanewise<Fma, T, T, T, T>(table, "fma.rn" + type);
  addLanewise<Fma, T, T, T, T>(table, "mad.rn" + type);
  addLanewise<Sqrt, T, T>(table, "sqrt.rn" + type);
  addLanewise<Reciprocal, T, T>(table, "rcp.rn" + type);
  addLanewise<Min, T, T, T>(table, "min" + type);
  addLanewise<Max, T, T, T>(table, "max" + type);
  addLanewise<Neg, T, T>(table, "neg" + type);
  addLanewise<Abs, T, T>(table, "abs" + type);
  addLanewise<CopySign, T, T, T>(table, "copysign" + type);
}

} // namespace

void addFloatOperations(Operations &table) {
  addType<float>(table);
  addType<double>(table);
  addLanewise<MinNaN, float, float, float>(table, "min.NaN.f32");
  addLanewise<MaxNaN, float, float, float>(table, "max.NaN.f32");
  using Word = uint16_t;
  addLanewise<FmaOfBFloat16, Word, Word, Word, Word>(table, "fma.rn.bf16");
  addLanewise<AddOfBFloat16, Word, Word, Word>(table, "add.rn.bf16");
  addLanewise<SubOfBFloat16, Word, Word, Word>(table, "sub.rn.bf16");
  addLanewise<MulOfBFloat16, Word, Word, Word>(table, "mul.rn.bf16");
}

} // namespace hone::ptx
