//===- InstructionsTest.cpp - Each instruction against host arithmetic ----===//

#include "../Instructions/Float.h"
#include "RunPtx.h"

#include <cmath>
#include <functional>
#include <random>

using namespace hone::ptx;

namespace {

using Lanes = std::vector<uint64_t>;

/// A kernel that is one instruction: `letters` as in Operation::operands, then
/// one array of 64 bits for each operand but those that are `immediate`.
std::string oneInstruction(const std::string &opcode,
                           const std::string &letters) {
  const std::string types = "phwd";
  std::string parameters = ".param .u64 out", declared, loads, operands;
  auto bits = [](char letter) {
    return letter == 'h' ? "16" : letter == 'w' ? "32" : "64";
  };
  for (size_t i = 0; i < letters.size(); ++i) {
    const std::string name = "%v" + std::to_string(i);
    declared += letters[i] == 'p' ? ".reg .pred " + name + ";\n"
                                  : ".reg .b" + std::string(bits(letters[i])) +
                                        " " + name + ";\n";
    operands += (i ? ", " : " ") + name;
    if (i == 0)
      continue;
    const std::string in = "in" + std::to_string(i);
    parameters += ", .param .u64 " + in;
    loads += "ld.param.u64 %at, [" + in + "];\nadd.s64 %at, %at, %step;\n";
    if (letters[i] == 'p')
      loads +=
          "ld.global.b64 %wide, [%at];\nsetp.ne.b64 " + name + ", %wide, 0;\n";
    else
      loads += std::string("ld.global.b") + bits(letters[i]) + " " + name +
               ", [%at];\n";
  }
  std::string store;
  if (letters[0] == 'p')
    store = "selp.b64 %wide, 1, 0, %v0;\n";
  else if (letters[0] == 'd')
    store = "mov.b64 %wide, %v0;\n";
  else
    store = std::string("cvt.u64.u") + bits(letters[0]) + " %wide, %v0;\n";
  return RunPtx::kernel(
      parameters, ".reg .b32 %tid;\n.reg .b64 %at, %step, %wide;\n" + declared +
                      "mov.u32 %tid, %tid.x;\nmul.wide.u32 %step, %tid, 8;\n" +
                      loads + opcode + operands + ";\n" + store +
                      "ld.param.u64 %at, [out];\nadd.s64 %at, %at, %step;\n"
                      "st.global.b64 [%at], %wide;\n");
}

/// Values that are interesting as integers and as floats, then random ones.
Lanes interesting(unsigned seed, char letter) {
  static const uint64_t words[] = {
      0,          1,          0xffffffff, 0x80000000, 0x7fffffff, 31,
      0x3f800000, 0xbf800000, 0x7f800000, 0xff800000, 0x7fc00000, 0x00000001,
      0x40490fdb, 0x5f000000, 0x4f800000, 0x3effffff, 7,          0x80};
  std::mt19937_64 random(seed);
  Lanes lanes(256);
  for (uint64_t &lane : lanes) {
    const uint64_t choice = random() % 4;
    if (letter == 'd')
      lane = choice == 0   ? words[random() % std::size(words)]
             : choice == 1 ? bitsAs<uint64_t>(double(bitsAs<float>(
                                 uint32_t(words[random() % std::size(words)]))))
             : choice == 2
                 ? bitsAs<uint64_t>(std::ldexp(double(random() % 1000000) - 5e5,
                                               int(random() % 40) - 20))
                 : random();
    else
      lane = choice < 2 ? words[random() % std::size(words)]
             : choice == 2
                 ? bitsAs<uint32_t>(std::ldexp(float(random() % 100000) - 5e4f,
                                               int(random() % 40) - 20))
                 : random();
    if (letter == 'p')
      lane &= 1;
  }
  return lanes;
}

/// `expected` gets the low bits of each operand and returns the result's.
void check(const std::string &opcode, const std::string &letters,
           std::function<uint64_t(uint64_t, uint64_t, uint64_t)> expected) {
  RunPtx run(oneInstruction(opcode, letters));
  if (!run.module)
    return;
  std::vector<Lanes> inputs(4, Lanes(256));
  std::vector<uint64_t> addresses(4);
  for (size_t i = 1; i < letters.size(); ++i) {
    inputs[i - 1] = interesting(unsigned(i), letters[i]);
    addresses[i - 1] = run.upload(inputs[i - 1]);
  }
  const uint64_t out = run.allocate(256 * 8);
  ASSERT_TRUE(run.launch(
      {out, addresses[0], addresses[1], addresses[2], addresses[3]}, 1, 256))
      << opcode << ": " << run.error;
  auto low = [](uint64_t value, char letter) {
    return letter == 'p'   ? value & 1
           : letter == 'h' ? value & 0xffff
           : letter == 'w' ? value & 0xffffffff
                           : value;
  };
  const Lanes results = run.download<uint64_t>(out, 256);
  for (unsigned lane = 0; lane < 256; ++lane) {
    uint64_t operand[3] = {};
    for (size_t i = 1; i < letters.size() && i < 4; ++i)
      operand[i - 1] = low(inputs[i - 1][lane], letters[i]);
    const uint64_t wanted =
        low(expected(operand[0], operand[1], operand[2]), letters[0]);
    ASSERT_EQ(results[lane], wanted)
        << opcode << " of " << std::hex << operand[0] << ", " << operand[1]
        << ", " << operand[2];
  }
}

template <typename T> uint64_t bitsOf(T value) {
  uint64_t bits = 0;
  memcpy(&bits, &value, sizeof value);
  return bits;
}
template <typename T> T valueOf(uint64_t bits) {
  T value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

template <typename T>
void checkFloat(const std::string &opcode, const std::string &letters,
                std::function<T(T, T, T)> expected) {
  check(opcode, letters, [&](uint64_t a, uint64_t b, uint64_t c) {
    const T result = expected(valueOf<T>(a), valueOf<T>(b), valueOf<T>(c));
    return bitsOf(canonical(result));
  });
}

template <typename T> void checkFloats(const std::string &type, char letter) {
  const std::string one(2, letter), two(3, letter), three(4, letter);
  checkFloat<T>("add.rn" + type, two, [](T a, T b, T) { return a + b; });
  checkFloat<T>("sub.rn" + type, two, [](T a, T b, T) { return a - b; });
  checkFloat<T>("mul.rn" + type, two, [](T a, T b, T) { return a * b; });
  checkFloat<T>("div.rn" + type, two, [](T a, T b, T) { return a / b; });
  checkFloat<T>("fma.rn" + type, three,
                [](T a, T b, T c) { return std::fma(a, b, c); });
  checkFloat<T>("sqrt.rn" + type, one, [](T a, T, T) { return std::sqrt(a); });
  checkFloat<T>("rcp.rn" + type, one, [](T a, T, T) { return 1 / a; });
  checkFloat<T>("min" + type, two, [](T a, T b, T) {
    return a == b ? (std::signbit(a) ? a : b) : std::fmin(a, b);
  });
  checkFloat<T>("max" + type, two, [](T a, T b, T) {
    return a == b ? (std::signbit(a) ? b : a) : std::fmax(a, b);
  });
  const std::string compare = std::string("p") + letter + letter;
  auto relation = [&](const char *name, bool (*holds)(T, T)) {
    check(std::string("setp.") + name + type, compare,
          [&](uint64_t a, uint64_t b, uint64_t) {
            return uint64_t(holds(valueOf<T>(a), valueOf<T>(b)));
          });
  };
  relation("eq", [](T a, T b) { return a == b; });
  relation("ne", [](T a, T b) { return a == a && b == b && a != b; });
  relation("lt", [](T a, T b) { return a < b; });
  relation("ge", [](T a, T b) { return a >= b; });
  relation("neu", [](T a, T b) { return a != b; });
  relation("ltu", [](T a, T b) { return !(a >= b); });
  relation("geu", [](T a, T b) { return !(a < b); });
  relation("nan", [](T a, T b) { return a != a || b != b; });
}

} // namespace

TEST(Instructions, IntegersWrapAsTheHostsDo) {
  check("add.s32", "www",
        [](uint64_t a, uint64_t b, uint64_t) { return a + b; });
  check("sub.s32", "www",
        [](uint64_t a, uint64_t b, uint64_t) { return a - b; });
  check("add.s16", "hhh",
        [](uint64_t a, uint64_t b, uint64_t) { return a + b; });
  check("add.s64", "ddd",
        [](uint64_t a, uint64_t b, uint64_t) { return a + b; });
  check("mul.lo.s32", "www",
        [](uint64_t a, uint64_t b, uint64_t) { return a * b; });
  check("mul.lo.s64", "ddd",
        [](uint64_t a, uint64_t b, uint64_t) { return a * b; });
  check("mul.hi.u32", "www",
        [](uint64_t a, uint64_t b, uint64_t) { return a * b >> 32; });
  check("mul.hi.s32", "www", [](uint64_t a, uint64_t b, uint64_t) {
    return uint64_t(int64_t(int32_t(a)) * int32_t(b) >> 32);
  });
  check("mul.hi.u64", "ddd", [](uint64_t a, uint64_t b, uint64_t) {
    return uint64_t((unsigned __int128)a * b >> 64);
  });
  check("mul.wide.u32", "dww",
        [](uint64_t a, uint64_t b, uint64_t) { return a * b; });
  check("mul.wide.s32", "dww", [](uint64_t a, uint64_t b, uint64_t) {
    return uint64_t(int64_t(int32_t(a)) * int32_t(b));
  });
  check("mul.wide.s16", "whh", [](uint64_t a, uint64_t b, uint64_t) {
    return uint64_t(int16_t(a) * int16_t(b));
  });
  check("mad.lo.s32", "wwww",
        [](uint64_t a, uint64_t b, uint64_t c) { return a * b + c; });
  check("mad.wide.u32", "dwwd",
        [](uint64_t a, uint64_t b, uint64_t c) { return a * b + c; });
  check("div.u32", "www",
        [](uint64_t a, uint64_t b, uint64_t) { return b ? a / b : ~0ull; });
  check("div.s32", "www", [](uint64_t a, uint64_t b, uint64_t) {
    return b ? uint64_t(int64_t(int32_t(a)) / int32_t(b)) : ~0ull;
  });
  check("rem.u64", "ddd",
        [](uint64_t a, uint64_t b, uint64_t) { return b ? a % b : a; });
  check("rem.s32", "www", [](uint64_t a, uint64_t b, uint64_t) {
    return b ? uint64_t(int64_t(int32_t(a)) % int32_t(b)) : a;
  });
  check("min.s32", "www", [](uint64_t a, uint64_t b, uint64_t) {
    return uint64_t(std::min(int32_t(a), int32_t(b)));
  });
  check("max.u64", "ddd",
        [](uint64_t a, uint64_t b, uint64_t) { return std::max(a, b); });
  check("neg.s64", "dd", [](uint64_t a, uint64_t, uint64_t) { return 0 - a; });
  check("abs.s32", "ww", [](uint64_t a, uint64_t, uint64_t) {
    return int32_t(a) < 0 ? 0 - a : a;
  });
}

TEST(Instructions, BitsAndFields) {
  check("and.b32", "www",
        [](uint64_t a, uint64_t b, uint64_t) { return a & b; });
  check("or.b64", "ddd",
        [](uint64_t a, uint64_t b, uint64_t) { return a | b; });
  check("xor.b16", "hhh",
        [](uint64_t a, uint64_t b, uint64_t) { return a ^ b; });
  check("not.b32", "ww", [](uint64_t a, uint64_t, uint64_t) { return ~a; });
  check("xor.pred", "ppp",
        [](uint64_t a, uint64_t b, uint64_t) { return a ^ b; });
  check("not.pred", "pp", [](uint64_t a, uint64_t, uint64_t) { return !a; });
  check("shl.b32", "www",
        [](uint64_t a, uint64_t b, uint64_t) { return b > 31 ? 0 : a << b; });
  check("shr.u64", "ddw",
        [](uint64_t a, uint64_t b, uint64_t) { return b > 63 ? 0 : a >> b; });
  check("shr.s32", "www", [](uint64_t a, uint64_t b, uint64_t) {
    return uint64_t(int32_t(a) >> std::min<uint64_t>(b, 31));
  });
  check("shf.l.wrap.b32", "wwww", [](uint64_t a, uint64_t b, uint64_t c) {
    return (b << 32 | a) << (c & 31) >> 32;
  });
  check("shf.r.wrap.b32", "wwww", [](uint64_t a, uint64_t b, uint64_t c) {
    return (b << 32 | a) >> (c & 31);
  });
  check("popc.b32", "ww", [](uint64_t a, uint64_t, uint64_t) {
    return uint64_t(__builtin_popcountll(a));
  });
  check("clz.b32", "ww", [](uint64_t a, uint64_t, uint64_t) {
    return uint64_t(a ? __builtin_clz(uint32_t(a)) : 32);
  });
  check("bfe.u32", "wwww", [](uint64_t a, uint64_t at, uint64_t length) {
    at &= 255, length &= 255;
    uint64_t result = at > 31 ? 0 : a >> at;
    return length > 31 ? result : result & ((1ull << length) - 1);
  });
  check("prmt.b32", "wwww", [](uint64_t a, uint64_t b, uint64_t s) {
    uint64_t result = 0;
    for (int i = 0; i < 4; ++i) {
      const unsigned pick = unsigned(s >> 4 * i & 15);
      uint64_t byte = (pick & 4 ? b : a) >> 8 * (pick & 3) & 255;
      if (pick & 8)
        byte = byte > 127 ? 255 : 0;
      result |= byte << 8 * i;
    }
    return result;
  });
}

TEST(Instructions, FloatsAreRoundedOnce) {
  checkFloats<float>(".f32", 'w');
  checkFloats<double>(".f64", 'd');
  check("neg.f32", "ww",
        [](uint64_t a, uint64_t, uint64_t) { return a ^ 0x80000000; });
  check("abs.f64", "dd",
        [](uint64_t a, uint64_t, uint64_t) { return a & 0x7fffffffffffffff; });
  check("max.NaN.f32", "www", [](uint64_t a, uint64_t b, uint64_t) {
    const float x = valueOf<float>(a), y = valueOf<float>(b);
    if (x != x || y != y)
      return uint64_t(0x7fffffff);
    return bitsOf(x == y ? (std::signbit(x) ? y : x) : std::max(x, y));
  });
  check("selp.f32", "wwwp",
        [](uint64_t a, uint64_t b, uint64_t p) { return p ? a : b; });
}

TEST(Instructions, Conversions) {
  check("cvt.rn.f32.f64", "wd", [](uint64_t a, uint64_t, uint64_t) {
    return bitsOf(canonical(float(valueOf<double>(a))));
  });
  check("cvt.f64.f32", "dw", [](uint64_t a, uint64_t, uint64_t) {
    return bitsOf(double(valueOf<float>(a)));
  });
  check("cvt.rn.f32.s64", "wd", [](uint64_t a, uint64_t, uint64_t) {
    return bitsOf(float(int64_t(a)));
  });
  check("cvt.rn.f64.u32", "dw", [](uint64_t a, uint64_t, uint64_t) {
    return bitsOf(double(uint32_t(a)));
  });
  check("cvt.rzi.s32.f32", "ww", [](uint64_t a, uint64_t, uint64_t) {
    const float x = valueOf<float>(a);
    if (x != x)
      return uint64_t(0);
    return uint64_t(x >= 0x1p31f    ? INT32_MAX
                    : x <= -0x1p31f ? INT32_MIN
                                    : int32_t(x));
  });
  check("cvt.rni.s64.f64", "dd", [](uint64_t a, uint64_t, uint64_t) {
    const double x = valueOf<double>(a);
    if (x != x)
      return uint64_t(INT64_MIN);
    return uint64_t(x >= 0x1p63    ? INT64_MAX
                    : x <= -0x1p63 ? INT64_MIN
                                   : int64_t(std::nearbyint(x)));
  });
  check("cvt.rmi.f32.f32", "ww", [](uint64_t a, uint64_t, uint64_t) {
    return bitsOf(canonical(std::floor(valueOf<float>(a))));
  });
  check("cvt.s64.s32", "dw",
        [](uint64_t a, uint64_t, uint64_t) { return uint64_t(int32_t(a)); });
  check("cvt.u32.u8", "wh",
        [](uint64_t a, uint64_t, uint64_t) { return a & 255; });
  check("cvt.s32.s8", "wh",
        [](uint64_t a, uint64_t, uint64_t) { return uint64_t(int8_t(a)); });
  check("cvt.u16.u64", "hd", [](uint64_t a, uint64_t, uint64_t) { return a; });
  check("cvt.rn.bf16.f32", "hw", [](uint64_t a, uint64_t, uint64_t) {
    // To nearest, by distance.
    const float x = valueOf<float>(a);
    if (x != x)
      return uint64_t(0x7fff);
    const uint64_t down = a >> 16, up = down + 1;
    const double below = fromBFloat16(uint16_t(down)),
                 above = (up & 0x7fff) == 0x7f80
                             ? std::copysign(0x1p128, double(x))
                             : double(fromBFloat16(uint16_t(up)));
    if ((a & 0xffff) == 0)
      return down;
    const double toBelow = std::fabs(x - below), toAbove = std::fabs(above - x);
    return toBelow < toAbove || (toBelow == toAbove && down % 2 == 0) ? down
                                                                      : up;
  });
  check("fma.rn.bf16", "hhhh", [](uint64_t a, uint64_t b, uint64_t c) {
    const auto of = [](uint64_t bits) {
      return static_cast<long double>(fromBFloat16(uint16_t(bits)));
    };
    const long double x = of(a) * of(b) + of(c);
    if (x != x)
      return uint64_t(0x7fff);
    if (std::isinf(x))
      return uint64_t(x < 0 ? 0xff80 : 0x7f80);
    // To nearest, by distance: of the neighbours of the truncated number.
    const float cut = float(x);
    uint64_t down = bitsOf(cut) >> 16;
    if (std::fabs(static_cast<long double>(fromBFloat16(uint16_t(down)))) >
        std::fabs(x))
      --down;
    const uint64_t up = down + 1;
    const long double above =
        (up & 0x7fff) == 0x7f80 ? std::copysign(0x1p128L, x) : of(up);
    const long double toDown = std::fabs(x - of(down)),
                      toUp = std::fabs(above - x);
    return toDown < toUp || (toDown == toUp && down % 2 == 0) ? down : up;
  });
  check("cvt.f32.bf16", "wh", [](uint64_t a, uint64_t, uint64_t) {
    return bitsOf(canonical(valueOf<float>(a << 16)));
  });
  check("cvt.f64.bf16", "dh", [](uint64_t a, uint64_t, uint64_t) {
    return bitsOf(canonical(double(valueOf<float>(a << 16))));
  });
}

TEST(Instructions, LanesExchangeRegisters) {
  RunPtx run(
      RunPtx::kernel(".param .u64 out",
                     R"(.reg .b32 %r<12>; .reg .b64 %a<3>; .reg .pred %p<4>;
mov.u32 %r0, %laneid;
mul.lo.s32 %r1, %r0, 3;
shfl.sync.bfly.b32 %r2, %r1, 16, 31, -1;
shfl.sync.down.b32 %r3|%p0, %r1, 4, 31, -1;
shfl.sync.up.b32 %r4, %r1, 1, 0, -1;
shfl.sync.idx.b32 %r5, %r1, 5, 31, -1;
setp.lt.u32 %p1, %r0, 7;
vote.sync.ballot.b32 %r6, %p1, -1;
vote.sync.any.pred %p2, %p1, -1;
activemask.b32 %r7;
selp.b32 %r8, 1, 0, %p0;
selp.b32 %r9, 1, 0, %p2;
redux.sync.add.u32 %r10, %r0, -1;
ld.param.u64 %a0, [out];
mul.wide.u32 %a1, %r0, 36;
add.s64 %a0, %a0, %a1;
st.global.b32 [%a0], %r2;
st.global.b32 [%a0+4], %r3;
st.global.b32 [%a0+8], %r4;
st.global.b32 [%a0+12], %r5;
st.global.b32 [%a0+16], %r6;
st.global.b32 [%a0+20], %r7;
st.global.b32 [%a0+24], %r8;
st.global.b32 [%a0+28], %r9;
st.global.b32 [%a0+32], %r10;
)"));
  const uint64_t out = run.allocate(32 * 36);
  for (bool oneByOne : {false, true}) {
    run.machine->options().lanesOneByOne = oneByOne;
    ASSERT_TRUE(run.launch({out})) << run.error;
    const auto values = run.download<uint32_t>(out, 32 * 9);
    for (unsigned lane = 0; lane < 32; ++lane) {
      const uint32_t *of = &values[9 * lane];
      EXPECT_EQ(of[0], 3 * (lane ^ 16));
      EXPECT_EQ(of[1], 3 * (lane < 28 ? lane + 4 : lane));
      EXPECT_EQ(of[2], 3 * (lane ? lane - 1 : 0));
      EXPECT_EQ(of[3], 15u);
      EXPECT_EQ(of[4], 127u);
      EXPECT_EQ(of[5], oneByOne ? 1u << lane : ~0u);
      EXPECT_EQ(of[6], uint32_t(lane < 28));
      EXPECT_EQ(of[7], 1u);
      EXPECT_EQ(of[8], 31u * 16);
    }
  }
}

TEST(Instructions, MatricesAreMultiplied) {
  // A 16 x 16 and B 8 x 16 (by columns) through shared memory and ldmatrix.
  RunPtx run(RunPtx::kernel(".param .u64 a, .param .u64 b, .param .u64 c",
                            R"(.shared .align 16 .b8 tile[768];
.reg .b32 %r<20>; .reg .f32 %f<8>; .reg .b64 %d<12>; .reg .pred %p<2>;
mov.u32 %r0, %tid.x;
ld.param.u64 %d0, [a];
ld.param.u64 %d1, [b];
ld.param.u64 %d2, [c];
mul.wide.u32 %d3, %r0, 16;
add.s64 %d4, %d0, %d3;
mov.u64 %d5, tile;
add.s64 %d6, %d5, %d3;
cp.async.cg.shared.global [%d6], [%d4], 16;
setp.lt.u32 %p0, %r0, 16;
add.s64 %d7, %d1, %d3;
@%p0 cp.async.ca.shared.global [%d6+512], [%d7], 16;
cp.async.commit_group;
cp.async.wait_group 0;
bar.sync 0;
and.b32 %r1, %r0, 15;
shr.u32 %r2, %r0, 4;
mul.lo.u32 %r3, %r1, 32;
mad.lo.u32 %r3, %r2, 16, %r3;
cvt.u64.u32 %d8, %r3;
add.s64 %d8, %d8, %d5;
ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r4, %r5, %r6, %r7}, [%d8];
and.b32 %r8, %r0, 7;
shr.u32 %r9, %r0, 3;
and.b32 %r9, %r9, 1;
mul.lo.u32 %r10, %r8, 32;
mad.lo.u32 %r10, %r9, 16, %r10;
cvt.u64.u32 %d9, %r10;
add.s64 %d9, %d9, %d5;
ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%r11, %r12}, [%d9+512];
mov.f32 %f0, 0f3F800000;
mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%f1, %f2, %f3, %f4}, {%r4, %r5, %r6, %r7}, {%r11, %r12}, {%f0, %f0, %f0, %f0};
shr.u32 %r13, %r0, 2;
and.b32 %r14, %r0, 3;
mul.lo.u32 %r15, %r13, 32;
mad.lo.u32 %r15, %r14, 8, %r15;
cvt.u64.u32 %d10, %r15;
add.s64 %d10, %d10, %d2;
st.global.v2.f32 [%d10], {%f1, %f2};
st.global.v2.f32 [%d10+256], {%f3, %f4};
)"));
  std::vector<uint16_t> a(256), b(128);
  std::mt19937 random(1);
  for (uint16_t &x : a)
    x = toBFloat16(float(int(random() % 33) - 16));
  for (uint16_t &x : b)
    x = toBFloat16(float(int(random() % 33) - 16));
  const uint64_t c = run.allocate(512);
  ASSERT_TRUE(run.launch({run.upload(a), run.upload(b), c})) << run.error;
  const auto result = run.download<float>(c, 128);
  for (unsigned row = 0; row < 16; ++row)
    for (unsigned column = 0; column < 8; ++column) {
      float wanted = 1;
      for (unsigned k = 0; k < 16; ++k)
        wanted +=
            fromBFloat16(a[16 * row + k]) * fromBFloat16(b[16 * column + k]);
      EXPECT_EQ(result[8 * row + column], wanted);
    }
}

