//===- ProductKernelTest.cpp - How products use shared memory -------------===//
//
// ProductTest compares bits with other targets. Here: copies in flight wait for
// earlier reads and writes, no two threads want one bank at a time, and matrix
// units multiply rounded operands.
//
//===----------------------------------------------------------------------===//

#include "test/targets/TileProgram.h"
#include "test/targets/gpu/DeviceProgram.h"

#include "base/Dtype.h"
#include "targets/gpu/TileShape.h"

#include "llvm/Support/FormatVariadic.h"
#include "gtest/gtest.h"

#include <cmath>
#include <cstring>
#include <random>

using namespace hone;

namespace {

/// Terms that any matrix has room for.
constexpr int64_t kDepth = 128;
/// Of bfloat16, 512 terms of the widest tile.
constexpr int64_t kMatrixBytes = 512 * simt::kMostGroupColumns * 2;
constexpr int64_t kArenaBytes = 5 * kMatrixBytes;

struct Kind {
  const char *a, *w; ///< elements; "i4", "i8": packed
  bool transposeA, transposeW;
  bool isRounded = false;
  int64_t depth = kDepth;
  bool accumulates = false;
  /// Of the result and its matrix, and how many columns are computed.
  int64_t rows = 64, columns = 64, count = columns;
  /// Of terms whose number is not known before.
  bool readsAhead = false;
  bool byGroups = false; ///< on sm_90a
};

} // namespace

/// Terms that the matrices have: short sides leave room for more.
static int64_t termsOf(const Kind &kind) {
  return std::max(kind.depth, kDepth);
}

/// Copies that are converted late need the room of sm_90.
static const char *targetOf(const Kind &kind) {
  return kind.byGroups     ? "nvptx64-nvidia-cuda:sm_90a"
         : kind.readsAhead ? "nvptx64-nvidia-cuda:sm_90"
                           : "nvptx64-nvidia-cuda:sm_80";
}

static std::string textOf(const Kind &kind) {
  auto matrix = [](int64_t rows, int64_t columns, llvm::StringRef type) {
    return llvm::formatv("memref<{0}x{1}x{2}>", rows, columns, type).str();
  };
  bool isPacked = kind.w[0] == 'i';
  int64_t terms = termsOf(kind);
  int64_t wRows = kind.transposeW ? kind.columns : terms;
  int64_t wColumns = kind.transposeW ? terms : kind.columns;
  std::string a = kind.transposeA ? matrix(terms, kind.rows, kind.a)
                                  : matrix(kind.rows, terms, kind.a);
  int64_t bits = kind.w == std::string("i4") ? 4 : 8;
  std::string w = isPacked ? matrix(wRows, wColumns * bits / 8, "i8")
                           : matrix(wRows, wColumns, kind.w);
  std::string groups = matrix(wRows, wColumns / 32, "f32"),
              c = matrix(kind.rows, kind.columns, "f32");
  std::string text = arenaView("a", 0, a) + arenaView("w", kMatrixBytes, w) +
                     arenaView("scales", 2 * kMatrixBytes, groups) +
                     arenaView("biases", 3 * kMatrixBytes, groups) +
                     arenaView("c", 4 * kMatrixBytes, c);
  std::string depth =
      llvm::formatv("%k = arith.constant {0} : index\n", kind.depth);
  if (kind.readsAhead)
    depth = llvm::formatv("%least = arith.constant {0} : index\n"
                          "%ten = arith.constant 10 : index\n"
                          "%thousands = arith.shrui %rows, %ten : index\n"
                          "%k = arith.addi %least, %thousands : index\n",
                          kind.depth);
  text += llvm::formatv(
      "%most = arith.constant {0} : index\n{9}"
      "%count = arith.constant {6} : index\n"
      "tile.parallel (%p) in (%c1) {{\n"
      "%m = arith.minui %rows, %most : index\n"
      "tile.product %c[%c0, %c0], %a[%c0, %c0], %w[%c0, %c0] "
      "size(%m, %count, %k) in [64, {7}] {2}{3}{4}{5}{8}",
      kind.rows, kind.depth, kind.accumulates ? " accumulate" : "",
      kind.transposeA ? " transpose_a" : "",
      kind.transposeW ? " transpose_w" : "", kind.isRounded ? " rounded" : "",
      kind.count, kind.columns, kind.readsAhead ? " read_ahead" : "", depth);
  if (isPacked)
    text +=
        llvm::formatv(" scales %scales biases %biases bits {0}", bits).str();
  text += " : " + c + ", " + a + ", " + w;
  if (isPacked)
    text += ", " + groups + ", " + groups;
  return entryFunction(text + "\n}");
}

