//===- LoopTest.cpp - tile.map and tile.reduce against naive loops --------===//
//
// Lengths run over every tail of every vector width. A body that cannot be
// widened must still be right, only slower.
//
//===----------------------------------------------------------------------===//

#include "targets/Target.h"
#include "test/targets/TileProgram.h"

#include "llvm/Support/FormatVariadic.h"
#include "gtest/gtest.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>

using namespace hone;

namespace {

/// x and y, each 64 x 64 of T, one after the other and 64-byte aligned.
template <typename T> struct Arena {
  static constexpr int64_t width = 64, elements = width * width;
  alignas(64) T x[elements] = {};
  alignas(64) T y[elements] = {};
};

template <typename T> const char *typeName() {
  return sizeof(T) == 4 ? "f32" : "f64";
}

} // namespace

/// Views of x and y around `body`; `$T` is the type and `$M` the memref.
template <typename T> static std::string loopIR(std::string body) {
  std::string matrix = std::string("memref<64x64x") + typeName<T>() + ">";
  std::string text = "%y_at = arith.constant " +
                     std::to_string(Arena<T>::elements * sizeof(T)) +
                     " : index\n"
                     "%x = tile.view %arena[%c0] : !tile.memory -> $M\n"
                     "%y = tile.view %arena[%y_at] : !tile.memory -> $M\n" +
                     body;
  for (auto [from, to] :
       {std::pair<std::string, std::string>("$M", matrix),
        std::pair<std::string, std::string>("$T", typeName<T>())})
    for (size_t at; (at = text.find(from)) != std::string::npos;)
      text.replace(at, from.size(), to);
  return entryFunction(text);
}

/// y[i][j] = f(x[i][j]) for all j < n must be near `expected`, and the rest of
/// y must be left alone. `ulps` is relative to the result.
template <typename T>
static void checkUnary(const char *target, const std::string &op,
                       double (*expected)(double), double low, double high,
                       double ulps) {
  SCOPED_TRACE(std::string(target) + " " + op + " " + typeName<T>());
  TileProgram program(loopIR<T>(R"(
    tile.map (%i, %j) in (%c1, %rows) {
      %v = memref.load %x[%i, %j] : $M
      %r = )" + op + R"( %v : $T
      memref.store %r, %y[%i, %j] : $M
    })"),
                      target);
  for (int64_t n = 0; n <= 40; ++n) {
    Arena<T> arena;
    for (int64_t j = 0; j < 64; ++j) {
      arena.x[j] = T(low + (high - low) * (j + n) / 104);
      arena.y[j] = T(-7);
    }
    program.run(&arena, n);
    for (int64_t j = 0; j < 64; ++j) {
      double want = j < n ? expected(double(arena.x[j])) : -7;
      ASSERT_NEAR(arena.y[j], want,
                  std::abs(want) * ulps * std::numeric_limits<T>::epsilon())
          << "n " << n << " j " << j << " x " << arena.x[j];
    }
  }
}

static std::vector<const char *> targets() {
  std::vector<const char *> result;
  for (const char *target : {"native", "x86-64-v3", "x86-64"})
    if (canRun(target))
      result.push_back(target);
  return result;
}

static double rsqrt(double x) { return 1 / std::sqrt(x); }

TEST(TileMap, Functions) {
  for (const char *target : targets()) {
    checkUnary<float>(target, "math.exp", std::exp, -80, 80, 2);
    checkUnary<float>(target, "math.log", std::log, 1e-3, 50, 4);
    checkUnary<float>(target, "math.sqrt", std::sqrt, 0, 9, 1);
    checkUnary<float>(target, "math.rsqrt", rsqrt, 0.1, 9, 2);
    checkUnary<float>(target, "math.absf", std::fabs, -9, 9, 0);
    checkUnary<double>(target, "math.exp", std::exp, -80, 80, 2);
    checkUnary<double>(target, "math.log", std::log, 1e-3, 50, 2);
    checkUnary<double>(target, "math.rsqrt", rsqrt, 0.1, 9, 2);
  }
}

