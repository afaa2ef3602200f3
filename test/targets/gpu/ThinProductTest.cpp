//===- ThinProductTest.cpp - Blocks of terms over subgroups ---------------===//
//
// Products of few rows or columns, as adapters have them, with the shapes of
// Qwen2.5-0.5B at 256 tokens. Without `few_rows` they are computed as any
// other.
//
//===----------------------------------------------------------------------===//

#include "test/targets/TileProgram.h"
#include "test/targets/gpu/DeviceProgram.h"

#include "targets/gpu/RowSums.h"
#include "targets/gpu/SubgroupProducts.h"
#include "targets/gpu/TileShape.h"

#include "llvm/Support/FormatVariadic.h"
#include "gtest/gtest.h"

#include <cmath>
#include <cstring>
#include <random>

using namespace hone;
using hone::simt::BlockSplit;
using hone::simt::DeviceFeatures;

namespace {

struct Product {
  const char *name;
  int64_t rows, columns, depth, terms;
  bool transposeA = false, transposeW = false;
  bool accumulates = false;
  bool isRowCountKnown = true; ///< else terms are as many as rows of the batch
  const char *w = "f32", *element = "f32";
  const char *a = element;
  int64_t tiles = 1; ///< side by side, a workgroup for each
  bool isRounded = false;
  int64_t offset = 0; ///< bytes that the left side begins after 64
  bool isInAnyOrder = false;

  int64_t allColumns() const { return tiles * columns; }
};

} // namespace

/// h, u, dA, dB and a bias.
static const Product kProducts[] = {
    {"h", 16, 8, 4864, 992, false, true},
    {"u", 16, 8, 4864, 992, false, false},
    {"dA", 8, 64, 256, 32, true, false, true, false},
    {"dA of bf16", 8, 64, 256, 32, true, false, true, false, "bf16"},
    {"dB", 64, 8, 256, 32, true, false, true, false},
    {"h of bf16", 16, 8, 4864, 992, false, true, false, true, "bf16", "f32",
     "bf16"},
    {"u of bf16", 16, 8, 896, 896, false, false, false, true, "bf16", "f32",
     "bf16"},
    {"dB of bf16", 64, 8, 256, 32, true, false, true, false, "f32", "f32",
     "bf16"},
    {"tall h", 32, 8, 896, 896, false, true, false, true, "bf16", "f32",
     "bf16"},
    {"tall u", 29, 7, 300, 300, false, false, false, true, "f32", "f32",
     "bf16"},
    {"narrow dA", 8, 8, 1024, 32, true, false, true, false, "bf16"},
    {"narrow dB", 8, 8, 1024, 32, true, false, true, false, "f32", "f32",
     "bf16"},
    {"odd bf16", 5, 37, 250, 32, true, false, true, false, "bf16", "f32",
     "bf16"},
    {"bias", 1, 64, 256, 32, false, false, true, false},
    {"no sums before", 8, 64, 256, 32, true, false, false, false},
    {"rank 16", 16, 64, 256, 32, true, false, true, false},
    {"dA of rank 12", 12, 16, 100, 32, true, false, true, false, "bf16", "f32",
     "f32", /*tiles=*/3},
    {"dB of rank 12", 8, 12, 100, 32, true, false, true, false, "f32", "f32",
     "bf16"},
    {"u of rank 12", 16, 12, 200, 200, false, false, false, true, "f32", "f32",
     "bf16"},
    {"dA of rank 128", 64, 64, 100, 32, true, false, true, false, "bf16", "f32",
     "f32", /*tiles=*/2},
    {"dB of rank 128", 8, 64, 100, 32, true, false, true, false, "f32", "f32",
     "bf16", /*tiles=*/2},
    {"u of rank 128", 16, 64, 250, 200, false, false, false, true, "f32", "f32",
     "bf16", /*tiles=*/2},
    {"odd sizes", 5, 37, 250, 32, true, false, true, false},
    {"odd blocks", 7, 3, 333, 30, false, true},
    {"many blocks", 3, 6, 777, 32, false, false},
    {"f64", 8, 32, 256, 32, true, false, true, false, "f64", "f64"},
};

