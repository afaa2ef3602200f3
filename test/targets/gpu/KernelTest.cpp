//===- KernelTest.cpp - Element-wise loops and reductions on a GPU --------===//
//
// As PTX, on a machine that executes it, and as Metal's text, on fibres: the
// reference's results, in every order of threads, and no race.
//
//===----------------------------------------------------------------------===//

#include "test/targets/TileProgram.h"
#include "test/targets/gpu/DeviceProgram.h"

#include "gtest/gtest.h"

#include <cmath>
#include <cstring>
#include <random>

using namespace hone;

namespace {

constexpr int64_t kWidth = 300, kRows = 12;
/// x, y and sums: kRows by kWidth each, of any type.
constexpr int64_t kMatrixBytes = kRows * kWidth * 8;
constexpr int64_t kArenaBytes = 3 * kMatrixBytes;

} // namespace

static std::string kernelText(const std::string &type,
                              const std::string &body) {
  std::string matrix = "memref<12x300x" + type + ">";
  return entryFunction(
      arenaView("x", 0, matrix) + arenaView("y", kMatrixBytes, matrix) +
      arenaView("sums", 2 * kMatrixBytes, "memref<12x" + type + ">") + body);
}

template <typename T> static std::vector<char> arenaOfNumbers() {
  std::vector<char> arena(kArenaBytes);
  std::mt19937 random(5);
  for (int64_t i = 0; i < kRows * kWidth; ++i) {
    T value = T(random()) / T(1u << 31) - 1;
    memcpy(&arena[i * sizeof(T)], &value, sizeof(T));
  }
  return arena;
}

/// Both languages and all orders of threads must agree and find no fault.
template <typename T>
static std::vector<char> runOnDevice(const std::string &text, int64_t rows) {
  std::vector<char> first;
  for (const char *target : {"nvptx64-nvidia-cuda:sm_80", "metal"})
    for (auto order :
         {ptx::Order::Ascending, ptx::Order::Descending, ptx::Order::Random}) {
      ptx::Options options;
      options.order = order;
      options.lanesOneByOne = order == ptx::Order::Descending;
      DeviceProgram program(text, kArenaBytes, target, options);
      std::vector<char> arena = arenaOfNumbers<T>();
      EXPECT_EQ(program.run(arena.data(), rows), "") << target;
      if (first.empty())
        first = arena;
      EXPECT_EQ(arena, first) << target << ", another order of threads";
    }
  return first;
}

template <typename T>
static std::vector<char> runOnReference(const std::string &text, int64_t rows) {
  TileProgram program(text, "reference");
  std::vector<char> storage(kArenaBytes + 64);
  char *arena = align64(storage.data());
  std::vector<char> numbers = arenaOfNumbers<T>();
  memcpy(arena, numbers.data(), kArenaBytes);
  program.run(arena, rows);
  return {arena, arena + kArenaBytes};
}

/// A map has the reference's bits.
TEST(GpuMap, HasTheReferencesBits) {
  std::string text = kernelText("f32", R"(
    %n = arith.constant 300 : index
    tile.parallel (%i) in (%rows) {
      tile.map (%p, %j) in (%c1, %n) {
        %at = arith.addi %i, %p : index
        %v = memref.load %x[%at, %j] : memref<12x300xf32>
        %w = arith.mulf %v, %v : f32
        %u = arith.addf %w, %v : f32
        %r = arith.divf %u, %v : f32
        memref.store %r, %y[%at, %j] : memref<12x300xf32>
      }
    })");
  for (int64_t rows : {0, 1, 12})
    EXPECT_EQ(runOnDevice<float>(text, rows), runOnReference<float>(text, rows))
        << rows;
}