namespace {

constexpr unsigned kGroupColumns = 16;

/// Four warps multiply `a`, 64 x 16, and `b`, 16 x 16; both are in shared
/// memory as they come, with `fence` before the barrier. `product`: the
/// instructions after the sums, which are 1 before. Registers 4 to 7 are a
/// thread's share of the 16 bytes for each after `a`. `wait` comes before sums
/// are stored.
std::string
multiplyGroup(const std::string &product, const char *fence,
              const char *wait = "wgmma.wait_group.sync.aligned 0;") {
  return RunPtx::kernel(".param .u64 a, .param .u64 b, .param .u64 c",
                        R"(
.reg .b32 %r<20>; .reg .b64 %d<12>; .reg .f32 %f<9>; .reg .pred %p<2>;
.shared .align 1024 .b8 tile[10240];
mov.u32 %r0, %tid.x;
ld.param.u64 %d0, [a];
ld.param.u64 %d1, [b];
ld.param.u64 %d2, [c];
mul.wide.u32 %d3, %r0, 16;
mov.u64 %d5, tile;
mov.u32 %r10, 0;
copy:
mul.wide.u32 %d7, %r10, 2048;
add.s64 %d4, %d0, %d3;
add.s64 %d4, %d4, %d7;
add.s64 %d6, %d5, %d3;
add.s64 %d6, %d6, %d7;
ld.global.v4.u32 {%r1, %r2, %r3, %r4}, [%d4];
st.shared.v4.u32 [%d6], {%r1, %r2, %r3, %r4};
add.u32 %r10, %r10, 1;
setp.lt.u32 %p0, %r10, 4;
@%p0 bra copy;
add.s64 %d4, %d1, %d3;
add.s64 %d6, %d5, %d3;
ld.global.v4.u32 {%r1, %r2, %r3, %r4}, [%d4];
st.shared.v4.u32 [%d6+8192], {%r1, %r2, %r3, %r4};
)" + std::string(fence) +
                            R"(
bar.sync 0;
shr.u64 %d8, %d5, 4;
or.b64 %d9, %d8, 4611686293305360384;
add.s64 %d10, %d9, 512;
add.s64 %d4, %d0, %d3;
ld.global.v4.u32 {%r4, %r5, %r6, %r7}, [%d4+8192];
mov.f32 %f1, 0f3F800000;
mov.f32 %f2, 0f3F800000;
mov.f32 %f3, 0f3F800000;
mov.f32 %f4, 0f3F800000;
mov.f32 %f5, 0f3F800000;
mov.f32 %f6, 0f3F800000;
mov.f32 %f7, 0f3F800000;
mov.f32 %f8, 0f3F800000;
wgmma.fence.sync.aligned;
wgmma.mma_async.sync.aligned.m64n16k16.f32.bf16.bf16 {%f1, %f2, %f3, %f4, %f5, %f6, %f7, %f8}, )" +
                            product +
                            R"(;
wgmma.commit_group.sync.aligned;
)" + wait + R"(
mul.wide.u32 %d3, %r0, 32;
add.s64 %d3, %d3, %d2;
st.global.v4.f32 [%d3], {%f1, %f2, %f3, %f4};
st.global.v4.f32 [%d3+16], {%f5, %f6, %f7, %f8};
)");
}

