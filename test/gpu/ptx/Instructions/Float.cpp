//===- Float.cpp - Arithmetic of f32 and f64 ------------------------------===//
//
// Each operation is rounded once, to nearest: the processor's own, in a file
// that is compiled without contraction.
//
//===----------------------------------------------------------------------===//

#include "Float.h"

#include "Lanewise.h"

#include <cmath>

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
}

} // namespace hone::ptx