/// A thread has neighbours, which it loads and stores at once where they begin
/// so; the rest of a row goes one by one. All have the reference's bits.
TEST(GpuMap, HasNeighboursTogether) {
  for (int64_t offset : {0, 4}) {
    std::string text = entryFunction(
        arenaView("x", offset, "memref<3200xf32>") +
        arenaView("y", kMatrixBytes + offset, "memref<3200xbf16>") +
        arenaView("z", 2 * kMatrixBytes + offset, "memref<12x296xf32>") + R"(
    %most = arith.constant 3200 : index
    %each = arith.constant 258 : index
    %columns = arith.constant 296 : index
    tile.parallel (%p) in (%c1) {
      %many = arith.muli %rows, %each : index
      %n = arith.minui %many, %most : index
      tile.map (%i) in (%n) {
        %v = memref.load %x[%i] : memref<3200xf32>
        %w = arith.mulf %v, %v : f32
        %r = arith.truncf %w : f32 to bf16
        memref.store %r, %y[%i] : memref<3200xbf16>
      }
      %m = arith.minui %rows, %columns : index
      tile.map (%i, %j) in (%m, %columns) {
        %v = memref.load %z[%i, %j] : memref<12x296xf32>
        %w = memref.load %x[%i] : memref<3200xf32>
        %r = arith.addf %v, %w : f32
        memref.store %r, %z[%i, %j] : memref<12x296xf32>
      }
    })");
    for (int64_t rows : {1, 5, 12}) {
      EXPECT_EQ(runOnDevice<float>(text, rows),
                runOnReference<float>(text, rows))
          << rows;
      DeviceProgram program(text, kArenaBytes);
      std::vector<char> arena = arenaOfNumbers<float>();
      ASSERT_EQ(program.run(arena.data(), rows), "");
      EXPECT_EQ(executionsOf(program.machine(), "ld.global.v4.b32") > 0,
                offset == 0);
      EXPECT_EQ(executionsOf(program.machine(), "st.global.v4.b32") > 0,
                offset == 0);
    }
  }
}

/// Scalars that one thread stores are there for all, and so are a loop's values
/// of its turn before.
TEST(GpuScalars, AreOrdered) {
  std::string text = kernelText("f32", R"(
    %n = arith.constant 300 : index
    %c12 = arith.constant 12 : index
    tile.parallel (%p) in (%c1) private(%last : memref<1xf32>) {
      scf.for %i = %c0 to %c12 step %c1 {
        %v = memref.load %x[%i, %c1] : memref<12x300xf32>
        memref.store %v, %last[%c0] : memref<1xf32>
        tile.map (%j) in (%n) {
          %a = memref.load %last[%c0] : memref<1xf32>
          memref.store %a, %y[%i, %j] : memref<12x300xf32>
        }
        %e = memref.load %y[%i, %c1] : memref<12x300xf32>
        memref.store %e, %sums[%i] : memref<12xf32>
      }
    })");
  EXPECT_EQ(runOnDevice<float>(text, 12), runOnReference<float>(text, 12));
}

/// Sums and maxima within rounding of the reference's, for every length.
template <typename T> static void checkReduce(const char *type) {
  std::string text = kernelText(type, R"(
    %c12 = arith.constant 12 : index
    tile.parallel (%i) in (%c12) {
      %sum, %most = tile.reduce (%j) in (%rows) combine [add, max] : T, T {
        %v = memref.load %x[%i, %j] : memref<12x300xT>
        %w = arith.mulf %v, %v : T
        memref.store %w, %y[%i, %j] : memref<12x300xT>
        tile.yield %w, %v : T, T
      }
      %both = arith.addf %sum, %most : T
      memref.store %both, %sums[%i] : memref<12xT>
    })");
  for (size_t at; (at = text.find('T')) != std::string::npos;)
    text.replace(at, 1, type);
  for (int64_t bound : {0, 1, 31, 32, 33, 255, 257, 300}) {
    std::vector<char> device = runOnDevice<T>(text, bound);
    std::vector<char> reference = runOnReference<T>(text, bound);
    EXPECT_EQ(std::string(device.data(), 2 * kMatrixBytes),
              std::string(reference.data(), 2 * kMatrixBytes));
    for (int64_t i = 0; i < kRows; ++i) {
      T got, want;
      memcpy(&got, &device[2 * kMatrixBytes + i * sizeof(T)], sizeof(T));
      memcpy(&want, &reference[2 * kMatrixBytes + i * sizeof(T)], sizeof(T));
      // The terms are positive, so a sum of n is within n roundings.
      if (bound == 0)
        EXPECT_EQ(got, want); // -inf
      else
        EXPECT_NEAR(got, want,
                    bound * std::numeric_limits<T>::epsilon() * (want + 1));
    }
  }
}

TEST(GpuReduce, IsNearTheReference) {
  checkReduce<float>("f32");
  checkReduce<double>("f64");
}

