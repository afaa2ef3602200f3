//===- LinkPlanTest.cpp - The share of a plan for links between programs --===//

#include "exchange/LinkPlan.h"

#include "exchange/FrameLength.h"
#include "runtime/engines/grpc/Memory.h"
#include "step/Ranks.h"

#include <gtest/gtest.h>

using namespace hone;
using namespace hone::rt;

namespace {

constexpr uint64_t kLong = uint64_t(1) << 40;

hone_engine grpc() { return grpc_engine::planned(); }

hone_engine mpi() {
  hone_engine engine{};
  engine.bytes = 11 << 18;
  engine.program_bytes = 6 << 10;
  engine.link_bytes = 12 << 10;
  engine.is_ordered = 1;
  engine.link_frames = 2;
  engine.least_piece_bytes = 64 << 10;
  engine.plan_bytes = 4 << 20;
  return engine;
}

/// Of a program among so many, which meets one or two of them.
uint64_t planned(const hone_engine &engine, uint64_t programs,
                 uint64_t longest) {
  const LinkPlan plan(engine, programs);
  return plan.bytes(std::vector<uint64_t>(std::min<uint64_t>(programs - 1, 2),
                                          plan.payloadFor(longest)));
}

} // namespace

// However many programs there are, each meets two of them at most.
TEST(LinkPlanTest, AllLinksOfAProgramFitThePlan) {
  for (uint64_t programs = 2; programs <= 64; ++programs)
    for (uint64_t longest : {uint64_t(8), kShortMessage + 1, kLong}) {
      EXPECT_LE(planned(grpc(), programs, longest), 16u << 20) << programs;
      EXPECT_LE(planned(mpi(), programs, longest), 4u << 20) << programs;
    }
}

TEST(LinkPlanTest, MoreProgramsHaveNoLongerFrames) {
  for (const hone_engine &engine : {grpc(), mpi()}) {
    uint64_t before = kMostFramePayload;
    for (uint64_t programs = 2; programs <= 64; ++programs) {
      const uint64_t payload = LinkPlan(engine, programs).payloadFor(kLong);
      EXPECT_LE(payload, before) << programs;
      EXPECT_GE(payload, 64u << 10) << programs;
      EXPECT_EQ(payload % (16 << 10), 0u) << programs;
      before = payload;
    }
  }
  EXPECT_EQ(LinkPlan(grpc(), 2).payloadFor(kLong), 896u << 10);
  EXPECT_EQ(LinkPlan(grpc(), 3).payloadFor(kLong),
            LinkPlan(grpc(), 64).payloadFor(kLong));
  EXPECT_EQ(LinkPlan(mpi(), 2).payloadFor(kLong), kFramePayload);
}

// Both sides find the same, with any other links of a program.
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

// Each has a link to all others. Beyond nine MPI's memory and the threads use
// up the 4 MiB, even with the shortest pieces.
TEST(LinkPlanTest, LinksOfUpToNineRanksFit4MiB) {
  uint64_t before = 0;
  for (uint64_t ranks = 2; ranks <= 64; ++ranks) {
    const uint64_t piece = Ranks::pieceBytes(ranks);
    const uint64_t bytes =
        LinkPlan(mpi(), ranks).bytes(std::vector<uint64_t>(ranks - 1, piece)) +
        Ranks::keptBytes(ranks) +
        Ranks::foldBytes(/*gradientBytes=*/1, ranks, /*hasRounds=*/false);
    if (ranks <= 9)
      EXPECT_LE(bytes, 4u << 20) << ranks;
    else
      EXPECT_LE(bytes, before + (144 << 10)) << ranks;
    before = bytes;
  }
  EXPECT_LE(before, 12u << 20);
}