/// Element `along` of row `row` of 64, where the pieces of 16 bytes lie.
size_t swizzled(unsigned row, unsigned along) {
  return row * 64 + ((along / 8) ^ (row % 8)) * 8 + along % 8;
}

} // namespace

TEST(Instructions, GroupsMultiplyWhatIsInSharedMemory) {
  struct Kind {
    bool ofRegisters, adds, transposed; ///< rows of b are terms
  };
  for (const Kind &kind : {Kind{false, true, false},
                           {false, true, true},
                           {false, false, false},
                           {true, true, true}}) {
    const std::string product =
        std::string(kind.ofRegisters ? "{%r4, %r5, %r6, %r7}" : "%d9") +
        ", %d10, " + (kind.adds ? "1" : "0") + ", 1, 1, " +
        (kind.ofRegisters ? "" : "0, ") + (kind.transposed ? "1" : "0");
    SCOPED_TRACE(product);
    RunPtx run(multiplyGroup(product, "fence.proxy.async.shared::cta;"));
    std::mt19937 random(1);
    std::vector<uint16_t> a(64 * 64), b(16 * 64);
    for (std::vector<uint16_t> *side : {&a, &b})
      for (uint16_t &x : *side)
        x = toBFloat16(float(int(random() % 33) - 16));
    // Two neighbours of a row and of the eighth after it, then eight terms on.
    for (unsigned thread = 0; thread < 128; ++thread)
      for (unsigned i = 0; i < 8; ++i)
        a.push_back(
            a[swizzled(thread / 32 * 16 + thread % 32 / 4 + i / 2 % 2 * 8,
                       i / 4 * 8 + thread % 4 * 2 + i % 2)]);
    const uint64_t c = run.allocate(64 * kGroupColumns * 4);
    ASSERT_TRUE(run.launch({run.upload(a), run.upload(b), c}, 1, 128))
        << run.error;
    EXPECT_TRUE(run.machine->faults().empty());
    const auto result = run.download<float>(c, 64 * kGroupColumns);
    for (unsigned thread = 0; thread < 128; ++thread)
      for (unsigned i = 0; i < 8; ++i) {
        const unsigned row = thread / 32 * 16 + thread % 32 / 4 + i / 2 % 2 * 8,
                       column = i / 4 * 8 + thread % 4 * 2 + i % 2;
        float wanted = kind.adds ? 1 : 0;
        for (unsigned k = 0; k < 16; ++k)
          wanted += fromBFloat16(a[swizzled(row, k)]) *
                    fromBFloat16(b[kind.transposed ? swizzled(k, column)
                                                   : swizzled(column, k)]);
        EXPECT_EQ(result[thread * 8 + i], wanted) << thread << " " << i;
      }
  }
}