/// A lane has neighbours of a row, however they are loaded: in the same order.
TEST(GpuReduce, HasNeighboursTogether) {
  constexpr int64_t kTerms = 299;
  std::vector<char> first;
  for (int64_t offset : {0, 4})
    for (auto order : {ptx::Order::Ascending, ptx::Order::Random}) {
      std::string text = entryFunction(
          arenaView("x", offset, "memref<12x300xf32>") +
          arenaView("sums", 2 * kMatrixBytes, "memref<12xf32>") + R"(
      %n = arith.constant 299 : index
      tile.parallel (%p) in (%c1) {
        tile.each (%i) in (%rows) {
          %sum = tile.reduce (%j) in (%n) combine [add] : f32 {
            %v = memref.load %x[%i, %j] : memref<12x300xf32>
            %w = arith.mulf %v, %v : f32
            tile.yield %w : f32
          }
          memref.store %sum, %sums[%i] : memref<12xf32>
        }
      })");
      ptx::Options options;
      options.order = order;
      DeviceProgram program(text, kArenaBytes, "nvptx64-nvidia-cuda:sm_80",
                            options);
      std::vector<char> arena = arenaOfNumbers<float>();
      std::vector<float> numbers(kRows * kWidth);
      memcpy(numbers.data(), arena.data(), numbers.size() * sizeof(float));
      memcpy(&arena[offset], numbers.data(), numbers.size() * sizeof(float));
      ASSERT_EQ(program.run(arena.data(), kRows), "");
      EXPECT_EQ(executionsOf(program.machine(), "ld.global.v4.b32") > 0,
                offset == 0);
      std::vector<char> sums(&arena[2 * kMatrixBytes],
                             &arena[2 * kMatrixBytes + 4 * kRows]);
      if (first.empty())
        first = sums;
      EXPECT_EQ(sums, first) << "from byte " << offset;
      for (int64_t i = 0; i < kRows; ++i) {
        double want = 0;
        for (int64_t j = 0; j < kTerms; ++j)
          want += double(numbers[i * kWidth + j]) * numbers[i * kWidth + j];
        float got;
        memcpy(&got, &sums[4 * i], sizeof(got));
        EXPECT_NEAR(got, want, want * kTerms * 6e-8);
      }
    }
}

/// Within 2 ulp of the C library's, and the same beyond their range.
TEST(GpuMath, ExpAndLogInDouble) {
  for (bool isExp : {true, false}) {
    std::string text = kernelText("f64", std::string(R"(
      %n = arith.constant 300 : index
      tile.parallel (%i) in (%rows) {
        tile.map (%j) in (%n) {
          %v = memref.load %x[%i, %j] : memref<12x300xf64>
          %r = )") + (isExp ? "math.exp" : "math.log") +
                                             R"( %v : f64
          memref.store %r, %y[%i, %j] : memref<12x300xf64>
        }
      })");
    std::vector<double> arena(kArenaBytes / 8);
    for (int64_t i = 0; i < kRows * kWidth; ++i)
      arena[i] = isExp ? -750.0 + 0.41 * i
                       : std::ldexp(1.0 + 0.0002 * i, i % 2097 - 1070);
    double special[] = {0.0,    -0.0, 1.0,   HUGE_VAL, -HUGE_VAL, NAN,
                        5e-324, -1.0, 710.0, 709.7,    -745.0,    1e308};
    std::copy(std::begin(special), std::end(special), arena.begin());
    std::vector<double> onMetal = arena;
    DeviceProgram metal(text, kArenaBytes, "metal");
    ASSERT_EQ(metal.run(onMetal.data(), kRows), "");
    DeviceProgram program(text, kArenaBytes);
    ASSERT_EQ(program.run(arena.data(), kRows), "");
    for (int64_t i = 0; i < 2 * kMatrixBytes / 8; ++i)
      EXPECT_TRUE(std::isnan(arena[i]) ? std::isnan(onMetal[i])
                                       : !memcmp(&arena[i], &onMetal[i], 8))
          << arena[i % (kMatrixBytes / 8)];
    for (int64_t i = 0; i < kRows * kWidth; ++i) {
      double x = i < int64_t(std::size(special)) ? special[i] : arena[i];
      double want = isExp ? std::exp(x) : std::log(x);
      double got = arena[kMatrixBytes / 8 + i];
      if (!std::isfinite(want))
        EXPECT_TRUE(std::isnan(want) ? std::isnan(got) : got == want) << x;
      else
        EXPECT_NEAR(got, want, std::abs(want) * 5e-16 + 5e-324) << x;
    }
  }
}
