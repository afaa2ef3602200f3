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
#include "module/Settings.h"
#include "threads/Pool.h"

#ifdef __GLIBC__
#include <malloc.h>
#endif

#include <gtest/gtest.h>

#include <map>

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

TEST(RunPlan, OfADeviceHasTheArenaThere) {
  ModuleConfig config;
  config.planClasses = {{"adapter", 3 * mib}, {"kept", 5 * mib}};
  config.processBytes = 4 * mib;
  config.onDevice = true;
  config.deviceWeightBytes = 50 * mib;
  config.deviceHostBytes = 6 * mib;
  RunPlan plan = RunPlan::make(config, 8 * mib, {"accumulation", mib}, 0, 3);
  EXPECT_EQ(plan.deviceTotal, (8 + 1 + 50) * mib);
  EXPECT_EQ(plan.budgeted(), plan.deviceTotal);
  EXPECT_EQ(plan.total, (6 + 4) * mib + 2 * Pool::stackBytes);
  uint64_t onHost = 0, onDevice = 0;
  for (const PlanClass &entry : plan.classes)
    onHost += entry.bytes;
  for (const PlanClass &entry : plan.deviceClasses)
    onDevice += entry.bytes;
  EXPECT_EQ(onHost, plan.total);
  EXPECT_EQ(onDevice, plan.deviceTotal);
  const std::string table = plan.render();
  EXPECT_LT(table.find("of the device"), table.find("adapter"));
  EXPECT_LT(table.find("adapter"), table.find("of the host"));
}

TEST(PeakMeter, SaysWhenNothingWasMeasured) {
  EXPECT_EQ(PeakMeter::describe(3 << 20, 5 << 20), "3.0 of 5.0 MiB planned");
  EXPECT_EQ(PeakMeter::describe(0, 5 << 20), "not measured; 5.0 MiB planned");
}

TEST(PeakMeter, HoldsADeviceToItsPlan) {
  ModuleConfig config;
  config.planClasses = {{"adapter", 3 * mib}};
  config.processBytes = 1024 * mib;
  config.onDevice = true;
  config.deviceHostBytes = mib;
  const RunPlan plan = RunPlan::make(config, 3 * mib, {}, 0, 1);
  PeakMeter meter(plan);
  meter.beginDriver();
  meter.noteDevice(3 * mib, mib);
  EXPECT_EQ(meter.budgeted(), 3 * mib);
  EXPECT_TRUE(meter.verdict().isOk());
  meter.noteDevice(3 * mib + 1, mib);
  EXPECT_EQ(meter.verdict().errorCode(), ErrorCode::PlanExceeded);
  meter.noteDevice(3 * mib, mib + 1);
  EXPECT_EQ(meter.verdict().errorCode(), ErrorCode::PlanExceeded);
}

// In a step, or of threads that verify them before the first one.
TEST(RunPlan, HasTheWeightsThatAreResidentAtATime) {
  ModuleConfig config;
  config.weightBytes = 100 * mib;
  config.residentWeightBytes = 20 * mib;
  config.residentThreadBytes = mib;
  auto resident = [&](unsigned threads) {
    RunPlan plan = RunPlan::make(config, 0, {}, 0, threads);
    return plan.resident - plan.total - HONE_MAPPED_BYTES;
  };
  EXPECT_EQ(resident(3), 20 * mib);
  EXPECT_EQ(resident(90), 90 * mib);
  EXPECT_EQ(resident(101), 100 * mib) << "never more than there are";
}

#ifdef __GLIBC__
static uint64_t heapInUse() {
  const struct mallinfo2 heap = mallinfo2();
  return heap.uordblks + heap.hblkhd;
}

// Compiled in, as the run has them, and as text.
TEST(ProcessMemory, HasTheSettingsOfParts) {
  ProcessFacts facts;
  facts.parts = 64;
  const uint64_t planned = processBytes(facts) - processBytes({});
  const uint64_t before = heapInUse();
  Settings compiledIn;
  for (uint64_t i = 0; i < facts.parts; ++i)
    compiledIn.parts.add("part" + std::to_string(i));
  const Settings ofRun(compiledIn);
  std::map<std::string, std::string> identity;
  for (const Setting *setting : ofRun.all())
    identity[setting->identity()] = setting->text();
  const auto compared = identity;
  const uint64_t taken = heapInUse() - before;
  if (taken == 0)
    GTEST_SKIP() << "the heap of a sanitizer says nothing of itself";
  EXPECT_LE(taken, planned);
  EXPECT_GE(taken, planned / 4) << compared.size();
}

// The tables of a weights file take the planned bytes, or hardly less.
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