/// h and u with bfloat16 on both sides, of matrix units.
static const Product kRounded[] = {
    {"h", 16, 8, 896, 896, false, true},
    {"long h", 16, 8, 4864, 992, false, true},
    {"u", 16, 8, 896, 896},
    {"long u", 16, 8, 4864, 992},
    {"short u", 16, 8, 128, 128},
    {"one piece", 16, 8, 24, 24, false, true},
    {"tall h", 29, 8, 896, 896, false, true},
    {"few rows", 5, 8, 640, 640, false, true},
    {"rank 3", 16, 3, 320, 320, false, true},
    {"rank 12", 16, 12, 896, 896},
    {"h of rank 64", 16, 64, 896, 896, false, true},
    {"u of rank 64", 32, 64, 264, 264},
    {"tiles", 16, 16, 904, 904, false, true, false, true, "f32", "f32", "f32",
     /*tiles=*/3},
    {"sums before", 16, 8, 896, 896, false, true, true},
    {"odd terms", 7, 5, 333, 333, false, true},
    {"odd terms of u", 7, 5, 77, 77},
    {"begins anywhere", 16, 8, 896, 896, false, true, false, true, "f32", "f32",
     "f32", 1, true, /*offset=*/2},
};

static Product rounded(Product p) {
  p.a = p.w = "bf16";
  p.isRounded = true;
  return p;
}

/// dA of `rank` x `places` for each of `tiles`.
static Product gradientOfA(const char *name, int64_t rank, int64_t places,
                           int64_t depth, int64_t tiles = 1,
                           int64_t offset = 0) {
  Product p{name, rank, places, depth, 32, true, false, true, false, "bf16"};
  p.tiles = tiles;
  p.offset = offset;
  p.isInAnyOrder = true;
  return p;
}

/// dB of `places` x `rank`.
static Product gradientOfB(const char *name, int64_t rank, int64_t places,
                           int64_t depth, int64_t offset = 0) {
  Product p{name,  places, rank,  depth, 32,    true,
            false, true,   false, "f32", "f32", "bf16"};
  p.offset = offset;
  p.isInAnyOrder = true;
  return p;
}

/// dA and dB with bfloat16 on one side, of matrix units.
static const Product kRowSums[] = {
    gradientOfA("dA", 8, 64, 256),
    gradientOfA("dA of rank 4", 4, 32, 256, 2),
    gradientOfA("dA of rank 16", 16, 64, 256),
    gradientOfA("narrow dA", 8, 16, 2304, 3),
    gradientOfA("columns within a tile", 8, 24, 100),
    gradientOfA("u begins anywhere", 8, 32, 150, 1, /*offset=*/4),
    gradientOfB("dB", 8, 64, 256),
    gradientOfB("dB of rank 4", 4, 16, 768),
    gradientOfB("dB of rank 16", 16, 32, 300),
    gradientOfB("dy begins anywhere", 8, 40, 150, /*offset=*/2),
};

static int64_t bytesOf(llvm::StringRef type) {
  return type == "f64" ? 8 : type == "f32" ? 4 : 2;
}

namespace {
/// Where the matrices are, in bytes.
struct Layout {
  explicit Layout(const Product &p)
      : w(align(p.rows * p.depth * 8 + p.offset)),
        c(w + align(p.allColumns() * p.depth * 8)),
        end(c + align(p.rows * p.allColumns() * 8)) {}
  static int64_t align(int64_t bytes) { return (bytes + 63) / 64 * 64; }

  int64_t w, c, end;
};
} // namespace