/// Numbers between -1 and 1, of two bytes or four; bytes where they are packed.
static std::vector<char> arenaOf(const Kind &kind) {
  std::vector<char> arena(kArenaBytes);
  std::mt19937 random(7);
  auto fill = [&](int64_t from, llvm::StringRef type) {
    int64_t bytes = type == "bf16" ? 2 : type == "f32" ? 4 : 1;
    for (int64_t i = from; i < from + kMatrixBytes; i += bytes) {
      float value = random() / 2147483648.0f - 1;
      uint32_t bits = random();
      if (bytes > 1)
        memcpy(&bits, &value, 4);
      bits >>= 32 - 8 * bytes;
      memcpy(&arena[i], &bits, bytes);
    }
  };
  fill(0, kind.a);
  fill(kMatrixBytes, kind.w);
  for (int64_t i = 2; i < 5; ++i)
    fill(i * kMatrixBytes, "f32");
  return arena;
}

/// Element `i` of a matrix in `arena`, float32 or bfloat16.
static float floatAt(const std::vector<char> &arena, int64_t matrix,
                     llvm::StringRef type, int64_t i) {
  float value = 0;
  const int64_t bytes = type == "bf16" ? 2 : 4;
  memcpy(reinterpret_cast<char *>(&value) + 4 - bytes,
         &arena[matrix * kMatrixBytes + i * bytes], bytes);
  return value;
}

/// Row `r` and column `c` of the matrix that is multiplied, as it is stored.
static float weightAt(const Kind &kind, const std::vector<char> &arena,
                      int64_t r, int64_t c) {
  const int64_t width = kind.transposeW ? termsOf(kind) : kind.columns;
  if (kind.w[0] != 'i')
    return floatAt(arena, 1, kind.w, r * width + c);
  const int64_t bits = kind.w == std::string("i4") ? 4 : 8;
  const auto byte = uint8_t(arena[kMatrixBytes + (r * width + c) * bits / 8]);
  const unsigned number = bits == 8 ? byte : c % 2 ? byte >> 4 : byte & 15;
  const int64_t group = r * (width / 32) + c / 32;
  return std::fma(floatAt(arena, 2, "f32", group), float(number),
                  floatAt(arena, 3, "f32", group));
}

/// The expected c of a device, by sums of float64. PTX leaves open in which
/// order matrix units add, and how much of a term they lose: 2^-22 of the sum
/// of all sizes for each term is more than any loses.
static std::vector<ptx::Near>
nearOf(const Kind &kind, const std::vector<char> &arena, int64_t rows) {
  auto rounded = [](float x) {
    return double(rt::bfloat16ToFloat(rt::floatToBfloat16(x)));
  };
  std::vector<ptx::Near> numbers;
  for (int64_t i = 0; i < kind.rows; ++i)
    for (int64_t j = 0; j < kind.columns; ++j) {
      const double was = floatAt(arena, 4, "f32", numbers.size());
      if (i >= rows || j >= kind.count) {
        numbers.push_back({was, 0});
        continue;
      }
      double sum = kind.accumulates ? was : 0, sizes = std::abs(sum);
      for (int64_t t = 0; t < kind.depth; ++t) {
        const double term =
            rounded(floatAt(arena, 0, kind.a, i * termsOf(kind) + t)) *
            rounded(kind.transposeW ? weightAt(kind, arena, j, t)
                                    : weightAt(kind, arena, t, j));
        sum += term;
        sizes += std::abs(term);
      }
      numbers.push_back({sum, std::ldexp(sizes * kind.depth, -22)});
    }
  return numbers;
}

