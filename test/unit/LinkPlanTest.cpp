//===- LinkPlanTest.cpp - What links between programs take of a plan ------===//

#include "exchange/LinkPlan.h"

#include "exchange/FrameLength.h"
#include "runtime/engines/grpc/Memory.h"

#include <gtest/gtest.h>

using namespace hone;
using namespace hone::rt;

namespace {

constexpr uint64_t kLong = uint64_t(1) << 40;

hone_engine grpc() { return grpc_engine::planned(); }

hone_engine mpi() {
  hone_engine engine{};
  engine.bytes = 11 << 18;
  engine.program_bytes = 18 << 10;
  engine.is_ordered = 1;
  engine.link_frames = 2;
  engine.least_piece_bytes = 64 << 10;
  engine.plan_bytes = 4 << 20;
  return engine;
}

/// Of a program that meets `links` others, `wide` of them with long messages,
/// among so many programs.
uint64_t planned(const hone_engine &engine, uint64_t programs, uint64_t links,
                 uint64_t wide) {
  const LinkPlan plan(engine, programs);
  std::vector<uint64_t> payloads(links, plan.payloadFor(8));
  std::fill_n(payloads.begin(), wide, plan.payloadFor(kLong));
  return plan.bytes(payloads);
}

/// The first one of a chain, and one in its middle.
uint64_t mostPlanned(const hone_engine &engine, uint64_t programs) {
  const uint64_t ofFirst = planned(engine, programs, programs - 1, 1);
  return programs < 3
             ? ofFirst
             : std::max(ofFirst,
                        planned(engine, programs,
                                std::min<uint64_t>(programs - 1, 4), 2));
}

} // namespace

// More programs have shorter frames for long messages, and the plan no more
// memory.
TEST(LinkPlanTest, AllLinksOfAProgramFitThePlan) {
  uint64_t before = 896 << 10;
  for (uint64_t programs = 2; programs <= 22; ++programs) {
    const uint64_t payload = LinkPlan(grpc(), programs).payloadFor(kLong);
    EXPECT_LE(mostPlanned(grpc(), programs), 16u << 20) << programs;
    EXPECT_LE(payload, before) << programs;
    EXPECT_EQ(payload % (16 << 10), 0u) << programs;
    before = payload;
  }
  EXPECT_EQ(LinkPlan(grpc(), 2).payloadFor(kLong), 896u << 10);
  EXPECT_EQ(LinkPlan(grpc(), 64).payloadFor(kLong), 16u << 10);
}

TEST(LinkPlanTest, AnEngineMaySayWhatAPlanHasForIt) {
  uint64_t before = kFramePayload;
  for (uint64_t programs = 2; programs <= 20; ++programs) {
    const uint64_t payload = LinkPlan(mpi(), programs).payloadFor(kLong);
    EXPECT_LE(mostPlanned(mpi(), programs), 4u << 20) << programs;
    EXPECT_LE(payload, before) << programs;
    EXPECT_GE(payload, 64u << 10) << programs;
    before = payload;
  }
  EXPECT_EQ(LinkPlan(mpi(), 2).payloadFor(kLong), kFramePayload);
  EXPECT_EQ(LinkPlan(mpi(), 64).payloadFor(kLong), 64u << 10);
}

// Whatever the other links of a program carry, both sides find the same.
TEST(LinkPlanTest, FramesAreNoLongerThanTheLongestMessage) {
  for (const hone_engine &engine : {grpc(), mpi()})
    for (uint64_t programs : {2, 3, 64}) {
      const LinkPlan plan(engine, programs);
      EXPECT_EQ(plan.payloadFor(8), kShortPayload);
      EXPECT_EQ(plan.payloadFor(kShortMessage), kShortPayload);
      EXPECT_LE(plan.payloadFor(kShortMessage + 1),
                kShortMessage + kShortPayload);
    }
}
