//===- EpilogueTest.cpp - Epilogues of cpu.contract against loops --------===//
//
// An epilogue's result must be, to the bit, that of a tile.map of the same
// product afterwards: plans differ in which of the two they have. The map
// itself is tested in LoopTest, the product in ContractTest.
//
//===----------------------------------------------------------------------===//

#include "test/targets/TileProgram.h"

#include "llvm/Support/FormatVariadic.h"
#include "gtest/gtest.h"

#include <cstring>
#include <random>

using namespace hone;

namespace {

struct Shape {
  int64_t n;
  bool accumulate;
};

/// A program's memory: a, b, two results, the product alone, and the epilogues'
/// operands, each with room for the largest shape.
constexpr int64_t kMaxRows = 16, kDepth = 37, kMaxColumns = 80;
constexpr int64_t kRegion = 40 * kMaxColumns;
enum Region : int64_t {
  a,
  b,
  fused,
  apart,
  plain,
  matrix,
  terms,
  halves,
  regions
};

} // namespace

/// A piece of an epilogue: from %acc at (%i, %jj) to %y. T is the type; C is
/// the result, M a matrix with a row and V a vector of terms with elements to
/// spare, H terms of bfloat16.
using Body = llvm::StringRef;

static constexpr Body kAdd = R"(
  %x = memref.load %M[%i, %jj] : $M
  %y = arith.addf %x, %acc : T)";

static constexpr Body kAddInPlace = R"(
  %x = memref.load %C[%i, %jj] : $C
  %y = arith.addf %acc, %x : T)";

static constexpr Body kEveryPlace = R"(
  %below = arith.addi %i, %c1 : index
  %x = memref.load %M[%below, %jj] : $M
  %right = arith.addi %jj, %c1 : index
  %u = memref.load %V[%right] : $V
  %v = memref.load %V[%i] : $V
  %z = memref.load %V[%c1] : $V
  %h = memref.load %H[%jj] : $H
  %wide = arith.extf %h : bf16 to T
  %0 = arith.mulf %acc, %v : T
  %1 = arith.subf %x, %0 : T
  %2 = arith.mulf %1, %u : T
  %3 = arith.addf %2, %wide : T
  %4 = arith.mulf %3, %scalar : T
  %y = arith.divf %4, %z : T)";

static constexpr Body kGated = R"(
  %one = arith.constant 1.0 : T
  %gate = memref.load %C[%i, %jj] : $C
  %0 = arith.negf %gate : T
  %1 = math.exp %0 : T
  %2 = arith.addf %1, %one : T
  %3 = arith.divf %gate, %2 : T
  %y = arith.mulf %3, %acc : T)";

// Kernels leave this one to a loop.
static constexpr Body kReadsItsPlace = R"(
  %word = arith.index_cast %jj : index to i32
  %number = arith.sitofp %word : i32 to T
  %y = arith.mulf %acc, %number : T)";

/// `text` with names of types and of the result filled in.
static std::string fillIn(Body text, const std::string &result,
                          const Shape &shape, const char *type) {
  std::string filled;
  int64_t columns = shape.n;
  for (size_t at = 0; at < text.size(); ++at) {
    Body rest = text.substr(at);
    auto add = [&](size_t skipped, const std::string &word) {
      filled += word;
      at += skipped - 1;
    };
    if (rest.starts_with("$M") || rest.starts_with("$C"))
      add(2, llvm::formatv("memref<{0}x{1}x{2}>", kMaxRows + 1, columns, type));
    else if (rest.starts_with("$V"))
      add(2, llvm::formatv("memref<{0}x{1}>", kMaxColumns + 1, type));
    else if (rest.starts_with("$H"))
      add(2, llvm::formatv("memref<{0}xbf16>", kMaxColumns));
    else if (rest.starts_with("%C"))
      add(2, result);
    else if (rest.starts_with("T"))
      add(1, type);
    else
      filled += rest.front();
  }
  return filled;
}

