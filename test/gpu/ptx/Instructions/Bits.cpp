//===- Bits.cpp - Logic, shifts, fields and permutations ------------------===//

#include "Lanewise.h"

namespace hone::ptx {
namespace {

struct And {
  template <typename T> static T of(T a, T b) { return T(a & b); }
};
struct Or {
  template <typename T> static T of(T a, T b) { return T(a | b); }
};
struct Xor {
  template <typename T> static T of(T a, T b) { return T(a ^ b); }
};
struct Not {
  template <typename T> static T of(T a) { return T(~a); }
};
struct Shl {
  template <typename T> static T of(T a, uint32_t by) {
    return by >= 8 * sizeof(T) ? T(0) : T(Unsigned<T>(a) << by);
  }
};
struct Shr { // of signed types: shifts in the sign
  template <typename T> static T of(T a, uint32_t by) {
    const uint32_t most = 8 * sizeof(T) - 1;
    if (by > most)
      return std::is_signed<T>::value ? T(a >> most) : T(0);
    return T(a >> by);
  }
};
struct FunnelLeft {
  template <typename T> static T of(T low, T high, T by) {
    return T(((uint64_t(high) << 32 | low) << (by & 31)) >> 32);
  }
};
struct FunnelRight {
  template <typename T> static T of(T low, T high, T by) {
    return T((uint64_t(high) << 32 | low) >> (by & 31));
  }
};
struct FunnelLeftClamp {
  template <typename T> static T of(T low, T high, T by) {
    return by >= 32 ? low : FunnelLeft::of<T>(low, high, by);
  }
};
struct FunnelRightClamp {
  template <typename T> static T of(T low, T high, T by) {
    return by >= 32 ? high : FunnelRight::of<T>(low, high, by);
  }
};
struct ExtractField {
  template <typename T> static T of(T a, uint32_t at, uint32_t length) {
    const unsigned most = 8 * sizeof(T) - 1;
    at &= 255;
    length &= 255;
    uint64_t bits = 0;
    const bool sign = std::is_signed<T>::value && length != 0 &&
                      (Unsigned<T>(a) >> std::min(at + length - 1, most) & 1);
    for (unsigned i = 0; i <= most; ++i) {
      const bool bit = i < length && at + i <= most
                           ? (Unsigned<T>(a) >> (at + i) & 1) != 0
                           : sign;
      bits |= uint64_t(bit) << i;
    }
    return T(bits);
  }
};
struct InsertField {
  template <typename T> static T of(T a, T b, uint32_t at, uint32_t length) {
    const unsigned most = 8 * sizeof(T) - 1;
    at &= 255;
    length &= 255;
    for (unsigned i = 0; i < length && at + i <= most; ++i)
      b = T((b & ~(T(1) << (at + i))) | ((a >> i & 1) << (at + i)));
    return b;
  }
};
struct Population {
  template <typename T, typename A> static T of(A a) {
    return T(__builtin_popcountll(a));
  }
};
struct LeadingZeros {
  template <typename T, typename A> static T of(A a) {
    return a ? T(__builtin_clzll(a) - (64 - 8 * sizeof(A))) : 8 * sizeof(A);
  }
};
struct Reverse {
  template <typename T> static T of(T a) {
    T result = 0;
    for (unsigned i = 0; i < 8 * sizeof(T); ++i)
      result |= (a >> i & 1) << (8 * sizeof(T) - 1 - i);
    return result;
  }
};
struct Permute {
  template <typename T> static T of(T a, T b, T selector) {
    const uint64_t bytes = uint64_t(b) << 32 | a;
    T result = 0;
    for (unsigned i = 0; i < 4; ++i) {
      const uint32_t which = selector >> 4 * i & 15;
      uint32_t byte = bytes >> 8 * (which & 7) & 255;
      if (which & 8)
        byte = byte & 128 ? 255 : 0;
      result |= byte << 8 * i;
    }
    return result;
  }
};
struct Logic3 {
  template <typename T> static T of(T a, T b, T c, T table) {
    T result = 0;
    for (unsigned i = 0; i < 8; ++i)
      if (table >> i & 1)
        result |= (i & 4 ? a : ~a) & (i & 2 ? b : ~b) & (i & 1 ? c : ~c);
    return result;
  }
};

template <typename Function>
void runPredicates(Warp &warp, const Instruction &instruction, uint32_t mask) {
  const uint32_t a = warp.predicate(instruction.operands[1]);
  const uint32_t b = warp.predicate(instruction.operands[2]);
  uint32_t &to = warp.predicate(instruction.operands[0]);
  to = (to & ~mask) | (Function::template of<uint32_t>(a, b) & mask);
}
void runNotPredicate(Warp &warp, const Instruction &instruction,
                     uint32_t mask) {
  const uint32_t a = warp.predicate(instruction.operands[1]);
  uint32_t &to = warp.predicate(instruction.operands[0]);
  to = (to & ~mask) | (~a & mask);
}

template <typename T> void addLogic(Operations &table) {
  const std::string type = ".b" + std::to_string(8 * sizeof(T));
  addLanewise<And, T, T, T>(table, "and" + type);
  addLanewise<Or, T, T, T>(table, "or" + type);
  addLanewise<Xor, T, T, T>(table, "xor" + type);
  addLanewise<Not, T, T>(table, "not" + type);
  addLanewise<Shl, T, T, uint32_t>(table, "shl" + type);
  addLanewise<Shr, T, T, uint32_t>(table, "shr" + type);
  addLanewise<Shr, T, T, uint32_t>(table, "shr." + nameOf<T>());
  using S = typename std::make_signed<T>::type;
  addLanewise<Shr, S, S, uint32_t>(table, "shr." + nameOf<S>());
}

template <typename T> void addFields(Operations &table) {
  const std::string bits = ".b" + std::to_string(8 * sizeof(T));
  using S = typename std::make_signed<T>::type;
  addLanewise<ExtractField, T, T, uint32_t, uint32_t>(table,
                                                      "bfe." + nameOf<T>());
  addLanewise<ExtractField, S, S, uint32_t, uint32_t>(table,
                                                      "bfe." + nameOf<S>());
  addLanewise<InsertField, T, T, T, uint32_t, uint32_t>(table, "bfi" + bits);
  addLanewise<Population, uint32_t, T>(table, "popc" + bits);
  addLanewise<LeadingZeros, uint32_t, T>(table, "clz" + bits);
  addLanewise<Reverse, T, T>(table, "brev" + bits);
}

} // namespace

void addBitOperations(Operations &table) {
  addLogic<uint16_t>(table);
  addLogic<uint32_t>(table);
  addLogic<uint64_t>(table);
  addFields<uint32_t>(table);
  addFields<uint64_t>(table);
  table.add("and.pred", "ppp", runPredicates<And>);
  table.add("or.pred", "ppp", runPredicates<Or>);
  table.add("xor.pred", "ppp", runPredicates<Xor>);
  table.add("not.pred", "pp", runNotPredicate);
  using W = uint32_t;
  addLanewise<FunnelLeft, W, W, W, W>(table, "shf.l.wrap.b32");
  addLanewise<FunnelRight, W, W, W, W>(table, "shf.r.wrap.b32");
  addLanewise<FunnelLeftClamp, W, W, W, W>(table, "shf.l.clamp.b32");
  addLanewise<FunnelRightClamp, W, W, W, W>(table, "shf.r.clamp.b32");
  addLanewise<Permute, W, W, W, W>(table, "prmt.b32");
  addLanewise<Logic3, W, W, W, W, W>(table, "lop3.b32");
}

} // namespace hone::ptx
