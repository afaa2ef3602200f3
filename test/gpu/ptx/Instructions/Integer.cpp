//===- Integer.cpp - Integer arithmetic -----------------------------------===//
//
// Overflow wraps. Division by zero, which PTX leaves open, gives all ones, as
// devices do.
//
//===----------------------------------------------------------------------===//

#include "Lanewise.h"

namespace hone::ptx {
namespace {

template <typename T> struct Wider;
template <> struct Wider<uint16_t> {
  using type = uint32_t;
};
template <> struct Wider<int16_t> {
  using type = int32_t;
};
template <> struct Wider<uint32_t> {
  using type = uint64_t;
};
template <> struct Wider<int32_t> {
  using type = int64_t;
};
template <> struct Wider<uint64_t> {
  using type = unsigned __int128;
};
template <> struct Wider<int64_t> {
  using type = __int128;
};

// 16 bits are computed in 32, so that nothing signed overflows.
template <typename T>
using Wrapping =
    typename std::conditional<sizeof(T) == 2, uint32_t, Unsigned<T>>::type;

struct Add {
  template <typename T> static T of(T a, T b) {
    return T(Wrapping<T>(a) + Wrapping<T>(b));
  }
};
struct Sub {
  template <typename T> static T of(T a, T b) {
    return T(Wrapping<T>(a) - Wrapping<T>(b));
  }
};
struct MulLo {
  template <typename T> static T of(T a, T b) {
    return T(Wrapping<T>(a) * Wrapping<T>(b));
  }
};
struct MulHi {
  template <typename T> static T of(T a, T b) {
    using W = typename Wider<T>::type;
    return T((W(a) * W(b)) >> (8 * sizeof(T)));
  }
};
struct MulWide {
  template <typename W, typename T> static W of(T a, T b) {
    return W(a) * W(b);
  }
};
struct MadLo {
  template <typename T> static T of(T a, T b, T c) {
    return Add::of<T>(MulLo::of<T>(a, b), c);
  }
};
struct MadHi {
  template <typename T> static T of(T a, T b, T c) {
    return Add::of<T>(MulHi::of<T>(a, b), c);
  }
};
struct MadWide {
  template <typename W, typename T> static W of(T a, T b, W c) {
    return Add::of<W>(W(a) * W(b), c);
  }
};
struct Div {
  template <typename T> static T of(T a, T b) {
    if (b == 0)
      return T(~T(0));
    if (std::is_signed<T>::value && b == T(-1))
      return Sub::of<T>(0, a);
    return T(a / b);
  }
};
struct Rem {
  template <typename T> static T of(T a, T b) {
    if (b == 0)
      return a;
    if (std::is_signed<T>::value && b == T(-1))
      return 0;
    return T(a % b);
  }
};
struct Min {
  template <typename T> static T of(T a, T b) { return a < b ? a : b; }
};
struct Max {
  template <typename T> static T of(T a, T b) { return a > b ? a : b; }
};
struct Neg {
  template <typename T> static T of(T a) { return Sub::of<T>(0, a); }
};
struct Abs {
  template <typename T> static T of(T a) {
    return a < 0 ? Sub::of<T>(0, a) : a;
  }
};

template <typename T> void addType(Operations &table) {
  const std::string type = "." + nameOf<T>();
  addLanewise<Add, T, T, T>(table, "add" + type);
  addLanewise<Sub, T, T, T>(table, "sub" + type);
  addLanewise<MulLo, T, T, T>(table, "mul.lo" + type);
  addLanewise<MulHi, T, T, T>(table, "mul.hi" + type);
  addLanewise<MadLo, T, T, T, T>(table, "mad.lo" + type);
  addLanewise<MadHi, T, T, T, T>(table, "mad.hi" + type);
  addLanewise<Div, T, T, T>(table, "div" + type);
  addLanewise<Rem, T, T, T>(table, "rem" + type);
  addLanewise<Min, T, T, T>(table, "min" + type);
  addLanewise<Max, T, T, T>(table, "max" + type);
  if constexpr (sizeof(T) < 8) {
    using W = typename Wider<T>::type;
    addLanewise<MulWide, W, T, T>(table, "mul.wide" + type);
    addLanewise<MadWide, W, T, T, W>(table, "mad.wide" + type);
  }
  if constexpr (std::is_signed<T>::value) {
    addLanewise<Neg, T, T>(table, "neg" + type);
    addLanewise<Abs, T, T>(table, "abs" + type);
  }
}

} // namespace

void addIntegerOperations(Operations &table) {
  addType<uint16_t>(table);
  addType<int16_t>(table);
  addType<uint32_t>(table);
  addType<int32_t>(table);
  addType<uint64_t>(table);
  addType<int64_t>(table);
}

} // namespace hone::ptx