TEST(TileMap, ExpAtTheEndsOfItsRange) {
  TileProgram program(loopIR<float>(R"(
    tile.map (%j) in (%rows) {
      %v = memref.load %x[%c0, %j] : $M
      %r = math.exp %v : $T
      memref.store %r, %y[%c0, %j] : $M
    })"));
  Arena<float> arena;
  const float infinity = std::numeric_limits<float>::infinity();
  const float inputs[] = {0,       -0.0f, infinity, -infinity, std::nanf(""),
                          88.7f,   89.5f, -87.0f,   -100.0f,   -103.0f,
                          -200.0f, 1e-30f};
  std::copy(std::begin(inputs), std::end(inputs), arena.x);
  int64_t count = std::size(inputs);
  program.run(&arena, count);
  EXPECT_EQ(arena.y[0], 1.0f);
  EXPECT_EQ(arena.y[1], 1.0f);
  EXPECT_EQ(arena.y[2], infinity);
  EXPECT_EQ(arena.y[3], 0.0f);
  EXPECT_TRUE(std::isnan(arena.y[4]));
  for (int64_t j = 5; j < count; ++j) {
    float want = float(std::exp(double(inputs[j])));
    if (std::isinf(want))
      EXPECT_EQ(arena.y[j], want);
    else
      EXPECT_NEAR(arena.y[j], want,
                  2e-7 * want + std::numeric_limits<float>::denorm_min())
          << inputs[j];
  }
}

// The mask depends on the variable itself, as causal attention's does.
TEST(TileMap, ComparesTheVariable) {
  for (const char *target : targets()) {
    TileProgram program(loopIR<float>(R"(
      %zero = arith.constant 0.0 : $T
      tile.map (%i, %j) in (%rows, %rows) {
        %v = memref.load %x[%i, %j] : $M
        %keep = arith.cmpi ule, %j, %i : index
        %r = arith.select %keep, %v, %zero : $T
        memref.store %r, %y[%i, %j] : $M
      })"),
                        target);
    for (int64_t n : {1, 15, 16, 17, 37, 64}) {
      Arena<float> arena;
      for (int64_t i = 0; i < arena.elements; ++i) {
        arena.x[i] = float(i + 1);
        arena.y[i] = -1;
      }
      program.run(&arena, n);
      for (int64_t i = 0; i < 64; ++i)
        for (int64_t j = 0; j < 64; ++j)
          ASSERT_EQ(arena.y[i * 64 + j], i >= n || j >= n ? -1.0f
                                         : j <= i         ? i * 64 + j + 1
                                                          : 0.0f)
              << target << " n " << n << " at " << i << ", " << j;
    }
  }
}

// A store down a column and a load at a multiple of the variable.
TEST(TileMap, AnUnwidenableLoopStaysScalar) {
  TileProgram program(loopIR<float>(R"(
    %c2 = arith.constant 2 : index
    tile.map (%i, %j) in (%rows, %rows) {
      %twice = arith.muli %j, %c2 : index
      %v = memref.load %x[%i, %twice] : $M
      memref.store %v, %y[%j, %i] : $M
    })"));
  Arena<float> arena;
  for (int64_t i = 0; i < arena.elements; ++i)
    arena.x[i] = float(i);
  program.run(&arena, 19);
  for (int64_t i = 0; i < 19; ++i)
    for (int64_t j = 0; j < 19; ++j)
      ASSERT_EQ(arena.y[j * 64 + i], i * 64 + 2 * j);
}

TEST(TileMap, ConvertsIntegersAndBroadcasts) {
  for (const char *target : targets()) {
    TileProgram program(loopIR<float>(R"(
      %ids = tile.view %arena[%c0] : !tile.memory -> memref<64xi32>
      tile.map (%i, %j) in (%c1, %rows) {
        %id = memref.load %ids[%j] : memref<64xi32>
        %f = arith.sitofp %id : i32 to $T
        %first = memref.load %ids[%i] : memref<64xi32>
        %g = arith.sitofp %first : i32 to $T
        %at = arith.index_cast %j : index to i32
        %h = arith.sitofp %at : i32 to $T
        %fg = arith.addf %f, %g : $T
        %r = arith.addf %fg, %h : $T
        memref.store %r, %y[%i, %j] : $M
      })"),
                        target);
    Arena<float> arena;
    auto *ids = reinterpret_cast<int32_t *>(arena.x);
    for (int j = 0; j < 64; ++j)
      ids[j] = 3 * j - 20;
    program.run(&arena, 45);
    for (int j = 0; j < 45; ++j)
      ASSERT_EQ(arena.y[j], float(3 * j - 20) - 20 + j);
  }
}

// Rounds to nearest even, and needs no routine that libgcc may lack.
TEST(TileMap, RoundsToBfloat16) {
  for (const char *target : targets()) {
    TileProgram program(loopIR<float>(R"(
      %halves = tile.view %arena[%y_at] : !tile.memory -> memref<64xbf16>
      tile.map (%j) in (%rows) {
        %v = memref.load %x[%c0, %j] : $M
        %h = arith.truncf %v : $T to bf16
        memref.store %h, %halves[%j] : memref<64xbf16>
      })"),
                        target);
    Arena<float> arena;
    for (int j = 0; j < 64; ++j)
      arena.x[j] = 1 + j / 512.0f;
    program.run(&arena, 50);
    auto *halves = reinterpret_cast<uint16_t *>(arena.y);
    for (int j = 0; j < 50; ++j)
      ASSERT_EQ(halves[j], 0x3f80 + int(std::nearbyint(j / 4.0))) << j;
  }
}

/// y = op(x) for each of x: in vectors, and in scalar loops.
static void checkVectorsAreLikeScalars(Arena<float> &vectors,
                                       const std::string &op,
                                       const std::string &type) {
  auto program = [&](const char *loop) {
    return TileProgram(loopIR<float>(R"(
      %to = tile.view %arena[%y_at] : !tile.memory -> memref<64x64x)" +
                                     type + R"(>
      )" + loop + R"( (%i, %j) in (%rows, %rows) {
        %v = memref.load %x[%i, %j] : $M
        %r = )" + op + R"(
        memref.store %r, %to[%i, %j] : memref<64x64x)" +
                                     type + R"(>
      })"));
  };
  auto scalars = std::make_unique<Arena<float>>(vectors);
  program("tile.map").run(&vectors, 64);
  program("tile.each").run(scalars.get(), 64);
  for (int64_t i = 0; i < vectors.elements; ++i)
    ASSERT_EQ(std::memcmp(&vectors.y[i], &scalars->y[i], sizeof(float)), 0)
        << i << ": " << vectors.y[i] << " and " << scalars->y[i];
}

// Where there is an instruction for powers of two, too; over results that
// overflow and that are subnormal.
TEST(TileMap, ExpOfVectorsIsThatOfScalars) {
  auto arena = std::make_unique<Arena<float>>();
  for (int64_t i = 0; i < arena->elements; ++i)
    arena->x[i] = -110.0f + 0.05f * i;
  checkVectorsAreLikeScalars(*arena, "math.exp %v : f32", "f32");
}

/// The bits of x in f32, rounded to nearest even.
static uint32_t roundedToBFloat16(float x) {
  uint32_t bits;
  std::memcpy(&bits, &x, sizeof(bits));
  return (bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000u;
}

static bool hasBFloat16Products() {
  llvm::ExitOnError check("error: ");
  return check(createTarget(TargetRequest::parse("native")))
      ->hasBFloat16Products();
}

// Of every exponent, and NaN.
TEST(TileMap, VectorsAndScalarsRoundToBfloat16Alike) {
  auto arena = std::make_unique<Arena<float>>();
  for (uint32_t i = 0; i < arena->elements; ++i) {
    uint32_t bits = i * 0x00100001u + i % 7 * 0x2000u;
    std::memcpy(&arena->x[i], &bits, sizeof(bits));
  }
  checkVectorsAreLikeScalars(*arena, "arith.truncf %v : f32 to bf16", "bf16");
  auto *halves = reinterpret_cast<uint16_t *>(arena->y);
  for (int64_t i = 0; i < arena->elements; ++i) {
    float x = arena->x[i], y;
    uint32_t bits = uint32_t(halves[i]) << 16;
    std::memcpy(&y, &bits, sizeof(bits));
    // The instruction takes subnormal numbers for zero.
    bool isZero = hasBFloat16Products() && std::fpclassify(x) == FP_SUBNORMAL;
    if (std::isnan(x))
      ASSERT_TRUE(std::isnan(y)) << i;
    else if (isZero)
      ASSERT_EQ(bits, std::signbit(x) ? 0x80000000u : 0u) << x;
    else
      ASSERT_EQ(bits, roundedToBFloat16(x)) << x;
  }
}

// Longer than the chains of a maximum together, and with NaN.
TEST(TileReduce, MaximaOfLongRows) {
  for (const char *target : targets()) {
    TileProgram program(loopIR<float>(R"(
      %row = tile.view %arena[%c0] : !tile.memory -> memref<4096xf32>
      %r = tile.reduce (%j) in (%rows) combine [max] : $T {
        %v = memref.load %row[%j] : memref<4096xf32>
        tile.yield %v : $T
      }
      memref.store %r, %y[%c0, %c0] : $M)"),
                        target);
    for (int64_t n : {1, 63, 64, 65, 128, 143, 192, 401}) {
      Arena<float> arena;
      std::fill(std::begin(arena.x), std::end(arena.x), 9.0f);
      for (int64_t largest = 0; largest < n; largest += 5) {
        std::fill_n(arena.x, n, -3.0f);
        arena.x[largest] = -2.0f;
        program.run(&arena, n);
        ASSERT_EQ(arena.y[0], -2.0f) << n << " " << largest;
        arena.x[largest] = std::nanf("");
        program.run(&arena, n);
        ASSERT_TRUE(std::isnan(arena.y[0])) << n << " " << largest;
      }
    }
  }
}

template <typename T> static void checkReduce(const char *target) {
  SCOPED_TRACE(std::string(target) + " " + typeName<T>());
  TileProgram program(loopIR<T>(R"(
    %r:3 = tile.reduce (%j) in (%rows) combine [add, max, add] : $T, $T, $T {
      %v = memref.load %x[%c0, %j] : $M
      %vv = arith.mulf %v, %v : $T
      %one = arith.constant 1.0 : $T
      tile.yield %vv, %v, %one : $T, $T, $T
    }
    %c2 = arith.constant 2 : index
    memref.store %r#0, %y[%c0, %c0] : $M
    memref.store %r#1, %y[%c0, %c1] : $M
    memref.store %r#2, %y[%c0, %c2] : $M)"),
                      target);
  for (int64_t n = 0; n <= 64; ++n) {
    Arena<T> arena;
    double sum = 0, largest = -std::numeric_limits<double>::infinity();
    for (int64_t j = 0; j < 64; ++j)
      arena.x[j] = T(std::sin(3.0 * j + n) - 2);
    for (int64_t j = 0; j < n; ++j) {
      sum += double(arena.x[j]) * double(arena.x[j]);
      largest = std::max(largest, double(arena.x[j]));
    }
    program.run(&arena, n);
    ASSERT_NEAR(arena.y[0], sum, sum * 8 * std::numeric_limits<T>::epsilon());
    ASSERT_EQ(double(arena.y[1]), largest) << "n " << n;
    ASSERT_EQ(arena.y[2], T(n));
  }
}

TEST(TileReduce, AddAndMax) {
  for (const char *target : targets()) {
    checkReduce<float>(target);
    checkReduce<double>(target);
  }
}

TEST(TileReduce, InsideAMapAndWithStores) {
  TileProgram program(loopIR<float>(R"(
    %s = arith.constant 64 : index
    tile.map (%i) in (%rows) {
      %sum = tile.reduce (%j) in (%rows) combine [add] : $T {
        %v = memref.load %x[%i, %j] : $M
        %e = math.exp %v : $T
        memref.store %e, %y[%i, %j] : $M
        tile.yield %e : $T
      }
      tile.map (%j) in (%rows) {
        %e = memref.load %y[%i, %j] : $M
        %q = arith.divf %e, %sum : $T
        memref.store %q, %y[%i, %j] : $M
      }
    })"));
  Arena<float> arena;
  for (int64_t i = 0; i < arena.elements; ++i)
    arena.x[i] = std::sin(float(i));
  program.run(&arena, 21);
  for (int64_t i = 0; i < 21; ++i) {
    double sum = 0;
    for (int64_t j = 0; j < 21; ++j)
      sum += std::exp(double(arena.x[i * 64 + j]));
    for (int64_t j = 0; j < 21; ++j)
      ASSERT_NEAR(arena.y[i * 64 + j],
                  std::exp(double(arena.x[i * 64 + j])) / sum, 1e-7);
  }
}

// A value that all iterations share is computed before the loop, unless that
// may trap: there may be no iteration.
TEST(TileMap, WithoutIterationsNothingIsDivided) {
  for (const char *target : targets()) {
    SCOPED_TRACE(target);
    TileProgram program(loopIR<float>(R"(
      %hundred = arith.constant 100 : index
      tile.map (%j) in (%rows) {
        %q = arith.divui %hundred, %rows : index
        %i = arith.index_cast %q : index to i32
        %f = arith.sitofp %i : i32 to $T
        memref.store %f, %y[%c0, %j] : $M
      })"),
                        target);
    for (int64_t n : {0, 7, 33}) {
      Arena<float> arena;
      program.run(&arena, n);
      for (int64_t j = 0; j < 64; ++j)
        ASSERT_EQ(arena.y[j], j < n ? float(100 / n) : 0) << n << " " << j;
    }
  }
}

// 262,144 points over all arguments with a normal result.
TEST(TileMap, ExpIsWithinTwoUlp) {
  TileProgram program(loopIR<float>(R"(
    tile.map (%i, %j) in (%rows, %rows) {
      %v = memref.load %x[%i, %j] : $M
      %r = math.exp %v : $T
      memref.store %r, %y[%i, %j] : $M
    })"));
  auto arena = std::make_unique<Arena<float>>();
  double worst = 0;
  for (int round = 0; round < 64; ++round) {
    for (int64_t i = 0; i < arena->elements; ++i)
      arena->x[i] = -87.3f + 175.9f * (round * arena->elements + i) /
                                 (64.0f * arena->elements);
    program.run(arena.get(), 64);
    for (int64_t i = 0; i < arena->elements; ++i) {
      double want = std::exp(double(arena->x[i]));
      double ulp = std::ldexp(1.0, std::ilogb(want) - 23);
      worst = std::max(worst, std::abs(arena->y[i] - want) / ulp);
    }
  }
  RecordProperty("worst_ulp", std::to_string(worst));
  EXPECT_LE(worst, 2.0);
}
