//===- CpuDescriptionTest.cpp - Tile shapes from subtarget features -------===//
//
// The expected shapes are the ones that were measured to be fast.
//
//===----------------------------------------------------------------------===//

#include "targets/cpu/CpuDescription.h"

#include "gtest/gtest.h"

#include <set>
#include <string>

using namespace hone;

static CpuDescription describe(llvm::Triple::ArchType arch,
                               const std::set<std::string> &features) {
  return describeCpu(arch, [&](llvm::StringRef feature) {
    return features.count(feature.str()) != 0;
  });
}

TEST(CpuDescription, Avx512HasTiles6By64) {
  CpuDescription cpu =
      describe(llvm::Triple::x86_64, {"avx", "avx2", "avx512f", "avx512vl"});
  EXPECT_EQ(cpu.vectorBits, 512u);
  EXPECT_TRUE(cpu.maskedMemory);
  EXPECT_EQ(cpu.tileRows(cpu.panelVectors()), 6u);
  EXPECT_EQ(cpu.panelWidth(32), 64u);
  EXPECT_EQ(cpu.panelWidth(64), 32u);
}

TEST(CpuDescription, BFloat16DotsNeedAllOfAvx512) {
  EXPECT_TRUE(describe(llvm::Triple::x86_64,
                       {"avx", "avx512f", "avx512vl", "avx512bf16"})
                  .bfloat16Dots);
  EXPECT_FALSE(describe(llvm::Triple::x86_64, {"avx", "avx512f", "avx512bf16"})
                   .bfloat16Dots);
  EXPECT_FALSE(describe(llvm::Triple::x86_64, {"avx", "avx512f", "avx512vl"})
                   .bfloat16Dots);
}

TEST(CpuDescription, AMatrixUnitNeedsPairsAndTiles) {
  std::set<std::string> features = {"avx", "avx512f", "avx512vl", "avx512bf16",
                                    "amx-tile"};
  EXPECT_FALSE(describe(llvm::Triple::x86_64, features).bfloat16Unit);
  features.insert("amx-bf16");
  EXPECT_TRUE(describe(llvm::Triple::x86_64, features).bfloat16Unit);
  features.erase("avx512bf16");
  EXPECT_FALSE(describe(llvm::Triple::x86_64, features).bfloat16Unit);
}

TEST(CpuDescription, SomeCpusAreFastWithBFloat16Dots) {
  EXPECT_TRUE(hasFastBFloat16Dots("znver4"));
  EXPECT_TRUE(hasFastBFloat16Dots("znver5"));
  EXPECT_FALSE(hasFastBFloat16Dots("sapphirerapids"));
  EXPECT_FALSE(hasFastBFloat16Dots("x86-64-v4"));
}

TEST(CpuDescription, Avx2HasTiles6By16) {
  CpuDescription cpu = describe(llvm::Triple::x86_64, {"avx", "avx2", "fma"});
  EXPECT_FALSE(cpu.maskedMemory);
  EXPECT_EQ(cpu.tileRows(cpu.panelVectors()), 6u);
  EXPECT_EQ(cpu.panelWidth(32), 16u);
}

TEST(CpuDescription, HalfOfAvx512IsNotEnough) {
  EXPECT_EQ(describe(llvm::Triple::x86_64, {"avx", "avx512f"}).vectorBits,
            256u);
}

TEST(CpuDescription, NeonHasTiles6By16) {
  CpuDescription cpu = describe(llvm::Triple::aarch64, {"neon"});
  EXPECT_EQ(cpu.tileRows(cpu.panelVectors()), 6u);
  EXPECT_EQ(cpu.panelWidth(32), 16u);
}

// Accumulators, one row of the panel and one broadcast value are all live.
TEST(CpuDescription, TilesFitTheRegisters) {
  for (CpuDescription cpu :
       {CpuDescription{512, 32, true}, CpuDescription{256, 16, false},
        CpuDescription{128, 32, false}})
    for (unsigned vectors = 1; vectors <= cpu.panelVectors(); vectors *= 2) {
      unsigned rows = cpu.tileRows(vectors);
      EXPECT_GE(rows, 4u);
      EXPECT_LE(rows * vectors + vectors + 1, cpu.vectorRegisters);
    }
}