static std::string textOf(const Product &p, bool isThin) {
  Layout at(p);
  auto matrix = [](int64_t rows, int64_t columns, llvm::StringRef type) {
    return llvm::formatv("memref<{0}x{1}x{2}>", rows, columns, type).str();
  };
  std::string a = p.transposeA ? matrix(p.depth, p.rows, p.a)
                               : matrix(p.rows, p.depth, p.a);
  std::string w = p.transposeW ? matrix(p.allColumns(), p.depth, p.w)
                               : matrix(p.depth, p.allColumns(), p.w);
  std::string c = matrix(p.rows, p.allColumns(), p.element);
  std::string text = arenaView("a", p.offset, a) + arenaView("w", at.w, w) +
                     arenaView("c", at.c, c);
  text += llvm::formatv(
      "%m = arith.constant {0} : index\n%n = arith.constant {1} : index\n"
      "%depth = arith.constant {2} : index\n"
      "%tiles = arith.constant {12} : index\n"
      "tile.parallel (%p) in (%tiles) {{\n"
      "%j = {16} : index\n"
      "tile.product %c[%c0, %j], %a[%c0, %c0], %w[{13}] "
      "size(%m, %n, {3}) in [{4}, {1}]{5}{6}{7}{14}{15}{8} : {9}, {10}, "
      "{11}\n}",
      p.rows, p.columns, p.depth, p.isRowCountKnown ? "%depth" : "%rows",
      p.terms, p.accumulates ? " accumulate" : "",
      p.transposeA ? " transpose_a" : "", p.transposeW ? " transpose_w" : "",
      isThin ? " few_rows" : "", c, a, w, p.tiles,
      p.transposeW ? "%j, %c0" : "%c0, %j", p.isRounded ? " rounded" : "",
      p.isInAnyOrder ? " any_order" : "",
      p.tiles > 1 ? "arith.muli %p, %n" : "arith.constant 0");
  return entryFunction(text);
}

static std::vector<char> arenaOf(const Product &p, char *&aligned) {
  Layout at(p);
  std::vector<char> storage(at.end + 64);
  aligned = align64(storage.data());
  std::mt19937 random(5);
  auto fill = [&](int64_t from, int64_t to, llvm::StringRef type) {
    for (int64_t i = from, bytes = bytesOf(type); i + bytes <= to; i += bytes) {
      double value = random() / 2147483648.0 - 1;
      float narrow = static_cast<float>(value);
      if (bytes == 8)
        memcpy(aligned + i, &value, 8);
      else
        memcpy(aligned + i, reinterpret_cast<char *>(&narrow) + 4 - bytes,
               bytes);
    }
  };
  fill(0, at.w, p.a);
  fill(at.w, at.c, p.w);
  fill(at.c, at.end, p.element);
  return storage;
}

static std::string resultOf(const Product &p, const char *arena) {
  return std::string(arena + Layout(p).c,
                     p.rows * p.allColumns() * bytesOf(p.element));
}

namespace {
struct Outcome {
  std::string result;
  uint64_t longestWarp = 0, matrices = 0, barriers = 0, copies = 0;
  uint64_t conflicts = 0; ///< of copies and loads
};
} // namespace

static Outcome runOn(llvm::StringRef target, const Product &p, bool isThin,
                     int64_t rows, const ptx::Options &options = {}) {
  char *arena;
  std::vector<char> storage = arenaOf(p, arena);
  DeviceProgram program(textOf(p, isThin), Layout(p).end, target, options);
  EXPECT_EQ(program.run(arena, rows), "");
  Outcome run{resultOf(p, arena)};
  if (target != "metal")
    for (const auto &[key, counts] : program.machine().counts()) {
      run.longestWarp = std::max(run.longestWarp, counts.longestWarp);
      const ptx::Kernel &kernel = *key.first->find(key.second);
      for (size_t i = 0; i < kernel.code.size(); ++i) {
        llvm::StringRef line = key.first->lines[kernel.code[i].line - 1];
        if (line.contains("mma.sync"))
          run.matrices += counts.executed[i];
        if (line.contains("bar.sync"))
          run.barriers += counts.executed[i];
        if (line.contains("cp.async.cg"))
          run.copies += counts.executed[i];
        if (!line.contains("st.shared"))
          run.conflicts += counts.conflicts[i];
      }
    }
  return run;
}

