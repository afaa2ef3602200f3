//===- MemoryTest.cpp - The planned peak, and the measured one ------------===//
//
// RssAnon is the system's own figure; the mapping must be in it at once.
//
//===----------------------------------------------------------------------===//

#include "module/Memory.h"

#include "base/ByteCount.h"
#include "hone/runtime.h"
#include "threads/Pool.h"

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

TEST(RunPlan, DescribesBytesForAPerson) {
  EXPECT_EQ(describeBytes(0), "0 B");
  EXPECT_EQ(describeBytes(1023), "1023 B");
  EXPECT_EQ(describeBytes(1536), "1.5 KiB");
  EXPECT_EQ(describeBytes(150 * mib), "150.0 MiB");
}