/// Whole tiles come 16 bytes at a time, and into all banks.
TEST(GpuProduct, HasNoBankConflicts) {
  const Kind kinds[] = {
      {"f32", "f32", false, true},
      {"f32", "f32", false, false},
      {"f32", "f32", true, false},
      {"f32", "i4", false, true},
      {"f32", "i4", false, false},
      {"f32", "i8", false, true},
      {"bf16", "bf16", false, true, true},
      {"bf16", "bf16", false, false, true},
      {"bf16", "i4", false, true, true},
      // Widened where they are multiplied.
      {"bf16", "bf16", false, true},
      {"bf16", "f32", true, false},
      {"f32", "bf16", true, false},
      // Converted late, and with more terms of a stage.
      {"f32", "bf16", false, false, true, kDepth, false, 64, 64, 64, true},
      {"f32", "bf16", false, false, true, kDepth, false, 128, 128, 128, true},
      {"bf16", "bf16", false, true, true, kDepth, false, 64, 64, 64, true},
      {"bf16", "bf16", false, false, true, kDepth, false, 64, 64, 64, true},
      // Tiles of 128 by 128.
      {"bf16", "bf16", false, true, true, kDepth, false, 128, 128},
      {"bf16", "bf16", false, false, true, kDepth, false, 128, 128},
      // Of 32 rows, with four times the terms.
      {"bf16", "bf16", false, true, true, 512, false, 32, 64, 64, true},
      {"bf16", "bf16", false, false, true, 512, false, 32, 64, 64, true},
  };
  ptx::Options options;
  options.countsBankConflicts = true;
  for (const Kind &kind : kinds) {
    SCOPED_TRACE(textOf(kind));
    DeviceProgram program(textOf(kind), kArenaBytes, targetOf(kind), options);
    std::vector<char> arena = arenaOf(kind);
    ASSERT_EQ(program.run(arena.data(), kind.rows), "");
    EXPECT_EQ(program.bankConflicts(), 0u);
    // Number by number, they would be stored so.
    if (kind.w[0] == 'i')
      continue;
    auto bytesOf = [](llvm::StringRef type) { return type == "bf16" ? 2 : 4; };
    int64_t bytes =
        kind.rows * bytesOf(kind.a) + kind.columns * bytesOf(kind.w);
    EXPECT_GE(int64_t(executionsOf(program.machine(), "cp.async.cg")),
              bytes * termsOf(kind) / (16 * ptx::kLanes));
    if (!kind.readsAhead || kind.a == kind.w)
      EXPECT_EQ(executionsOf(program.machine(), "st.shared"), 0u);
  }
}

/// Numbers that are rounded on the way to matrix units go eight at a time, and
/// so do the zeros after the last terms.
TEST(GpuProduct, RoundsEightNumbersAtATime) {
  for (int64_t depth : {kDepth, int64_t(8)}) {
    Kind kind{"f32", "bf16", false, true, true, depth, false, 128, 128};
    DeviceProgram program(textOf(kind), kArenaBytes,
                          "nvptx64-nvidia-cuda:sm_80");
    std::vector<char> arena = arenaOf(kind);
    ASSERT_EQ(program.run(arena.data(), kind.rows), "");
    auto executions = [&](llvm::StringRef opcode) {
      return int64_t(executionsOf(program.machine(), opcode));
    };
    // One matrix's terms are enough for a short product.
    int64_t terms = std::max<int64_t>(depth, 16);
    int64_t chunks = kind.rows * terms / 8 / ptx::kLanes;
    // The left side's, and zeros of the right side.
    EXPECT_EQ(executions("st.shared.v4"),
              depth == kDepth ? chunks : 2 * chunks);
    EXPECT_EQ(executions("st.shared.b16"), 0);
    EXPECT_EQ(executions("ld.global.v4"), 2 * chunks);
    EXPECT_EQ(executions("ld.global.b16"), 0);
    EXPECT_EQ(executions("ld.global.b32"), 0);
  }
}