/// In any order of warps, with any number of terms.
TEST(ThinProduct, HasTheReferencesBits) {
  for (const Product &p : kProducts) {
    SCOPED_TRACE(p.name);
    for (int64_t rows : {int64_t(0), int64_t(1), int64_t(33), p.depth}) {
      if (p.isRowCountKnown && rows != p.depth)
        continue;
      char *arena;
      std::vector<char> storage = arenaOf(p, arena);
      TileProgram reference(textOf(p, true), "reference");
      reference.run(arena, rows);
      std::string want = resultOf(p, arena);
      for (const char *target :
           {"nvptx64-nvidia-cuda:sm_75", "nvptx64-nvidia-cuda:sm_80", "metal"})
        EXPECT_TRUE(runOn(target, p, true, rows).result == want)
            << target << ", " << rows << " rows";
      for (ptx::Order order : {ptx::Order::Descending, ptx::Order::Random}) {
        ptx::Options options;
        options.order = order;
        options.lanesOneByOne = order == ptx::Order::Random;
        Outcome other =
            runOn("nvptx64-nvidia-cuda:sm_80", p, true, rows, options);
        EXPECT_TRUE(other.result == want)
            << "another order, " << rows << " rows";
      }
    }
  }
}

/// The last warp of a workgroup executes at most this share of its instructions
/// if all warps walked all terms.
TEST(ThinProduct, IsSplitOverSubgroups) {
  const std::pair<const char *, double> most[] = {
      {"h", 0.6},  {"u", 0.6},    {"dA", 0.6},
      {"dB", 0.5}, {"bias", 0.5}, {"rank 16", 0.8},
  };
  for (auto [name, share] : most)
    for (const Product &p : kProducts)
      if (p.name == llvm::StringRef(name)) {
        const char *target = "nvptx64-nvidia-cuda:sm_80";
        uint64_t all = runOn(target, p, false, p.depth).longestWarp;
        uint64_t split = runOn(target, p, true, p.depth).longestWarp;
        RecordProperty(p.name, llvm::formatv("{0} of {1}", split, all).str());
        EXPECT_LE(split, share * all)
            << p.name << ": " << split << " of " << all;
      }
}

/// Sums of bfloat16 on both sides are within the error of float32 sums, and do
/// not depend on the order of warps.
TEST(ThinProduct, OfBFloat16IsNearTheReferenceOnMatrixUnits) {
  for (const Product &each : kRounded) {
    const Product p = rounded(each);
    SCOPED_TRACE(p.name);
    char *arena;
    std::vector<char> storage = arenaOf(p, arena);
    TileProgram reference(textOf(p, true), "reference");
    reference.run(arena, p.depth);
    std::string want = resultOf(p, arena), first;
    for (ptx::Order order :
         {ptx::Order::Ascending, ptx::Order::Descending, ptx::Order::Random}) {
      ptx::Options options;
      options.order = order;
      options.lanesOneByOne = order == ptx::Order::Random;
      Outcome run =
          runOn("nvptx64-nvidia-cuda:sm_80", p, true, p.depth, options);
      EXPECT_GT(run.matrices, 0u);
      EXPECT_TRUE(first.empty() || run.result == first) << "another order";
      first = run.result;
    }
    for (size_t i = 0; i < want.size(); i += 4) {
      float x, y;
      memcpy(&x, &first[i], 4);
      memcpy(&y, &want[i], 4);
      // Numbers are below 1.
      ASSERT_NEAR(x, y, p.depth * std::ldexp(1.0, -22)) << i / 4;
    }
    // Units that round nothing else have the reference's bits.
    EXPECT_TRUE(runOn("nvptx64-nvidia-cuda:sm_75", p, true, p.depth).result ==
                want);
  }
}

