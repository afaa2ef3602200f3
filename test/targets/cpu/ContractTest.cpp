//===- ContractTest.cpp - cpu.fill and cpu.contract against naive loops -===//
//
// Every shape runs with each vector level that this machine has, since tails
// fall differently in each.
//
//===----------------------------------------------------------------------===//

#include "targets/Target.h"
#include "test/targets/TileProgram.h"

#include "llvm/Support/FormatVariadic.h"
#include "gtest/gtest.h"

#include <cmath>
#include <random>

using namespace hone;

namespace {

struct Product {
  int64_t m, n, k;
  bool transposeA = false, transposeB = false, accumulate = false,
       epilogue = false;
  bool rounds = false;  ///< the panel is of bf16
  bool inPlace = false; ///< B is read where it is, all columns at once
};

template <typename T> struct AlignedVector {
  explicit AlignedVector(size_t count) : storage(count * sizeof(T) + 64) {
    data = reinterpret_cast<T *>(
        (reinterpret_cast<uintptr_t>(storage.data()) + 63) & ~uintptr_t(63));
  }
  std::vector<char> storage;
  T *data;
};

} // namespace

static int64_t roundUp(int64_t elements) { return (elements + 15) / 16 * 16; }

/// C = A B in panels of `panel` columns, buffers one after another.
static std::string productIR(const Product &p, const char *type, int64_t bytes,
                             int64_t panel) {
  int64_t m = std::max<int64_t>(p.m, 1), k = std::max<int64_t>(p.k, 1);
  int64_t bAt = roundUp(m * k) * bytes;
  int64_t cAt = bAt + roundUp(k * p.n) * bytes;
  int64_t factorsAt = cAt + roundUp(m * p.n) * bytes;
  auto matrix = [&](int64_t rows, int64_t columns) {
    return llvm::formatv("memref<{0}x{1}x{2}>", rows, columns, type).str();
  };
  std::string a = p.transposeA ? matrix(k, m) : matrix(m, k);
  std::string b = p.transposeB ? matrix(p.n, k) : matrix(k, p.n);
  std::string c = matrix(m, p.n), panelType = matrix(k, panel);
  if (p.rounds)
    panelType =
        llvm::formatv("memref<{0}x{1}xbf16>", (k + 31) / 32 * 32, panel);
  std::string body;
  auto line = [&](const auto &text) { body += std::string(text) + "\n"; };
  line(llvm::formatv("%b_at = arith.constant {0} : index", bAt).str());
  line(llvm::formatv("%c_at = arith.constant {0} : index", cAt).str());
  line(llvm::formatv("%factors_at = arith.constant {0} : index", factorsAt)
           .str());
  line("%a = tile.view %arena[%c0] : !tile.memory -> " + a);
  line("%b = tile.view %arena[%b_at] : !tile.memory -> " + b);
  line("%c = tile.view %arena[%c_at] : !tile.memory -> " + c);
  line("%factors = tile.view %arena[%factors_at] : !tile.memory -> " +
       matrix(1, p.n));
  line(llvm::formatv("%k = arith.constant {0} : index", p.k).str());
  line(llvm::formatv("%n = arith.constant {0} : index", p.n).str());
  line(llvm::formatv("%nr = arith.constant {0} : index", panel).str());
  line("%count = arith.ceildivui %n, %nr : index");
  if (p.inPlace) {
    line("cpu.contract %c[%c0, %c0], %a[%c0, %c0], %b[%c0, %c0] "
         "size(%rows, %n, %k) : " +
         c + ", " + a + ", " + b);
    return entryFunction(body);
  }
  line("tile.parallel (%p) in (%count) private(%panel : " + panelType + ") {");
  line("%j0 = arith.muli %p, %nr : index");
  line("%left = arith.subi %n, %j0 : index");
  line("%w = arith.minui %left, %nr : index");
  line(std::string("cpu.fill %panel, %b[") +
       (p.transposeB ? "%j0, %c0" : "%c0, %j0") + "] size(%k, %w)" +
       (p.transposeB ? " transpose : " : " : ") + panelType + ", " + b);
  line(std::string("cpu.contract %c[%c0, %j0], %a[%c0, %c0], %panel "
                   "size(%rows, %w, %k)") +
       (p.accumulate ? " accumulate" : "") +
       (p.transposeA ? " transpose_a" : "") + " : " + c + ", " + a + ", " +
       panelType);
  if (p.epilogue) {
    line("epilogue (%acc, %i, %j) {");
    line("%jj = arith.addi %j0, %j : index");
    line("%x = memref.load %factors[%c0, %jj] : " + matrix(1, p.n));
    line(std::string("%y = arith.mulf %acc, %x : ") + type);
    line(std::string("cpu.yield %y : ") + type + "\n}");
  }
  line("}");
  return entryFunction(body);
}

