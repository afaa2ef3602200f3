//===- Compare.cpp - Comparisons and choices ------------------------------===//

#include "Lanewise.h"

namespace hone::ptx {
namespace {

struct Eq {
  template <typename T> static bool of(T a, T b) { return a == b; }
};
struct Ne {
  template <typename T> static bool of(T a, T b) { return a < b || a > b; }
};
struct Lt {
  template <typename T> static bool of(T a, T b) { return a < b; }
};
struct Le {
  template <typename T> static bool of(T a, T b) { return a <= b; }
};
struct Gt {
  template <typename T> static bool of(T a, T b) { return a > b; }
};
struct Ge {
  template <typename T> static bool of(T a, T b) { return a >= b; }
};
struct Num {
  template <typename T> static bool of(T a, T b) { return a == a && b == b; }
};
/// True also where a number is none.
template <typename Opposite> struct Unless {
  template <typename T> static bool of(T a, T b) {
    return !Opposite::template of<T>(a, b);
  }
};

template <typename Function, typename T>
void runCompare(Warp &warp, const Instruction &instruction, uint32_t mask) {
  const T *a = warp.lanes<T>(instruction.operands[1]);
  const T *b = warp.lanes<T>(instruction.operands[2]);
  uint32_t bits = 0;
  for (unsigned lane = 0; lane < kLanes; ++lane)
    bits |= uint32_t(Function::template of<T>(a[lane], b[lane])) << lane;
  uint32_t &to = warp.predicate(instruction.operands[0]);
  to = (to & ~mask) | (bits & mask);
}

template <typename Function, typename T>
void addCompare(Operations &table, const std::string &relation,
                const std::string &type) {
  static const char widths[] = {'p', letter<T>(), letter<T>(), 0};
  table.add("setp." + relation + "." + type, widths, runCompare<Function, T>);
}

template <typename T>
void addOrder(Operations &table, const std::string &type) {
  addCompare<Eq, T>(table, "eq", type);
  addCompare<Ne, T>(table, "ne", type);
  addCompare<Lt, T>(table, "lt", type);
  addCompare<Le, T>(table, "le", type);
  addCompare<Gt, T>(table, "gt", type);
  addCompare<Ge, T>(table, "ge", type);
}

template <typename T> void addIntegers(Operations &table) {
  using S = typename std::make_signed<T>::type;
  addOrder<T>(table, nameOf<T>());
  addOrder<S>(table, nameOf<S>());
  addCompare<Lt, T>(table, "lo", nameOf<T>());
  addCompare<Le, T>(table, "ls", nameOf<T>());
  addCompare<Gt, T>(table, "hi", nameOf<T>());
  addCompare<Ge, T>(table, "hs", nameOf<T>());
  const std::string bits = "b" + std::to_string(8 * sizeof(T));
  addCompare<Eq, T>(table, "eq", bits);
  addCompare<Ne, T>(table, "ne", bits);
}

template <typename T> void addFloats(Operations &table) {
  addOrder<T>(table, nameOf<T>());
  addCompare<Unless<Ne>, T>(table, "equ", nameOf<T>());
  addCompare<Unless<Eq>, T>(table, "neu", nameOf<T>());
  addCompare<Unless<Ge>, T>(table, "ltu", nameOf<T>());
  addCompare<Unless<Gt>, T>(table, "leu", nameOf<T>());
  addCompare<Unless<Le>, T>(table, "gtu", nameOf<T>());
  addCompare<Unless<Lt>, T>(table, "geu", nameOf<T>());
  addCompare<Num, T>(table, "num", nameOf<T>());
  addCompare<Unless<Num>, T>(table, "nan", nameOf<T>());
}

template <typename T>
void runSelect(Warp &warp, const Instruction &instruction, uint32_t mask) {
  const T *a = warp.lanes<T>(instruction.operands[1]);
  const T *b = warp.lanes<T>(instruction.operands[2]);
  const uint32_t chosen = warp.predicate(instruction.operands[3]);
  T *to = warp.lanes<T>(instruction.operands[0]);
  eachLane(mask, [&](unsigned lane) {
    to[lane] = chosen >> lane & 1 ? a[lane] : b[lane];
  });
}

template <typename T> void addSelect(Operations &table) {
  static const char widths[] = {letter<T>(), letter<T>(), letter<T>(), 'p', 0};
  for (const char *kind : {"b", "u", "s", "f"})
    table.add("selp." + std::string(kind) + std::to_string(8 * sizeof(T)),
              widths, runSelect<T>);
}

} // namespace

void addCompareOperations(Operations &table) {
  addIntegers<uint16_t>(table);
  addIntegers<uint32_t>(table);
  addIntegers<uint64_t>(table);
  addFloats<float>(table);
  addFloats<double>(table);
  addSelect<uint16_t>(table);
  addSelect<uint32_t>(table);
  addSelect<uint64_t>(table);
}

} // namespace hone::ptx
