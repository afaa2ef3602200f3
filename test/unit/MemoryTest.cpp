//===- MemoryTest.cpp - The planned peak, and the measured one ------------===//
//
// RssAnon is the system's own figure; the mapping must be in it at once.
//
//===----------------------------------------------------------------------===//

#include "module/Memory.h"
#include "TemporaryFolder.h"
#include "base/ByteCount.h"
#include "formats/Safetensors.h"
#include "hone/runtime.h"
#include "module/ProcessMemory.h"
#include "threads/Pool.h"

#ifdef __GLIBC__
#include <malloc.h>
#endif

#include <gtest/gtest.h>

using namespace hone::rt;

static constexpr uint64_t mib = 1024 * 1024;

TEST(RunPlan, AddsWhatTheRunTimeNeeds) {
  ModuleConfig config;
  config.planClasses = {{"lora", 3 * mib}, {"kept activations", 5 * mib}};
  config.processBytes = 4 * mib;
  RunPlan plan = RunPlan::make(config, 10 * mib, {"accumulation", mib}, mib, 3);
  EXPECT_EQ(plan.total, 11 * mib + 3 * mib + 2 * Pool::stackBytes + 4 * mib);
  EXPECT_EQ(plan.resident, plan.total + HONE_MAPPED_BYTES);
  uint64_t sum = 0;
  for (const PlanClass &entry : plan.classes)
    sum += entry.bytes;
  EXPECT_EQ(sum, plan.total);
  EXPECT_NE(plan.render().find("  kept activations        5.00 MiB\n"),
            std::string::npos);
}

TEST(RunPlan, AddsTheWeightsThatAreResidentAtATime) {
  ModuleConfig config;
  config.weightBytes = 100 * mib;
  config.residentWeightBytes = 20 * mib;
  config.residentThreadBytes = mib;
  auto resident = [&](unsigned threads) {
    RunPlan plan = RunPlan::make(config, 0, {}, 0, threads);
    return plan.resident - plan.total - HONE_MAPPED_BYTES;
  };
  EXPECT_EQ(resident(3), 23 * mib);
  EXPECT_EQ(resident(90), 100 * mib) << "never more than there are";
}

#ifdef __GLIBC__
static uint64_t heapInUse() {
  const struct mallinfo2 heap = mallinfo2();
  return heap.uordblks + heap.hblkhd;
}

// The tables of a weights file take what is planned for them, or hardly less.
TEST(ProcessMemory, IsWhatTheHeaderOfAFileTakes) {
  const TemporaryFolder folder;
  ProcessFacts facts;
  std::vector<TensorSpec> tensors;
  for (int i = 0; i < 20000; ++i) {
    tensors.push_back(
        {"model.layers." + std::to_string(i) + ".self_attn.q_proj.weight",
         Dtype::F32,
         {0, 8}});
    facts.inFile.add(tensors.back().name.size());
  }
  const std::string path = folder.file("weights.safetensors");
  auto writer = SafetensorsWriter::create(path, tensors, {});
  ASSERT_TRUE(writer.isOk());
  ASSERT_TRUE(writer.value().commit().isOk());
  const uint64_t before = heapInUse();
  auto file = SafetensorsFile::open(path);
  ASSERT_TRUE(file.isOk());
  const uint64_t taken = heapInUse() - before;
  if (taken == 0)
    GTEST_SKIP() << "the heap of a sanitizer says nothing of itself";
  const uint64_t planned = processBytes(facts) - processBytes({});
  EXPECT_LE(taken, planned);
  EXPECT_GE(taken, planned * 8 / 10);
}
#endif

TEST(RunPlan, DescribesBytesForAPerson) {
  EXPECT_EQ(describeBytes(0), "0 B");
  EXPECT_EQ(describeBytes(1023), "1023 B");
  EXPECT_EQ(describeBytes(1536), "1.5 KiB");
  EXPECT_EQ(describeBytes(150 * mib), "150.0 MiB");
}
