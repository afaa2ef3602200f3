//===- ArenaPlanTest.cpp - Offsets for buffers with lifetimes -------------===//
//
// Properties on random sets, optima on small ones. A greedy plan has no proof
// of optimality, so the known cases are those that some order must solve.
//
//===----------------------------------------------------------------------===//

#include "passes/place/ArenaPlan.h"

#include <gtest/gtest.h>

#include <random>

using namespace hone;

static std::vector<Buffer> randomBuffers(unsigned seed) {
  std::mt19937 engine(seed);
  auto upTo = [&](int64_t most) {
    return std::uniform_int_distribution<int64_t>(0, most)(engine);
  };
  std::vector<Buffer> buffers(upTo(40));
  for (Buffer &buffer : buffers) {
    buffer.bytes = upTo(3) ? upTo(2000) : 0;
    buffer.first = upTo(20);
    buffer.last = buffer.first + upTo(10);
  }
  return buffers;
}

static int64_t sumOfBytes(const std::vector<Buffer> &buffers) {
  int64_t sum = 0;
  for (const Buffer &buffer : buffers)
    sum += ArenaPlan::align(buffer.bytes);
  return sum;
}

TEST(ArenaPlan, KeepsBuffersInUseTogetherApart) {
  for (unsigned seed = 0; seed < 500; ++seed) {
    std::vector<Buffer> buffers = randomBuffers(seed);
    int64_t bytes = ArenaPlan::place(buffers);
    for (size_t i = 0; i < buffers.size(); ++i) {
      EXPECT_EQ(buffers[i].offset % ArenaPlan::alignment, 0);
      EXPECT_GE(buffers[i].offset, 0);
      EXPECT_LE(buffers[i].offset + buffers[i].bytes, bytes);
      for (size_t j = 0; j < i; ++j)
        EXPECT_FALSE(ArenaPlan::clash(buffers[i], buffers[j]))
            << "seed " << seed << ", buffers " << i << " and " << j;
    }
  }
}

TEST(ArenaPlan, LiesBetweenTheLowerBoundAndTheSum) {
  for (unsigned seed = 0; seed < 500; ++seed) {
    std::vector<Buffer> buffers = randomBuffers(seed);
    int64_t bytes = ArenaPlan::place(buffers);
    EXPECT_GE(bytes, ArenaPlan::lowerBound(buffers)) << "seed " << seed;
    EXPECT_LE(bytes, sumOfBytes(buffers)) << "seed " << seed;
  }
}

TEST(ArenaPlan, IsDeterministic) {
  for (unsigned seed = 0; seed < 50; ++seed) {
    std::vector<Buffer> first = randomBuffers(seed), second = first;
    EXPECT_EQ(ArenaPlan::place(first), ArenaPlan::place(second));
    for (size_t i = 0; i < first.size(); ++i)
      EXPECT_EQ(first[i].offset, second[i].offset);
  }
}

TEST(ArenaPlan, ForgetsOffsetsOfAnEarlierPlan) {
  std::vector<Buffer> buffers = randomBuffers(7), again = buffers;
  int64_t bytes = ArenaPlan::place(buffers);
  for (Buffer &buffer : again)
    buffer.offset = 12345;
  EXPECT_EQ(ArenaPlan::place(again), bytes);
}

TEST(ArenaPlan, OfNothingIsEmpty) {
  std::vector<Buffer> buffers;
  EXPECT_EQ(ArenaPlan::place(buffers), 0);
  EXPECT_EQ(ArenaPlan::lowerBound(buffers), 0);
}

TEST(ArenaPlan, SharesMemoryOfBuffersThatNeverMeet) {
  std::vector<Buffer> buffers = {{128, 0, 1}, {128, 2, 3}, {64, 4, 4}};
  EXPECT_EQ(ArenaPlan::place(buffers), 128);
}

TEST(ArenaPlan, TreatsTheLastUseAsInUse) {
  std::vector<Buffer> buffers = {{64, 0, 1}, {64, 1, 2}};
  EXPECT_EQ(ArenaPlan::place(buffers), 128);
}

TEST(ArenaPlan, RoundsSizesUpToTheAlignment) {
  std::vector<Buffer> buffers = {{1, 0, 0}, {65, 0, 0}};
  EXPECT_EQ(ArenaPlan::place(buffers), 64 + 128);
}

TEST(ArenaPlan, FillsTheGapThatLongBuffersLeave) {
  // Kept values of three layers, each also with scratch of its own time: the
  // scratch of all three fits in one place beside the kept values.
  std::vector<Buffer> buffers = {{64, 0, 5},  {64, 1, 4},  {64, 2, 3},
                                 {320, 0, 0}, {256, 1, 1}, {192, 2, 2},
                                 {192, 3, 3}, {256, 4, 4}, {320, 5, 5}};
  EXPECT_EQ(ArenaPlan::lowerBound(buffers), 384);
  EXPECT_EQ(ArenaPlan::place(buffers), 384);
}

TEST(ArenaPlan, ReachesTheBoundOfALayeredStep) {
  // A step of 24 layers: kept inputs that end in reverse order and one scratch
  // a call.
  std::vector<Buffer> buffers;
  const int64_t layers = 24;
  for (int64_t layer = 0; layer < layers; ++layer) {
    buffers.push_back({1024, layer, 2 * layers - layer});
    buffers.push_back({16384, layer, layer});
    buffers.push_back({32768, 2 * layers - layer, 2 * layers - layer});
  }
  int64_t bound = ArenaPlan::lowerBound(buffers);
  EXPECT_EQ(ArenaPlan::place(buffers), bound);
}

TEST(ArenaPlan, LowerBoundIsTheMostInUseAtOneTime) {
  std::vector<Buffer> buffers = {{64, 0, 2}, {128, 1, 1}, {64, 2, 3}};
  EXPECT_EQ(ArenaPlan::lowerBound(buffers), 192);
}

TEST(ArenaPlan, ClashNeedsBothTimeAndPlace) {
  Buffer buffer{64, 0, 2, 0};
  EXPECT_TRUE(ArenaPlan::clash(buffer, {64, 2, 3, 63}));
  EXPECT_FALSE(ArenaPlan::clash(buffer, {64, 3, 3, 63}));
  EXPECT_FALSE(ArenaPlan::clash(buffer, {64, 2, 3, 64}));
}