/// A subgroup multiplies its own loads: there is one barrier before the
/// addition of all subgroups' sums, and one because the operands and the result
/// are both in the device's memory. Of long sums of few columns a warp executes
/// a fraction of a chain's instructions.
TEST(ThinProduct, OfBFloat16HasTwoBarriers) {
  for (const Product &each : kRounded) {
    SCOPED_TRACE(each.name);
    const Product p = rounded(each);
    const char *target = "nvptx64-nvidia-cuda:sm_80";
    Outcome units = runOn(target, p, true, p.depth);
    EXPECT_EQ(units.barriers, uint64_t(2 * p.tiles * simt::kSubgroups));
    if (p.depth < 896 || p.columns > 8)
      continue;
    Product chain = p;
    chain.isRounded = false;
    uint64_t all = runOn(target, chain, true, p.depth).longestWarp;
    RecordProperty(p.name,
                   llvm::formatv("{0} of {1}", units.longestWarp, all).str());
    EXPECT_LE(units.longestWarp, all / 4) << units.longestWarp << " of " << all;
  }
}

/// The number of `arena` at `from` + element `i`.
static double numberAt(const char *arena, int64_t from, int64_t i,
                       llvm::StringRef type) {
  float number = 0;
  int64_t bytes = bytesOf(type);
  memcpy(reinterpret_cast<char *>(&number) + 4 - bytes,
         arena + from + i * bytes, bytes);
  return number;
}

/// The sum of element `i`, `j` of `p` over `rows`, and of its terms' sizes.
static std::pair<double, double> exactly(const Product &p, const char *arena,
                                         int64_t rows, int64_t i, int64_t j) {
  Layout at(p);
  double sum = numberAt(arena, at.c, i * p.allColumns() + j, p.element);
  double size = std::abs(sum);
  for (int64_t t = 0; t < rows; ++t) {
    double term = numberAt(arena, p.offset, t * p.rows + i, p.a) *
                  numberAt(arena, at.w, t * p.allColumns() + j, p.w);
    sum += term;
    size += std::abs(term);
  }
  return {sum, size};
}

/// A float32 side is multiplied as it is: of its 24 bits none is lost. No order
/// of warps changes a bit, and units that there are not, do not either.
TEST(RowSums, AreNearFloat64) {
  for (const Product &p : kRowSums) {
    SCOPED_TRACE(p.name);
    for (int64_t rows : {int64_t(0), int64_t(1), int64_t(33), p.depth}) {
      SCOPED_TRACE(rows);
      char *arena;
      std::vector<char> storage = arenaOf(p, arena);
      std::string first;
      for (ptx::Order order : {ptx::Order::Ascending, ptx::Order::Descending,
                               ptx::Order::Random}) {
        if (order != ptx::Order::Ascending && rows != p.depth)
          continue;
        ptx::Options options;
        options.order = order;
        options.lanesOneByOne = order == ptx::Order::Random;
        Outcome run =
            runOn("nvptx64-nvidia-cuda:sm_80", p, true, rows, options);
        EXPECT_EQ(run.matrices > 0, rows > 0);
        EXPECT_TRUE(first.empty() || run.result == first) << "another order";
        first = run.result;
      }
      for (int64_t i = 0; i < p.rows; ++i)
        for (int64_t j = 0; j < p.allColumns(); ++j) {
          auto [sum, size] = exactly(p, arena, rows, i, j);
          double found =
              numberAt(first.data(), 0, i * p.allColumns() + j, p.element);
          ASSERT_NEAR(found, sum, size * std::ldexp(1.0, -23))
              << i << ", " << j;
        }
      if (rows != p.depth)
        continue;
      TileProgram reference(textOf(p, true), "reference");
      reference.run(arena, rows);
      std::string want = resultOf(p, arena);
      EXPECT_TRUE(runOn("nvptx64-nvidia-cuda:sm_75", p, true, rows).result ==
                  want);
    }
  }
}