/// %fused = body(a b) in one product, %apart = body(plain) after plain = a b.
static std::string programIR(Body body, const Shape &shape, const char *type,
                             int64_t bytes, int64_t panel) {
  std::string text;
  auto line = [&](const auto &words) {
    text += fillIn(std::string(words), "", shape, type) + "\n";
  };
  auto view = [&](const char *name, int64_t region, const std::string &memref) {
    line(arenaView(name, region * kRegion * bytes, memref));
  };
  std::string left = llvm::formatv("memref<{0}x{1}xT>", kMaxRows, kDepth);
  std::string right = llvm::formatv("memref<{0}x{1}xT>", kDepth, shape.n);
  std::string panelType = llvm::formatv("memref<{0}x{1}xT>", kDepth, panel);
  view("a", a, left);
  view("b", b, right);
  view("fused", fused, "$C");
  view("apart", apart, "$C");
  view("plain", plain, "$C");
  view("M", matrix, "$M");
  view("V", terms, "$V");
  view("H", halves, "$H");
  line(llvm::formatv("%k = arith.constant {0} : index", kDepth).str());
  line(llvm::formatv("%n = arith.constant {0} : index", shape.n).str());
  line(llvm::formatv("%nr = arith.constant {0} : index", panel).str());
  line("%count = arith.ceildivui %n, %nr : index");
  line("tile.parallel (%p) in (%count) private(%panel : " + panelType + ") {");
  line("%scalar = memref.load %V[%c0] : $V");
  line("%j0 = arith.muli %p, %nr : index");
  line("%left = arith.subi %n, %j0 : index");
  line("%w = arith.minui %left, %nr : index");
  line("cpu.fill %panel, %b[%c0, %j0] size(%k, %w) : " + panelType + ", " +
       right);
  auto contract = [&](const std::string &result) {
    line("cpu.contract " + result + "[%c0, %j0], %a[%c0, %c0], %panel " +
         "size(%rows, %w, %k)" + (shape.accumulate ? " accumulate" : "") +
         " : $C, " + left + ", " + panelType);
  };
  contract("%fused");
  line("epilogue (%acc, %i, %j) {\n%jj = arith.addi %j0, %j : index");
  text += fillIn(body, "%fused", shape, type);
  line("\ncpu.yield %y : T\n}");
  contract("%plain");
  line("tile.map (%i, %j) in (%rows, %w) {\n%jj = arith.addi %j0, %j : index\n"
       "%acc = memref.load %plain[%i, %jj] : $C");
  text += fillIn(body, "%apart", shape, type);
  line("\nmemref.store %y, %apart[%i, %jj] : $C\n}");
  line("}");
  return entryFunction(text);
}

template <typename T>
static void checkEpilogue(Body body, const Shape &shape, const char *type,
                          const char *target) {
  SCOPED_TRACE(llvm::formatv("{0} {1} n={2} acc={3}{4}", target, type, shape.n,
                             shape.accumulate, body)
                   .str());
  TileProgram program(programIR(body, shape, type, sizeof(T), 256 / sizeof(T)),
                      target);
  std::vector<char> memory(regions * kRegion * sizeof(T) + 64);
  auto *arena = reinterpret_cast<T *>(
      (reinterpret_cast<uintptr_t>(memory.data()) + 63) & ~uintptr_t(63));
  std::mt19937 random(5);
  std::uniform_real_distribution<double> uniform(0.5, 1.5);
  for (int64_t i = 0; i < regions * kRegion; ++i)
    arena[i] = T(uniform(random) * (random() % 2 ? 1 : -1));
  // The upper half of an f32 is a bfloat16.
  auto *half = reinterpret_cast<uint16_t *>(arena + halves * kRegion);
  for (int64_t i = 0; i < kMaxColumns; ++i) {
    auto number = float(arena[i]);
    memcpy(half + i, reinterpret_cast<char *>(&number) + 2, 2);
  }
  std::vector<T> before(arena + fused * kRegion, arena + apart * kRegion);
  for (int64_t rows : {0, 1, 6, 13}) {
    for (Region result : {fused, apart, plain})
      std::copy(before.begin(), before.end(), arena + result * kRegion);
    program.run(arena, rows);
    const T *got = arena + fused * kRegion;
    ASSERT_EQ(memcmp(got, arena + apart * kRegion, kRegion * sizeof(T)), 0)
        << rows << " rows";
    for (int64_t i = 0; i < kRegion; ++i)
      ASSERT_EQ(got[i] == before[i], i >= rows * shape.n) << i;
  }
}

/// With tails of columns that fall differently in each vector level.
template <typename T> static void checkEverywhere(Body body, const char *type) {
  for (const char *target : {"native", "x86-64-v3", "x86-64"})
    if (canRun(target))
      for (Shape shape : {Shape{80, false}, Shape{50, true}})
        checkEpilogue<T>(body, shape, type, target);
}

TEST(TileEpilogue, AddsAMatrix) { checkEverywhere<float>(kAdd, "f32"); }

TEST(TileEpilogue, ReadsTheElementThatItWrites) {
  checkEverywhere<float>(kAddInPlace, "f32");
}

TEST(TileEpilogue, ReadsAlongRowsAndColumns) {
  checkEverywhere<float>(kEveryPlace, "f32");
  checkEverywhere<double>(kEveryPlace, "f64");
}

TEST(TileEpilogue, Gates) { checkEverywhere<float>(kGated, "f32"); }

TEST(TileEpilogue, ComputesWithItsPlace) {
  checkEverywhere<float>(kReadsItsPlace, "f32");
}