/// The nearest bfloat16, ties to even.
static double roundToBFloat16(double value) {
  float narrow = float(value);
  uint32_t bits;
  memcpy(&bits, &narrow, 4);
  bits += 0x7fff + (bits >> 16 & 1);
  bits &= 0xffff0000;
  memcpy(&narrow, &bits, 4);
  return narrow;
}

/// Compares with double loops; `epsilon` is the type's unit round-off.
template <typename T>
static void checkProduct(const Product &p, const char *type, const char *target,
                         int64_t panel = 32) {
  SCOPED_TRACE(llvm::formatv("{0} {1} m={2} n={3} k={4} tA={5} tB={6} acc={7} "
                             "epilogue={8}",
                             target, type, p.m, p.n, p.k, p.transposeA,
                             p.transposeB, p.accumulate, p.epilogue)
                   .str());
  int64_t m = std::max<int64_t>(p.m, 1), k = std::max<int64_t>(p.k, 1);
  TileProgram program(productIR(p, type, sizeof(T), panel), target);
  size_t total =
      roundUp(m * k) + roundUp(k * p.n) + roundUp(m * p.n) + roundUp(p.n);
  AlignedVector<T> arena(total);
  std::mt19937 random(17);
  std::uniform_real_distribution<double> uniform(-1, 1);
  for (size_t i = 0; i < total; ++i)
    arena.data[i] = T(uniform(random));
  T *a = arena.data, *b = a + roundUp(m * k), *c = b + roundUp(k * p.n),
    *factors = c + roundUp(m * p.n);
  std::vector<T> before(c, c + roundUp(m * p.n));
  program.run(arena.data, p.m);

  double unit = std::numeric_limits<T>::epsilon();
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < p.n; ++j) {
      double old = before[i * p.n + j];
      if (i >= p.m) { // rows beyond the count are left alone
        ASSERT_EQ(c[i * p.n + j], before[i * p.n + j]);
        continue;
      }
      double sum = 0, size = 0;
      double exact = 0; // of the operands as they are
      double products = 0;
      for (int64_t kk = 0; kk < p.k; ++kk) {
        double left = p.transposeA ? a[kk * m + i] : a[i * k + kk];
        double right = p.transposeB ? b[j * k + kk] : b[kk * p.n + j];
        exact += left * right;
        products += std::abs(left * right);
        if (p.rounds) {
          left = roundToBFloat16(left);
          right = roundToBFloat16(right);
        }
        sum += left * right;
        size += std::abs(left * right);
      }
      // Two operands, each off by 2^-8 of itself at most.
      if (p.rounds)
        ASSERT_NEAR(sum, exact,
                    (std::ldexp(2, -8) + std::ldexp(1, -16)) * products);
      if (p.accumulate) {
        sum += old;
        size += std::abs(old);
      }
      if (p.epilogue) {
        sum *= factors[j];
        size *= std::abs(factors[j]);
      }
      ASSERT_NEAR(c[i * p.n + j], sum, (p.k + 3) * unit * size + 1e-300)
          << "at " << i << ", " << j;
    }
}

static void checkEverywhere(const Product &product) {
  for (const char *target : {"native", "x86-64-v3", "x86-64"})
    if (canRun(target)) {
      checkProduct<float>(product, "f32", target);
      checkProduct<double>(product, "f64", target);
    }
}

/// With operands rounded to bfloat16, where this machine multiplies such.
static void checkRounded(Product product, int64_t panel = 32) {
  llvm::ExitOnError check("error: ");
  if (!check(createTarget(TargetRequest::parse("native")))
           ->hasBFloat16Products())
    GTEST_SKIP() << "needs avx512bf16";
  product.rounds = true;
  checkProduct<float>(product, "f32", "native", panel);
}