TEST(Instructions, GroupsAreDoneWhenTheyAreWaitedFor) {
  constexpr const char *fence = "fence.proxy.async.shared::cta;";
  const std::vector<uint16_t> ones(2 * 64 * 64, toBFloat16(1));
  for (bool isDone : {false, true}) {
    RunPtx run(multiplyGroup("%d9, %d10, 1, 1, 1, 0, 0", fence,
                             isDone ? "wgmma.wait_group.sync.aligned 0;"
                                    : "wgmma.wait_group.sync.aligned 1;"));
    const uint64_t c = run.allocate(64 * kGroupColumns * 4);
    ASSERT_TRUE(run.launch({run.upload(ones), run.upload(ones), c}, 1, 128));
    EXPECT_EQ(run.download<float>(c, 1).front(), isDone ? 17 : 1);
  }
  // Their operands are overwritten before.
  for (bool isDone : {false, true}) {
    constexpr const char *wait = "wgmma.wait_group.sync.aligned 0;\n";
    RunPtx run(multiplyGroup("%d9, %d10, 1, 1, 1, 0, 0", fence,
                             (std::string(isDone ? wait : "") +
                              "bar.sync 0;\nst.shared.u32 [%d5], %r0;\n" +
                              (isDone ? "" : wait))
                                 .c_str()));
    const uint64_t c = run.allocate(64 * kGroupColumns * 4);
    run.launch({run.upload(ones), run.upload(ones), c}, 1, 128);
    auto isAboutGroups = [](const Fault &fault) {
      return fault.message.find("wgmma") != std::string::npos;
    };
    const auto &faults = run.machine->faults();
    EXPECT_EQ(std::any_of(faults.begin(), faults.end(), isAboutGroups),
              !isDone);
  }
}