/// A long product of a small tile waits half as often, or a quarter as often
/// where its rows are few and a workgroup's memory is that of sm_90.
TEST(GpuProduct, HasFewBarriersWithASmallTile) {
  auto barriersOf = [](int64_t rows, int64_t side,
                       const char *target = "nvptx64-nvidia-cuda:sm_90") {
    Kind kind{"bf16", "bf16", false, true, true, kDepth,
              false,  rows,   side,  side, true};
    DeviceProgram program(textOf(kind), kArenaBytes, target);
    std::vector<char> arena = arenaOf(kind);
    EXPECT_EQ(program.run(arena.data(), rows), "");
    return executionsOf(program.machine(), "bar.sync");
  };
  // Of each warp one for a stage, and one after the product.
  uint64_t warps = 8;
  EXPECT_EQ(barriersOf(128, 128), (2 + 1) * warps);
  EXPECT_EQ(barriersOf(64, 64), (2 + 1) * warps);
  EXPECT_EQ(barriersOf(32, 64), (1 + 1) * warps);
  EXPECT_EQ(barriersOf(32, 64, "nvptx64-nvidia-cuda:sm_80"), (2 + 1) * warps);
}

/// A multiprocessor has registers for three workgroups of small tiles where its
/// memory has room for them, and for two of others.
TEST(GpuProduct, OfSmallTilesLeavesRegistersForThreeWorkgroups) {
  auto declares = [](const Kind &kind, const char *target,
                     llvm::StringRef directive) {
    DeviceProgram program(textOf(kind), kArenaBytes, target);
    std::vector<char> arena = arenaOf(kind);
    EXPECT_EQ(program.run(arena.data(), kind.rows), "");
    const auto &counts = program.machine().counts();
    return llvm::any_of(counts.begin()->first.first->lines, [&](auto &line) {
      return llvm::StringRef(line).trim() == directive;
    });
  };
  auto kindOf = [](const char *a, int64_t side) {
    return Kind{a,     "bf16", false, true, true, kDepth,
                false, side,   side,  side, true};
  };
  const char *large = "nvptx64-nvidia-cuda:sm_90";
  EXPECT_TRUE(declares(kindOf("bf16", 64), large, ".maxnreg 80"));
  EXPECT_TRUE(declares(kindOf("bf16", 128), large, ".maxnreg 128"));
  EXPECT_TRUE(declares(kindOf("f32", 64), large, ".maxnreg 128"));
  EXPECT_TRUE(declares(kindOf("bf16", 64), "nvptx64-nvidia-cuda:sm_80",
                       ".maxnreg 128"));
}

/// Eight threads that copy a line of the device's memory have a line of shared
/// memory for it; and whole tiles ask no chunk whether it is.
TEST(GpuProduct, CopiesLineByLine) {
  ptx::Options options;
  options.countsBankConflicts = true;
  for (auto [rows, columns] :
       {std::pair(32, 64), {64, 64}, {128, 128}, {128, 256}})
    for (bool transposeW : {false, true}) {
      Kind kind{"bf16", "bf16", false,   transposeW, true, 256,
                false,  rows,   columns, columns,    true, columns > 128};
      SCOPED_TRACE(textOf(kind));
      DeviceProgram program(textOf(kind), kArenaBytes, targetOf(kind), options);
      std::vector<char> arena = arenaOf(kind);
      ASSERT_EQ(program.run(arena.data(), rows), "");
      uint64_t lines = 0;
      for (const auto &[key, counts] : program.machine().counts())
        for (uint64_t each : counts.lines)
          lines += each;
      const uint64_t copies = executionsOf(program.machine(), "cp.async.cg");
      EXPECT_EQ(copies,
                uint64_t((rows + columns) * 256 * 2 / 16 / ptx::kLanes));
      EXPECT_EQ(lines, copies * 4);
    }
}