TEST(TileContract, WholeTiles) { checkEverywhere({12, 64, 16}); }

TEST(TileContract, TailsInEveryDimension) {
  for (int64_t m : {1, 5, 6, 7, 13})
    checkEverywhere({m, 33, 9});
  for (int64_t n : {1, 7, 8, 16, 31, 50})
    checkEverywhere({7, n, 5});
}

TEST(TileContract, EmptySumIsZero) {
  checkEverywhere({7, 20, 0});
  checkEverywhere({7, 20, 0, false, false, /*accumulate=*/true});
}

TEST(TileContract, NoRowsWriteNothing) { checkEverywhere({0, 20, 8}); }

TEST(TileContract, Transposes) {
  for (int64_t k : {1, 8, 16, 37})
    for (int64_t n : {5, 32, 40}) {
      checkEverywhere({9, n, k, /*transposeA=*/true, false});
      checkEverywhere({9, n, k, false, /*transposeB=*/true});
    }
}

TEST(TileContract, AccumulateAndEpilogue) {
  checkEverywhere({13, 40, 21, false, true, true, true});
  checkEverywhere({6, 64, 8, true, false, true, true});
}

TEST(TileContract, ResultsDoNotDependOnTheRowsBeside) {
  Product p{40, 48, 300};
  TileProgram program(productIR(p, "f32", 4, 32));
  size_t total = roundUp(40 * 300) + roundUp(300 * 48) + roundUp(40 * 48) + 48;
  AlignedVector<float> all(total), few(total);
  std::mt19937 random(3);
  for (size_t i = 0; i < total; ++i)
    all.data[i] = few.data[i] = float(random() % 2001) / 1000 - 1;
  program.run(all.data, 40);
  program.run(few.data, 11);
  size_t c = roundUp(40 * 300) + roundUp(300 * 48);
  for (size_t i = 0; i < 11 * 48; ++i)
    ASSERT_EQ(all.data[c + i], few.data[c + i]);
}

TEST(TileContract, AMatrixInPlaceGivesTheBitsOfAPanel) {
  for (const char *target : {"native", "x86-64-v3", "x86-64"})
    for (int64_t n : {4, 8, 16, 24, 64, 192}) {
      if (!canRun(target))
        continue;
      SCOPED_TRACE(llvm::formatv("{0} n={1}", target, n).str());
      Product p{13, n, 70};
      size_t c = roundUp(13 * 70) + roundUp(70 * n);
      size_t total = c + roundUp(13 * n) + roundUp(n);
      AlignedVector<float> filled(total), inPlace(total);
      std::mt19937 random(5);
      for (size_t i = 0; i < total; ++i)
        filled.data[i] = inPlace.data[i] = float(random() % 2001) / 1000 - 1;
      TileProgram(productIR(p, "f32", 4, 32), target).run(filled.data, 13);
      p.inPlace = true;
      TileProgram(productIR(p, "f32", 4, 32), target).run(inPlace.data, 13);
      for (int64_t i = 0; i < 13 * n; ++i)
        ASSERT_EQ(inPlace.data[c + i], filled.data[c + i]) << i;
    }
}