TEST(Instructions, GroupsSeeOnlyWhatIsFenced) {
  RunPtx run(multiplyGroup("%d9, %d10, 1, 1, 1, 0, 0", ""));
  const uint64_t c = run.allocate(64 * kGroupColumns * 4);
  run.launch({run.upload(std::vector<uint16_t>(2 * 64 * 64)),
              run.upload(std::vector<uint16_t>(16 * 64)), c},
             1, 128);
  ASSERT_FALSE(run.machine->faults().empty());
  EXPECT_NE(run.machine->faults().front().message.find("fence.proxy.async"),
            std::string::npos);
}

TEST(Instructions, LanesThatPartMeetAgain) {
  // A loop of as many turns as the lane's number, then a shuffle of all.
  RunPtx run(RunPtx::kernel(".param .u64 out",
                            R"(.reg .b32 %r<5>; .reg .b64 %d<3>; .reg .pred %p;
mov.u32 %r0, %laneid;
mov.u32 %r1, 0;
mov.u32 %r2, 0;
$loop:
setp.ge.u32 %p, %r1, %r0;
@%p bra $end;
add.s32 %r1, %r1, 1;
add.s32 %r2, %r2, %r1;
bra $loop;
$end:
shfl.sync.bfly.b32 %r3, %r2, 1, 31, -1;
ld.param.u64 %d0, [out];
mul.wide.u32 %d1, %r0, 4;
add.s64 %d0, %d0, %d1;
st.global.b32 [%d0], %r3;
)"));
  const uint64_t out = run.allocate(128);
  for (bool oneByOne : {false, true}) {
    run.machine->options().lanesOneByOne = oneByOne;
    ASSERT_TRUE(run.launch({out})) << run.error;
    const auto values = run.download<uint32_t>(out, 32);
    for (unsigned lane = 0; lane < 32; ++lane)
      EXPECT_EQ(values[lane], (lane ^ 1) * ((lane ^ 1) + 1) / 2);
  }
}
