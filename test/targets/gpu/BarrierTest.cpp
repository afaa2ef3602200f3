//===- BarrierTest.cpp - Kernels without one of their barriers ------------===//
//
// Each barrier is dropped in turn. The machine must report the fault, in every
// order of warps: a changed bit that it does not report is a fault of the
// machine, and a barrier without which nothing changes is redundant.
//
//===----------------------------------------------------------------------===//

#include "test/targets/TileProgram.h"
#include "test/targets/gpu/DeviceProgram.h"

#include "gtest/gtest.h"

#include <random>

using namespace hone;

namespace {

constexpr int64_t kArenaBytes = 64 * 1024;
constexpr int64_t kHalf = kArenaBytes / 2;

struct Verdict {
  unsigned barriers = 0, reported = 0, redundant = 0;
};

std::vector<float> numbers() {
  std::vector<float> arena(kArenaBytes / sizeof(float));
  std::mt19937 random(3);
  for (float &number : arena)
    number = float(random() % 2000) / 1000 - 1;
  return arena;
}

Verdict dropEach(const std::string &text, int64_t rows) {
  DeviceProgram program(text, kArenaBytes);
  ptx::Options &options = program.machine().options();
  std::vector<float> whole = numbers();
  EXPECT_EQ(program.run(whole.data(), rows), "");
  Verdict verdict;
  // A thread that waits in vain for the others must not wait for ever.
  for (const auto &[key, counts] : program.machine().counts()) {
    const ptx::Kernel &kernel = *key.first->find(key.second);
    unsigned barriers = 0;
    for (const ptx::Instruction &instruction : kernel.code)
      barriers += instruction.kind == ptx::Kind::Barrier;
    for (unsigned barrier = 0; barrier < barriers; ++barrier) {
      options.droppedKernel = kernel.name;
      options.droppedBarrier = barrier;
      bool isReported = false;
      for (ptx::Order order : {ptx::Order::Ascending, ptx::Order::Descending,
                               ptx::Order::Random}) {
        options.order = order;
        std::vector<float> arena = numbers();
        const bool isFault = !program.run(arena.data(), rows).empty();
        EXPECT_TRUE(isFault || arena == whole)
            << kernel.name << ": barrier " << barrier
            << " changes bits and nothing is reported";
        if (order == ptx::Order::Ascending)
          isReported = isFault;
        EXPECT_EQ(isReported, isFault) << kernel.name << ": barrier " << barrier
                                       << " is reported in some orders alone";
      }
      ++verdict.barriers;
      (isReported ? verdict.reported : verdict.redundant) += 1;
    }
  }
  return verdict;
}

} // namespace

TEST(GpuBarriers, OfScalarsAndLoops) {
  const Verdict verdict =
      dropEach(entryFunction(arenaView("x", 0, "memref<8x300xf32>") +
                             arenaView("y", kHalf, "memref<8x300xf32>") + R"(
    %n = arith.constant 300 : index
    %c8 = arith.constant 8 : index
    tile.parallel (%p) in (%c1) private(%last : memref<1xf32>) {
      scf.for %i = %c0 to %c8 step %c1 {
        %v = memref.load %x[%i, %c1] : memref<8x300xf32>
        memref.store %v, %last[%c0] : memref<1xf32>
        tile.map (%j) in (%n) {
          %a = memref.load %last[%c0] : memref<1xf32>
          memref.store %a, %y[%i, %j] : memref<8x300xf32>
        }
      }
    })"),
               8);
  EXPECT_GE(verdict.reported, 2u);
  RecordProperty("redundant", int(verdict.redundant));
}

TEST(GpuBarriers, OfReductions) {
  const Verdict verdict =
      dropEach(entryFunction(arenaView("x", 0, "memref<8x300xf32>") +
                             arenaView("y", kHalf, "memref<8x300xf32>") + R"(
    %n = arith.constant 300 : index
    tile.parallel (%i) in (%rows) {
      %sum = tile.reduce (%j) in (%n) combine [add] : f32 {
        %v = memref.load %x[%i, %j] : memref<8x300xf32>
        %w = arith.mulf %v, %v : f32
        memref.store %w, %y[%i, %j] : memref<8x300xf32>
        tile.yield %w : f32
      }
      %most = tile.reduce (%j) in (%n) combine [max] : f32 {
        %v = memref.load %y[%i, %j] : memref<8x300xf32>
        %w = arith.mulf %v, %sum : f32
        tile.yield %w : f32
      }
      tile.map (%j) in (%n) {
        memref.store %most, %y[%i, %j] : memref<8x300xf32>
      }
    })"),
               8);
  EXPECT_GE(verdict.reported, 2u);
  RecordProperty("redundant", int(verdict.redundant));
}

/// Copies in flight are there for others after a barrier alone, and a stage is
/// not overwritten before all have multiplied it. The one that stands before
/// the result is stored no address needs: all of a device's memory is one.
TEST(GpuBarriers, OfProducts) {
  const Verdict verdict =
      dropEach(entryFunction(arenaView("x", 0, "memref<64x128xf32>") +
                             arenaView("y", kHalf, "memref<64x64xf32>") + R"(
    %n = arith.constant 64 : index
    %k = arith.constant 128 : index
    tile.parallel (%i) in (%c1) {
      tile.product %y[%c0, %c0], %x[%c0, %c0], %x[%c0, %c0]
          size(%n, %n, %k) in [64, 64] transpose_w
          : memref<64x64xf32>, memref<64x128xf32>, memref<64x128xf32>
    })"),
               64);
  EXPECT_GE(verdict.reported, 1u);
  EXPECT_LE(verdict.redundant, 1u);
}