TEST(TileContract, ASumInPiecesHasTheBitsOfTheWhole) {
  auto program = [](int64_t n, bool inPieces, const char *target) {
    std::string types = llvm::formatv("memref<13x{0}xf32>, memref<13x70xf32>, "
                                      "memref<70x{0}xf32>",
                                      n)
                            .str();
    auto contract = [&](const char *text) {
      return std::string("cpu.contract ") + text + " : " + types;
    };
    std::string whole = contract("%c[%c0, %c0], %a[%c0, %c0], %b[%c0, %c0] "
                                 "size(%rows, %n, %k) accumulate");
    std::string pieces =
        contract("%s[%c0, %c0], %a[%c0, %c0], %b[%c0, %c0] "
                 "size(%rows, %n, %first)") +
        "\n" +
        contract("%c[%c0, %c0], %a[%c0, %first], %b[%first, %c0] "
                 "size(%rows, %n, %second) accumulate from %s[%c0, %c0]") +
        llvm::formatv(" from memref<13x{0}xf32>", n).str();
    return TileProgram(entryFunction(llvm::formatv(R"(
  %n = arith.constant {0} : index
  %k = arith.constant 70 : index
  %first = arith.constant 31 : index
  %second = arith.constant 39 : index
  %b_at = arith.constant 4096 : index
  %c_at = arith.constant 32768 : index
  %s_at = arith.constant 40960 : index
  %a = tile.view %arena[%c0] : !tile.memory -> memref<13x70xf32>
  %b = tile.view %arena[%b_at] : !tile.memory -> memref<70x{0}xf32>
  %c = tile.view %arena[%c_at] : !tile.memory -> memref<13x{0}xf32>
  %s = tile.view %arena[%s_at] : !tile.memory -> memref<13x{0}xf32>
  {1}
)",
                                                   n, inPieces ? pieces : whole)
                                         .str()),
                       target);
  };
  for (const char *target : {"native", "x86-64-v3", "x86-64"})
    for (int64_t n : {8, 20, 64, 72}) {
      if (!canRun(target))
        continue;
      SCOPED_TRACE(llvm::formatv("{0} n={1}", target, n).str());
      constexpr size_t total = 12288, c = 8192;
      AlignedVector<float> whole(total), pieces(total);
      std::mt19937 random(7);
      for (size_t i = 0; i < total; ++i)
        whole.data[i] = pieces.data[i] = float(random() % 2001) / 1000 - 1;
      program(n, false, target).run(whole.data, 13);
      program(n, true, target).run(pieces.data, 13);
      for (int64_t i = 0; i < 13 * n; ++i)
        ASSERT_EQ(pieces.data[c + i], whole.data[c + i]) << i;
    }
}

// Three quarters of a bf16 are exact in f32, so the panel must be too.
TEST(TileFill, ConvertsFromBfloat16) {
  for (bool transpose : {false, true})
    for (int64_t width : {32, 11}) {
      SCOPED_TRACE(
          llvm::formatv("transpose={0} width={1}", transpose, width).str());
      std::string source =
          transpose ? "memref<40x24xbf16>" : "memref<24x40xbf16>";
      TileProgram program(entryFunction(
          llvm::formatv(R"(
  %at = arith.constant 2048 : index
  %h = arith.constant 24 : index
  %w = arith.constant {0} : index
  %s = tile.view %arena[%c0] : !tile.memory -> {1}
  %p = tile.view %arena[%at] : !tile.memory -> memref<24x32xf32>
  cpu.fill %p, %s[%c0, %c0] size(%h, %w){2} : memref<24x32xf32>, {1}
)",
                        width, source, transpose ? " transpose" : "")
              .str()));
      AlignedVector<float> arena(512 + 24 * 32);
      auto *bits = reinterpret_cast<uint16_t *>(arena.data);
      for (int i = 0; i < 960; ++i)
        bits[i] = uint16_t(0x3f00 + i);
      program.run(arena.data, 0);
      for (int k = 0; k < 24; ++k)
        for (int j = 0; j < 32; ++j) {
          uint32_t wide =
              uint32_t(transpose ? bits[j * 24 + k] : bits[k * 40 + j]) << 16;
          float expected;
          memcpy(&expected, &wide, 4);
          ASSERT_EQ(arena.data[512 + k * 32 + j], j < width ? expected : 0.0f);
        }
    }
}

TEST(TileContract, RoundsOperandsToBFloat16) {
  for (bool transposeB : {false, true}) {
    for (int64_t k : {1, 2, 15, 16, 31, 48, 64, 65, 129, 200})
      checkRounded({13, 96, k, false, transposeB});
    for (int64_t n : {1, 17, 50})
      checkRounded({7, n, 67, false, transposeB, /*accumulate=*/true,
                    /*epilogue=*/true});
    for (int64_t m : {0, 1, 2, 3, 4, 5, 6, 12})
      checkRounded({m, 32, 10, false, transposeB});
  }
}

// Panels of few columns have half a vector, or a quarter.
TEST(TileContract, RoundsOperandsOfNarrowPanels) {
  for (bool transposeB : {false, true})
    for (int64_t panel : {4, 8})
      for (int64_t n : {panel, panel - 1})
        for (int64_t k : {1, 2, 7, 8, 15, 16, 33, 64, 65, 200})
          checkRounded({11, n, k, false, transposeB, /*accumulate=*/true,
                        /*epilogue=*/true},
                       panel);
}