/// Each number of the wide side is copied once, by 16 bytes, and read without
/// a bank conflict: more rows have no more of them than joining sums takes.
TEST(RowSums, CopyEachNumberOnce) {
  for (const Product &p : kRowSums) {
    // Of a turn's last blocks that are not there, others are copied again.
    if (p.offset || p.depth % 256 || p.columns == 24)
      continue;
    SCOPED_TRACE(p.name);
    ptx::Options options;
    options.countsBankConflicts = true;
    auto run = [&](int64_t rows) {
      return runOn("nvptx64-nvidia-cuda:sm_80", p, true, rows, options);
    };
    Outcome all = run(p.depth);
    EXPECT_EQ(all.conflicts, run(16).conflicts);
    int64_t rank = p.a == llvm::StringRef("f32") ? p.rows : p.columns;
    int64_t wide = p.rows * p.columns / rank;
    // Of rank 4 half of a warp copies the narrow side's.
    int64_t copies = wide * 2 * 16 / 512 + std::max<int64_t>(rank / 8, 1);
    EXPECT_EQ(int64_t(all.copies), p.tiles * p.depth / 16 * copies);
  }
}

/// Sums do not depend on which other columns a workgroup has.
TEST(RowSums, HaveTheBitsOfAnyTile) {
  std::string first;
  for (auto [places, tiles] : {std::pair(64, 1), {32, 2}, {16, 4}}) {
    Product p = gradientOfA("dA", 8, places, 2304, tiles);
    std::string result =
        runOn("nvptx64-nvidia-cuda:sm_80", p, true, p.depth).result;
    EXPECT_TRUE(first.empty() || result == first) << places;
    first = result;
  }
}

TEST(RowSums, AreOfWholeChunksOfBFloat16) {
  DeviceFeatures device{163 * 1024, /*copiesInFlight=*/true,
                        /*matrixUnits=*/true};
  auto sums = simt::RowSums::of(8, 64, true, device);
  ASSERT_TRUE(sums);
  EXPECT_EQ(sums->stages, 4);
  EXPECT_EQ(simt::RowSums::of(8, 16, true, device)->blocks, 2);
  EXPECT_EQ(simt::RowSums::of(8, 5, true, device)->places, 16);
  EXPECT_FALSE(simt::RowSums::of(12, 64, true, device));
  EXPECT_FALSE(simt::RowSums::of(8, 65, true, device));
  EXPECT_FALSE(simt::RowSums::of(8, 64, true, DeviceFeatures{163 * 1024}));
  EXPECT_EQ(simt::RowSums::placesFor(4864), 64);
  EXPECT_EQ(simt::RowSums::placesFor(896), 16);
  Product odd = gradientOfA("odd columns", 8, 37, 64);
  EXPECT_EQ(runOn("nvptx64-nvidia-cuda:sm_80", odd, true, 64).matrices, 0u);
}

TEST(ThinTile, HasWholeMatrices) {
  using simt::ThinTile;
  auto tile = ThinTile::of(16, 8, 896);
  ASSERT_TRUE(tile);
  EXPECT_EQ(tile->atOnce, 4) << "of 28 pieces of 32 terms, for 8 subgroups";
  EXPECT_EQ(ThinTile::of(16, 8, 128)->atOnce, 1);
  EXPECT_EQ(ThinTile::of(16, 64, 896)->atOnce, 1) << "registers";
  EXPECT_EQ(ThinTile::of(17, 12, 896)->rows, 32);
  EXPECT_EQ(ThinTile::of(17, 12, 896)->columns, 16);
  EXPECT_FALSE(ThinTile::of(33, 8, 896));
  EXPECT_FALSE(ThinTile::of(16, 65, 896));
}