/// Matrix units multiply rounded operands, of any stored type and with any last
/// terms, within the error of float32 sums. Its bits do not depend on the order
/// that warps run in.
TEST(GpuProduct, RoundedIsNearFloat64) {
  const Kind kinds[] = {
      {"bf16", "bf16", false, true, true},
      {"bf16", "bf16", false, false, true, 99},
      {"bf16", "bf16", false, true, true, 99, true},
      {"f32", "f32", false, true, true},
      {"f32", "f32", false, false, true, 33, true},
      {"bf16", "i4", false, true, true, 100},
      {"bf16", "i8", false, false, true},
      {"f32", "bf16", false, false, true, 8},
      {"bf16", "bf16", false, true, true, 99, true, 128, 128},
      {"bf16", "bf16", false, false, true, kDepth, false, 101, 128, 90},
      {"f32", "i4", false, true, true, 64, false, 97, 96, 65},
      // Converted late.
      {"f32", "bf16", false, false, true, kDepth, true, 64, 64, 64, true},
      {"f32", "bf16", false, false, true, 99, true, 50, 64, 60, true},
      {"f32", "bf16", false, true, true, 3, false, 64, 64, 64, true},
      {"f32", "bf16", false, true, true, 99, true, 101, 128, 90, true},
      {"bf16", "bf16", false, true, true, kDepth, true, 64, 64, 64, true},
      {"bf16", "bf16", false, false, true, 70, false, 33, 64, 49, true},
      {"bf16", "i4", false, true, true, 100, false, 64, 64, 64, true},
      // Of 32 rows, with four times the terms.
      {"bf16", "bf16", false, true, true, 512, true, 32, 64, 64, true},
      {"bf16", "bf16", false, false, true, 410, true, 29, 64, 49, true},
      // Four subgroups at a time.
      {"bf16", "bf16", false, true, true, 256, true, 128, 128, 128, true, true},
      {"bf16", "bf16", false, true, true, 99, false, 101, 128, 90, true, true},
      {"bf16", "bf16", false, false, true, 256, false, 128, 128, 128, true,
       true},
      {"bf16", "bf16", false, false, true, 70, true, 128, 128, 121, true, true},
      // With 256 columns, whose products go on.
      {"bf16", "bf16", false, true, true, 512, true, 128, 256, 256, true, true},
      {"bf16", "bf16", false, true, true, 99, false, 101, 256, 201, true, true},
      {"bf16", "bf16", false, false, true, 512, false, 128, 256, 256, true,
       true},
      {"bf16", "bf16", false, false, true, 70, true, 128, 256, 250, true, true},
  };
  for (const Kind &kind : kinds) {
    std::string text = textOf(kind);
    SCOPED_TRACE(text);
    for (int64_t rows : {int64_t(7), kind.rows}) {
      const std::vector<ptx::Near> near = nearOf(kind, arenaOf(kind), rows);
      std::vector<char> first;
      for (auto order : {ptx::Order::Ascending, ptx::Order::Descending,
                         ptx::Order::Random}) {
        ptx::Options options;
        options.order = order;
        options.lanesOneByOne = order == ptx::Order::Random;
        options.isRecorded = first.empty();
        DeviceProgram program(text, kArenaBytes, targetOf(kind), options);
        std::vector<char> bytes = arenaOf(kind);
        program.expect(4 * kMatrixBytes, 4, near);
        ASSERT_EQ(program.run(bytes.data(), rows), "");
        EXPECT_GT(executionsOf(program.machine(),
                               kind.byGroups ? "wgmma.mma_async" : "mma.sync"),
                  0u);
        EXPECT_TRUE(first.empty() || bytes == first) << "another order";
        first = bytes;
      }
      for (size_t i = 0; i < near.size(); ++i)
        ASSERT_LE(std::abs(floatAt(first, 4, "f32", i) - near[i].value),
                  near[i].most)
            << i / kind.columns << ", " << i % kind.columns;
    }
  }
}

