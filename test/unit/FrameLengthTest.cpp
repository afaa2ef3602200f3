//===- FrameLengthTest.cpp - How long the frames over a link are ----------===//

#include "exchange/FrameLength.h"

#include <gtest/gtest.h>
#include <vector>

using namespace hone::rt;

namespace {

constexpr uint64_t kMiB = 1 << 20, kMost = kMostFramePayload;

/// The bytes of each of the first `count` frames of a message of 8 MiB. The
/// frames are taken a `pause` apart.
std::vector<uint64_t> frames(FrameLength &lengths,
                             FrameLength::Message &message, int count,
                             double pause) {
  std::vector<uint64_t> all;
  uint64_t offset = 0;
  for (int i = 0; i < count; ++i) {
    all.push_back(lengths.next(message, offset, 8 * kMiB, 10 + i * pause));
    offset += all.back();
  }
  return all;
}

/// The payload of a frame after `bytes` took `seconds` to be acknowledged.
uint64_t payloadAfter(uint64_t bytes, double seconds, uint64_t most) {
  FrameLength lengths(most);
  FrameLength::Message before, after;
  lengths.next(before, 0, bytes, 10);
  lengths.acknowledge(before, bytes, 10 + seconds);
  return frames(lengths, after, 1, 0).front();
}

} // namespace

// By the link's bytes in eight seconds, but no less than on a slow one.
TEST(FrameLengthTest, FramesHaveWhatALinkCarriesInEightSeconds) {
  EXPECT_EQ(payloadAfter(1000000, 16.0, kMost), 500000u);
  EXPECT_EQ(payloadAfter(1000000, 8.0, kMost), kMost);
  EXPECT_EQ(payloadAfter(1000000, 0.0, kMost), kMost);
  EXPECT_EQ(payloadAfter(1000000, 1000.0, kMost), kFramePayload);
  EXPECT_EQ(payloadAfter(1000000, 0.0, 32768), 32768u);
  EXPECT_EQ(payloadAfter(1000000, 1000.0, 32768), 32768u);
}

// Few bytes go the other way then, since each frame is answered.
TEST(FrameLengthTest, AMegabitASecondIsQuick) {
  EXPECT_EQ(payloadAfter(5308416, 5308416 / 125e3, kMost), kMost);
}

// As a program asks that waits less long.
TEST(FrameLengthTest, FramesMayHaveToBeQuicker) {
  FrameLength lengths(kMost, /*seconds=*/0.5);
  FrameLength::Message first, second;
  lengths.next(first, 0, kMiB, 10);
  lengths.acknowledge(first, kMiB, 10 + 1.0);
  EXPECT_EQ(frames(lengths, second, 1, 0).front(), kMiB / 2);
}

// An acknowledgement says how quick it is.
TEST(FrameLengthTest, ALinkIsTakenForASlowOneAtFirst) {
  FrameLength lengths(kMost);
  FrameLength::Message first, second;
  EXPECT_EQ(frames(lengths, first, 3, 0), std::vector(3, kFramePayload));
  lengths.acknowledge(first, 8 * kMiB, 10 + 16.0);
  EXPECT_EQ(frames(lengths, second, 3, 0), std::vector(3, kMost));
  lengths.acknowledge(second, 8 * kMiB, 10 + 128.0);
  FrameLength::Message third;
  EXPECT_EQ(frames(lengths, third, 1, 0).front(), kMiB / 2);
}

// The last frame that the engine took may be under way still, so the third is
// the first one that is shorter. They do not grow within a message.
TEST(FrameLengthTest, FramesAreShorterOnceAMessageIsSlow) {
  FrameLength lengths(kMost);
  FrameLength::Message first, second;
  frames(lengths, first, 1, 0);
  lengths.acknowledge(first, 8 * kMiB, 10);
  EXPECT_EQ(frames(lengths, second, 4, 16),
            (std::vector{kMost, kMost, kMost / 2, kMost / 2}));
}

// However much of the message was quick.
TEST(FrameLengthTest, ALongMessageThatGrowsSlowHasShortFrames) {
  constexpr uint64_t size = 1024 * kMiB;
  FrameLength lengths(kMost);
  FrameLength::Message first, second;
  frames(lengths, first, 1, 0);
  lengths.acknowledge(first, 8 * kMiB, 10);
  uint64_t offset = 0;
  for (double now = 10; now < 11; now += 0.005)
    offset += lengths.next(second, offset, size, now);
  offset += lengths.next(second, offset, size, 1000);
  EXPECT_EQ(lengths.next(second, offset, size, 2000), kFramePayload);
}

// It may have gone over another link, or fits into one frame.
TEST(FrameLengthTest, AShortMessageSaysNothing) {
  FrameLength lengths(kMost);
  FrameLength::Message none, small;
  lengths.acknowledge(none, 8 * kMiB, 0);
  lengths.next(small, 7 * kMiB, 7 * kMiB + kFramePayload, 0);
  lengths.acknowledge(small, 7 * kMiB + kFramePayload, 0);
  FrameLength::Message next;
  EXPECT_EQ(frames(lengths, next, 1, 0).front(), kFramePayload);
}

// The rest of a message after a cut counts from there.
TEST(FrameLengthTest, OnlyWhatWentOverThisLinkCounts) {
  FrameLength lengths(kMost);
  FrameLength::Message rest;
  lengths.next(rest, 7 * kMiB, 8 * kMiB, 10);
  lengths.acknowledge(rest, 8 * kMiB, 10 + 16.0);
  FrameLength::Message next;
  EXPECT_EQ(frames(lengths, next, 1, 0).front(), kMiB / 2);
}

TEST(FrameLengthTest, AmongManyProgramsAllAreShort) {
  constexpr uint64_t most = 16 * 1024;
  FrameLength lengths(most);
  FrameLength::Message message;
  EXPECT_EQ(frames(lengths, message, 3, 100), std::vector(3, most));
  lengths.acknowledge(message, 8 * kMiB, 10);
  EXPECT_EQ(frames(lengths, message, 1, 0).front(), most);
}

// The last one has the rest.
TEST(FrameLengthTest, AMessageEnds) {
  FrameLength lengths(kMost);
  FrameLength::Message message;
  EXPECT_EQ(lengths.next(message, 0, 1000, 0), 1000u);
}
