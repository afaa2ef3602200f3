//===- Convert.cpp - cvt and cvta -----------------------------------------===//
//
// A register may be wider than the type that is read or written: the low bits
// are meant, and those above are the sign or zero.
//
//===----------------------------------------------------------------------===//

#include "Float.h"
#include "Lanewise.h"

#include <cmath>
#include <limits>

namespace hone::ptx {
namespace {

struct BFloat16 {
  uint16_t bits;
};
struct Half {
  uint16_t bits;
};

enum class Rounding { None, Nearest, Zero, Down, Up };

template <typename T> T rounded(T value, Rounding how) {
  switch (how) {
  case Rounding::Nearest:
    return std::nearbyint(value);
  case Rounding::Zero:
    return std::trunc(value);
  case Rounding::Down:
    return std::floor(value);
  case Rounding::Up:
    return std::ceil(value);
  case Rounding::None:
    break;
  }
  return value;
}

template <typename To, typename From> To toInteger(From value, Rounding how) {
  if (value != value)
    return sizeof(From) == 8 || sizeof(To) == 8
               ? To(Unsigned<To>(1) << (8 * sizeof(To) - 1))
               : To(0);
  value = rounded(value, how);
  // Both limits are powers of two, or zero.
  const From above = std::ldexp(
      From(1), int(8 * sizeof(To)) - (std::is_signed<To>::value ? 1 : 0));
  if (value >= above)
    return std::numeric_limits<To>::max();
  if (value <= (std::is_signed<To>::value ? -above : From(0)))
    return std::numeric_limits<To>::min();
  return To(value);
}

/// To float: an integer rounded once, towards zero if that is wanted.
template <typename To, typename From> To fromInteger(From value, Rounding how) {
  To result = To(value);
  if (how == Rounding::Zero && value != 0) {
    const __int128 exact = value;
    const __int128 reached =
        std::fabs(double(result)) < 0x1p100 ? __int128(result) : 0;
    if ((exact > 0 && reached > exact) || (exact < 0 && reached < exact))
      result = std::nextafter(result, To(0));
  }
  return result;
}

template <typename To, typename From, Rounding how>
inline To convert(From value) {
  if constexpr (std::is_same<From, BFloat16>::value) {
    return convert<To, float, how>(fromBFloat16(value.bits));
  } else if constexpr (std::is_same<From, Half>::value) {
    _Float16 number;
    memcpy(&number, &value.bits, 2);
    return convert<To, float, how>(float(number));
  } else if constexpr (std::is_same<To, BFloat16>::value) {
    if (how == Rounding::Zero && value == value)
      return {uint16_t(bitsAs<uint32_t>(float(value)) >> 16)};
    return {toBFloat16(float(value))};
  } else if constexpr (std::is_same<To, Half>::value) {
    const _Float16 number = _Float16(float(value));
    Half half;
    memcpy(&half.bits, &number, 2);
    if (value != value)
      half.bits = 0x7fff;
    return half;
  } else if constexpr (std::is_integral<To>::value) {
    if constexpr (std::is_integral<From>::value)
      return To(value);
    else
      return toInteger<To>(value, how);
  } else if constexpr (std::is_integral<From>::value) {
    return fromInteger<To>(value, how);
  } else if constexpr (std::is_same<To, From>::value) {
    return canonical(rounded(value, how));
  } else {
    To result = To(value);
    if (how == Rounding::Zero &&
        std::fabs(double(result)) > std::fabs(double(value)))
      result = std::nextafter(result, To(0));
    return canonical(result);
  }
}

template <typename To, typename From, Rounding how>
void runConvert(Warp &warp, const Instruction &instruction, uint32_t mask) {
  const char *from = warp.lanes<char>(instruction.operands[1]);
  char *to = warp.lanes<char>(instruction.operands[0]);
  const unsigned toWidth = instruction.widths[0],
                 fromWidth = instruction.widths[1];
  if (mask == ~0u && toWidth == sizeof(To) && fromWidth == sizeof(From)) {
    To results[kLanes];
    const From *values = reinterpret_cast<const From *>(from);
    for (unsigned lane = 0; lane < kLanes; ++lane)
      results[lane] = convert<To, From, how>(values[lane]);
    memcpy(to, results, sizeof results);
    return;
  }
  eachLane(mask, [&](unsigned lane) {
    From value;
    memcpy(&value, from + lane * fromWidth, sizeof value);
    const To result = convert<To, From, how>(value);
    uint64_t bits = 0;
    if constexpr (std::is_integral<To>::value)
      bits = std::is_signed<To>::value ? uint64_t(int64_t(result))
                                       : uint64_t(result);
    else
      memcpy(&bits, &result, sizeof result);
    memcpy(to + lane * toWidth, &bits, toWidth);
  });
}

template <typename T> constexpr unsigned widthOf() { return sizeof(T); }

template <typename To, typename From, Rounding how>
bool decodeConvert(KernelBuilder &builder, const Statement &statement,
                   Instruction &instruction) {
  instruction.run = runConvert<To, From, how>;
  return statement.operands.size() == 2 &&
         builder.widePlace(statement, statement.operands[0], sizeof(To),
                           instruction.operands[0], instruction.widths[0]) &&
         builder.widePlace(statement, statement.operands[1], sizeof(From),
                           instruction.operands[1], instruction.widths[1]);
}

template <typename T> std::string typeName() {
  if constexpr (std::is_same<T, BFloat16>::value)
    return "bf16";
  else if constexpr (std::is_same<T, Half>::value)
    return "f16";
  else
    return nameOf<T>();
}

template <typename To, typename From, Rounding how>
void addOne(Operations &table, const char *rounding) {
  table.add(std::string("cvt") + rounding + "." + typeName<To>() + "." +
                typeName<From>(),
            decodeConvert<To, From, how>);
}

template <typename Integer> void addInteger(Operations &table) {
  addOne<Integer, uint8_t, Rounding::None>(table, "");
  addOne<Integer, int8_t, Rounding::None>(table, "");
  addOne<Integer, uint16_t, Rounding::None>(table, "");
  addOne<Integer, int16_t, Rounding::None>(table, "");
  addOne<Integer, uint32_t, Rounding::None>(table, "");
  addOne<Integer, int32_t, Rounding::None>(table, "");
  addOne<Integer, uint64_t, Rounding::None>(table, "");
  addOne<Integer, int64_t, Rounding::None>(table, "");
  addOne<Integer, float, Rounding::Nearest>(table, ".rni");
  addOne<Integer, float, Rounding::Zero>(table, ".rzi");
  addOne<Integer, float, Rounding::Down>(table, ".rmi");
  addOne<Integer, float, Rounding::Up>(table, ".rpi");
  addOne<Integer, double, Rounding::Nearest>(table, ".rni");
  addOne<Integer, double, Rounding::Zero>(table, ".rzi");
  addOne<Integer, double, Rounding::Down>(table, ".rmi");
  addOne<Integer, double, Rounding::Up>(table, ".rpi");
  addOne<float, Integer, Rounding::Nearest>(table, ".rn");
  addOne<float, Integer, Rounding::Zero>(table, ".rz");
  addOne<double, Integer, Rounding::Nearest>(table, ".rn");
  addOne<double, Integer, Rounding::Zero>(table, ".rz");
}

template <typename T> void addRoundToInteger(Operations &table) {
  addOne<T, T, Rounding::Nearest>(table, ".rni");
  addOne<T, T, Rounding::Zero>(table, ".rzi");
  addOne<T, T, Rounding::Down>(table, ".rmi");
  addOne<T, T, Rounding::Up>(table, ".rpi");
  addOne<T, T, Rounding::None>(table, "");
}

/// cvt.rn.bf16x2.f32 d, high, low.
void runPackBFloat16(Warp &warp, const Instruction &instruction,
                     uint32_t mask) {
  const float *high = warp.lanes<float>(instruction.operands[1]);
  const float *low = warp.lanes<float>(instruction.operands[2]);
  uint32_t *to = warp.lanes<uint32_t>(instruction.operands[0]);
  eachLane(mask, [&](unsigned lane) {
    to[lane] = uint32_t(toBFloat16(high[lane])) << 16 | toBFloat16(low[lane]);
  });
}

struct Saturate {
  template <typename T> static T of(T a) { return a > 1 ? 1 : a > 0 ? a : 0; }
};

template <uint64_t window, bool toWindow> struct MoveWindow {
  template <typename T> static T of(T a) {
    return toWindow ? a + window : a - window;
  }
};
struct Same {
  template <typename T> static T of(T a) { return a; }
};

} // namespace

void addConvertOperations(Operations &table) {
  addInteger<uint8_t>(table);
  addInteger<int8_t>(table);
  addInteger<uint16_t>(table);
  addInteger<int16_t>(table);
  addInteger<uint32_t>(table);
  addInteger<int32_t>(table);
  addInteger<uint64_t>(table);
  addInteger<int64_t>(table);
  addRoundToInteger<float>(table);
  addRoundToInteger<double>(table);
  addOne<double, float, Rounding::None>(table, "");
  addOne<float, double, Rounding::Nearest>(table, ".rn");
  addOne<float, double, Rounding::Zero>(table, ".rz");
  addOne<BFloat16, float, Rounding::Nearest>(table, ".rn");
  addOne<BFloat16, float, Rounding::Zero>(table, ".rz");
  addOne<float, BFloat16, Rounding::None>(table, "");
  addOne<double, BFloat16, Rounding::None>(table, "");
  addOne<Half, float, Rounding::Nearest>(table, ".rn");
  addOne<float, Half, Rounding::None>(table, "");
  table.add("cvt.rn.bf16x2.f32", "www", runPackBFloat16);
  addLanewise<Saturate, float, float>(table, "cvt.sat.f32.f32");

  using Address = uint64_t;
  for (const char *type : {".u64", ".b64"}) {
    const std::string end = type;
    addLanewise<Same, Address, Address>(table, "cvta.global" + end);
    addLanewise<Same, Address, Address>(table, "cvta.to.global" + end);
    addLanewise<MoveWindow<kSharedWindow, true>, Address, Address>(
        table, "cvta.shared" + end);
    addLanewise<MoveWindow<kSharedWindow, false>, Address, Address>(
        table, "cvta.to.shared" + end);
    addLanewise<MoveWindow<kLocalWindow, true>, Address, Address>(
        table, "cvta.local" + end);
    addLanewise<MoveWindow<kLocalWindow, false>, Address, Address>(
        table, "cvta.to.local" + end);
  }
}

} // namespace hone::ptx