/// Instructions that begin with `opcode`, at most, with neither a store nor
/// `end` between them.
static int64_t mostTogether(const ptx::Machine &machine, llvm::StringRef opcode,
                            llvm::StringRef end) {
  int64_t run = 0, most = 0;
  for (const auto &[key, counts] : machine.counts())
    for (llvm::StringRef line : key.first->lines) {
      line = line.trim();
      if (line.starts_with(opcode))
        most = std::max(most, ++run);
      else if (line.contains(end) || line.starts_with("st."))
        run = 0;
    }
  return most;
}

/// The loads of a whole tile's epilogue are on the way for eight sums at a
/// time, and tiles that end early have the same bits.
TEST(GpuProduct, WaitsForWhatItsEpilogueLoadsTogether) {
  std::string text = textOf({"f32", "f32", false, true});
  text.insert(text.find("\n}"), R"(
      epilogue (%acc, %i, %j) {
    %scale = memref.load %scales[%i, %c0] : memref<64x4xf32>
    %was = memref.load %given[%i, %j] : memref<64x64xf32>
    %times = arith.mulf %acc, %scale : f32
    %sum = arith.addf %times, %was : f32
    tile.yield %sum : f32
  })");
  text.insert(text.find("%most ="),
              arenaView("given", 3 * kMatrixBytes, "memref<64x64xf32>"));
  Kind kind{"f32", "f32", false, true};
  for (int64_t rows : {int64_t(7), kind.rows}) {
    TileProgram reference(text, "reference");
    std::vector<char> storage(kArenaBytes + 64), bytes = arenaOf(kind);
    char *arena = align64(storage.data());
    memcpy(arena, bytes.data(), kArenaBytes);
    reference.run(arena, rows);
    DeviceProgram program(text, kArenaBytes, "nvptx64-nvidia-cuda:sm_80");
    ASSERT_EQ(program.run(bytes.data(), rows), "");
    EXPECT_EQ(memcmp(bytes.data(), arena, kArenaBytes), 0) << rows << " rows";
    EXPECT_GE(mostTogether(program.machine(), "ld.global.b32", "bra"), 8);
  }
}

/// Lanes that share the rows of a matrix unit's sums exchange them, so that
/// each loads and stores eight neighbours at once, where they begin so.
TEST(GpuProduct, StoresNeighboursTogether) {
  for (auto [rows, columns] :
       {std::pair(64, 64), {32, 64}, {128, 128}, {128, 256}}) {
    bool isWide = columns > 128;
    Kind kind{"bf16", "bf16", false,   true,    true,   64,
              false,  rows,   columns, columns, isWide, isWide};
    std::string product = textOf(kind);
    std::string into = llvm::formatv("memref<{0}x{1}xbf16>", rows, columns);
    product.insert(product.find(" : memref<", product.find("tile.product")),
                   " into %out[%c0, %c0]");
    product.insert(product.find("\n}"), llvm::formatv(R"( into {0}
      epilogue (%acc, %i, %j) {{
    %had = memref.load %given[%i, %j] : {0}
    %was = arith.extf %had : bf16 to f32
    %sum = arith.addf %acc, %was : f32
    tile.yield %sum : f32
  })",
                                                      into));
    std::vector<char> first;
    for (int64_t offset : {0, 2}) {
      std::string text = product;
      text.insert(text.find("%most ="),
                  arenaView("given", 2 * kMatrixBytes + offset, into) +
                      arenaView("out", 4 * kMatrixBytes + offset, into));
      DeviceProgram program(text, kArenaBytes, targetOf(kind));
      std::vector<char> bytes = arenaOf(kind);
      auto given = bytes.begin() + 2 * kMatrixBytes;
      std::copy_backward(given, given + rows * columns * 2,
                         given + rows * columns * 2 + offset);
      ASSERT_EQ(program.run(bytes.data(), rows), "");
      int64_t pieces = rows * columns / 8 / 32;
      int64_t wide = executionsOf(program.machine(), "st.global.v4.b32"),
              loads = executionsOf(program.machine(), "ld.global.v4.b32"),
              stores = executionsOf(program.machine(), "st.global.b16");
      EXPECT_EQ(wide, offset ? 0 : pieces);
      EXPECT_EQ(loads, offset ? 0 : pieces);
      EXPECT_EQ(stores, offset ? 8 * pieces : 0);
      EXPECT_EQ(mostTogether(program.machine(), "ld.global.v4", "add.rn"),
                std::min<int64_t>(4, pieces / 8));
      auto out = bytes.begin() + 4 * kMatrixBytes + offset;
      std::vector<char> sums(out, out + rows * columns * 2);
      if (first.empty())
        first = sums;
      EXPECT_EQ(sums, first) << "one by one";
    }
  }
}