TEST(BlockSplit, GivesEachLaneASquareOfSums) {
  DeviceFeatures device{163 * 1024, /*copiesInFlight=*/true};
  auto split = BlockSplit::of(8, 64, 32, std::nullopt, device);
  ASSERT_TRUE(split);
  EXPECT_EQ(split->parts, 8);
  EXPECT_EQ(split->shape.down * split->shape.across, simt::kLanes);
  EXPECT_EQ(split->shape.rowsEach(), 4);
  EXPECT_EQ(split->shape.columnsEach(), 4);
}

TEST(BlockSplit, HasAsManyPartsAsBlocks) {
  DeviceFeatures device{163 * 1024, /*copiesInFlight=*/true};
  EXPECT_EQ(BlockSplit::of(16, 8, 992, 4864, device)->parts, 5);
  EXPECT_FALSE(BlockSplit::of(16, 8, 896, 896, device)) << "one block";
  EXPECT_FALSE(BlockSplit::of(64, 64, 32, 256, device)) << "a large tile";
}

/// Two workgroups have room on a multiprocessor.
TEST(BlockSplit, TakesHalfOfSharedMemory) {
  DeviceFeatures device{64 * 1024};
  auto split = BlockSplit::of(8, 64, 32, std::nullopt, device);
  ASSERT_TRUE(split);
  EXPECT_EQ(split->parts, 4);
  EXPECT_EQ(split->stages, 1);
  device.sharedBytes = 8 * 1024;
  EXPECT_FALSE(BlockSplit::of(8, 64, 32, std::nullopt, device));
}

/// Tiles of eight columns have a row for each eight threads.
TEST(TileShape, OfFewColumnsHasASumForEachThread) {
  std::optional<simt::TileShape> tall = simt::TileShape::narrow(32, 8);
  ASSERT_TRUE(tall);
  EXPECT_EQ(tall->rowsEach() * tall->columnsEach(), 1);
  EXPECT_EQ(tall->down * tall->across, simt::kThreads);
  EXPECT_FALSE(simt::TileShape::narrow(16, 8));
  EXPECT_FALSE(simt::TileShape::narrow(32, 16));
  EXPECT_TRUE(simt::hasWorkForNarrowTiles(8192, 8));
  EXPECT_FALSE(simt::hasWorkForNarrowTiles(256, 8));
  for (int64_t rank : {4, 8, 12, 16, 64, 128, 256})
    EXPECT_EQ(simt::hasWorkForNarrowTiles(8192, rank),
              simt::TileShape::narrow(32, rank).has_value())
        << "rank " << rank;
}

/// A tile for each multiprocessor, but no chunk of 16 bytes is cut.
TEST(TileShape, OfAThinResultIsNarrowWhereThereAreFew) {
  EXPECT_EQ(simt::thinTilePlaces(16896), 64);
  EXPECT_EQ(simt::thinTilePlaces(4864), 32);
  EXPECT_EQ(simt::thinTilePlaces(896), 8);
  EXPECT_EQ(simt::thinTilePlaces(128), 8);
}

/// Tiles of dA begin where 16 bytes of bfloat16 do, and those of u are few
/// sums, which subgroups share, and in one piece up to rank 64.
TEST(TileShape, OfAnAdapterIsAlignedAndSplit) {
  DeviceFeatures device{163 * 1024, /*copiesInFlight=*/true};
  for (int64_t rank : {4, 8, 12, 16, 64, 128, 256})
    for (int64_t places : {896, 4864, 16896}) {
      SCOPED_TRACE(llvm::formatv("rank {0}, {1} places", rank, places).str());
      int64_t columns = simt::adapterColumns(rank, places, 64);
      EXPECT_EQ(columns % 8, 0);
      EXPECT_LE(columns, 64);
      EXPECT_GE(columns, std::min<int64_t>(rank, 64));
      EXPECT_TRUE(
          BlockSplit::of(16, std::min(rank, columns), 992, 4864, device));
    }
  EXPECT_EQ(simt::adapterColumns(4, 896, 64), 8);
  EXPECT_EQ(simt::adapterColumns(12, 896, 64), 16);
  EXPECT_EQ(simt::adapterColumns(256, 896, 64), 64);
}