/// Of float32 a lane stores four, so that two lanes fill a sector of memory,
/// and exchanges half as often.
TEST(GpuProduct, StoresWholeSectorsOfFloat32) {
  for (auto [rows, columns] : {std::pair(64, 64), {128, 256}}) {
    bool isWide = columns > 128;
    Kind kind{"bf16", "bf16", false,   true,    true,   64,
              false,  rows,   columns, columns, isWide, isWide};
    DeviceProgram program(textOf(kind), kArenaBytes, targetOf(kind));
    std::vector<char> bytes = arenaOf(kind);
    ASSERT_EQ(program.run(bytes.data(), rows), "");
    int64_t sums = rows * columns / ptx::kLanes;
    auto executions = [&](llvm::StringRef opcode) {
      return int64_t(executionsOf(program.machine(), opcode));
    };
    EXPECT_EQ(executions("st.global.v4.b32"), sums / 4);
    EXPECT_EQ(executions("shfl"), sums / 2);
  }
}

/// With fewer tiles than multiprocessors they are 64 by 64, and with fewer of
/// these they have half of the rows.
TEST(TileShape, IsLargeWhereAllMultiprocessorsHaveWork) {
  EXPECT_TRUE(simt::hasWorkForLargeTiles(8192, 896));
  EXPECT_TRUE(simt::hasWorkForLargeTiles(8192, 270));
  EXPECT_FALSE(simt::hasWorkForLargeTiles(8192, 256));
  EXPECT_FALSE(simt::hasWorkForLargeTiles(256, 4864));
  EXPECT_TRUE(simt::hasWorkForGroups(256, 4864));
  EXPECT_FALSE(simt::hasWorkForGroups(256, 896));
  EXPECT_TRUE(simt::isWorthWideTiles(8192, 11008, 2048));
  EXPECT_TRUE(simt::isWorthWideTiles(8192, 2048, 11008));
  // Half of the last column's tiles would be empty.
  EXPECT_FALSE(simt::isWorthWideTiles(8192, 896, 4864));
  EXPECT_FALSE(simt::isWorthWideTiles(256, 11008, 2048));
  EXPECT_FALSE(simt::isWorthWideTiles(8192, 11008, 256));
  EXPECT_FALSE(simt::isWorthWideTiles(8192, 4864, 896));
  // Activations and scores of float32 leave a multiprocessor idle for longer.
  EXPECT_TRUE(simt::isWorthWideTiles(8192, 8960, 1536));
  EXPECT_FALSE(simt::isWorthWideTiles(8192, 8960, 1536, simt::TileEnd::Gate));
  EXPECT_TRUE(simt::isWorthWideTiles(8192, 11008, 2048, simt::TileEnd::Gate));
  EXPECT_FALSE(simt::isWorthWideTiles(8192, 4096, 896, simt::TileEnd::Scores));
  EXPECT_TRUE(simt::isWorthWideTiles(8192, 4096, 2048, simt::TileEnd::Scores));
  EXPECT_EQ(simt::matrixTileRows(256, 4864), 64);
  EXPECT_EQ(simt::matrixTileRows(256, 896), 32);
  EXPECT_EQ(simt::matrixTileRows(1024, 896), 64);
}
