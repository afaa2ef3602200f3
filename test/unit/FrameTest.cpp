//===- FrameTest.cpp - Frames between two sessions ------------------------===//

#include "exchange/Frame.h"
#include "hone/engine.h"

#include <cstring>
#include <gtest/gtest.h>
#include <random>
#include <vector>

using namespace hone::rt;

TEST(FrameTest, ChecksumIsCrc32c) {
  EXPECT_EQ(crc32c("123456789", 9), 0xe3069283u); // RFC 3720, B.4
  EXPECT_EQ(crc32c("789", 3, crc32c("123456", 6)), 0xe3069283u);
}

namespace {

constexpr uint64_t kMost = ~uint64_t(0);

Frame frameOf(const std::string &payload) {
  Frame frame;
  frame.kind = FrameKind::Data;
  frame.run = 5;
  frame.name = {1, 7, channelNumber("train.loss.0"), 3};
  frame.offset = 100;
  frame.size = 100 + payload.size();
  frame.payload = payload.data();
  frame.payloadBytes = uint32_t(payload.size());
  return frame;
}

std::string encoded(const Frame &frame) {
  std::string bytes(kFrameHeader + frame.payloadBytes, '?');
  bytes.resize(encode(frame, bytes.data()));
  EXPECT_EQ(bytes.size(), headerBytes(frame) + frame.payloadBytes);
  return bytes;
}

std::optional<Frame> decoded(const std::string &bytes) {
  // On the heap and no longer than it is, so that a sanitizer sees its end.
  const std::vector<char> copy(bytes.begin(), bytes.end());
  return decode(copy.data(), copy.size());
}

/// A frame of these bytes after its checksum, which is right.
std::string sealed(const std::string &rest) {
  std::string bytes = {char(FrameKind::Data), char(kProtocol)};
  const uint32_t crc = crc32c(rest.data(), rest.size(), crc32c(&bytes[0], 2));
  for (int i = 0; i < 4; ++i)
    bytes += char(crc >> (8 * i));
  return bytes + rest;
}

/// The run and the channel.
const std::string kFixed(16, 'r');

} // namespace

TEST(FrameTest, ComesBackAsItWas) {
  const std::string payload(1000, 'x');
  const std::string bytes = encoded(frameOf(payload));
  std::optional<Frame> frame = decode(bytes.data(), bytes.size());
  ASSERT_TRUE(frame);
  EXPECT_EQ(frame->kind, FrameKind::Data);
  EXPECT_EQ(frame->run, 5u);
  EXPECT_EQ(frame->name.schedule, 1u);
  EXPECT_EQ(frame->name.step, 7u);
  EXPECT_EQ(frame->name.channel, channelNumber("train.loss.0"));
  EXPECT_EQ(frame->name.index, 3u);
  EXPECT_EQ(frame->offset, 100u);
  EXPECT_EQ(frame->size, 1100u);
  EXPECT_EQ(std::string(frame->payload, frame->payloadBytes), payload);
}

TEST(FrameTest, AnyNumberComesBack) {
  for (unsigned bits = 0; bits <= 64; ++bits)
    for (uint64_t add : {-1, 0}) {
      const uint64_t number = (bits < 64 ? uint64_t(1) << bits : 0) + add;
      Frame sent;
      sent.kind = FrameKind::Credit;
      sent.run = sent.name.step = sent.name.channel = number;
      sent.name.index = sent.offset = sent.size = number;
      sent.name.schedule = uint32_t(number);
      const std::string bytes = encoded(sent);
      const std::optional<Frame> frame = decode(bytes.data(), bytes.size());
      ASSERT_TRUE(frame) << number;
      EXPECT_EQ(frame->run, number);
      EXPECT_EQ(frame->name.schedule, uint32_t(number));
      EXPECT_EQ(frame->name.step, number);
      EXPECT_EQ(frame->name.channel, number);
      EXPECT_EQ(frame->name.index, number);
      EXPECT_EQ(frame->offset, number);
      EXPECT_EQ(frame->size, number);
    }
}

// The plan and the engines have room for the longest header.
TEST(FrameTest, AHeaderIsAsLongAsItsNumbers) {
  Frame frame;
  frame.kind = FrameKind::Ack;
  frame.run = frame.name.channel = kMost;
  EXPECT_EQ(headerBytes(frame), 28u);
  frame.name.step = frame.name.index = frame.offset = frame.size = kMost;
  frame.name.schedule = frame.payloadBytes = ~uint32_t(0);
  EXPECT_EQ(headerBytes(frame), kFrameHeader);
  static_assert(HONE_FRAME_BYTES == kFrameHeader + kMostFramePayload);
}

// Two builds learn from each other's greetings that their protocols differ.
TEST(FrameTest, OnlyAGreetingIsReadInAnotherProtocol) {
  const std::string payload = "protocol=0\n";
  Frame frame = frameOf(payload);
  std::string bytes = encoded(frame);
  bytes[1] = char(kProtocol + 1);
  uint32_t crc = crc32c(&bytes[6], bytes.size() - 6, crc32c(&bytes[0], 2));
  memcpy(&bytes[2], &crc, sizeof(crc));
  EXPECT_FALSE(decoded(bytes));

  frame.kind = FrameKind::Greeting;
  bytes = encoded(frame);
  bytes[4] = char(kProtocol + 1);
  crc = crc32c(payload.data(), payload.size(), crc32c(&bytes[0], 64));
  memcpy(&bytes[64], &crc, sizeof(crc));
  const std::optional<Frame> read = decode(bytes.data(), bytes.size());
  ASSERT_TRUE(read);
  EXPECT_EQ(std::string(read->payload, read->payloadBytes), payload);
  // Any other kind in that form is of a build before.
  bytes[6] = char(FrameKind::Data);
  crc = crc32c(payload.data(), payload.size(), crc32c(&bytes[0], 64));
  memcpy(&bytes[64], &crc, sizeof(crc));
  EXPECT_FALSE(decoded(bytes));
}

// The bytes that builds of protocols 1 to 3 read.
TEST(FrameTest, AGreetingHasTheFormThatAllBuildsKnow) {
  const std::string payload = "model=m\n";
  Frame frame;
  frame.kind = FrameKind::Greeting;
  frame.run = 0x1122334455667788;
  frame.size = 1;
  frame.payload = payload.data();
  frame.payloadBytes = uint32_t(payload.size());
  std::string expected = "HONE";
  expected += {char(kProtocol), 0, 1, 0};
  expected += "\x88\x77\x66\x55\x44\x33\x22\x11";
  expected += std::string(4, '\0') + std::string("\x08\0\0\0", 4);
  expected += std::string(32, '\0') + std::string("\1\0\0\0\0\0\0\0", 8);
  const uint32_t crc = crc32c(payload.data(), payload.size(),
                              crc32c(expected.data(), expected.size()));
  for (int i = 0; i < 4; ++i)
    expected += char(crc >> (8 * i));
  expected += std::string(4, '\0') + payload;
  EXPECT_EQ(encoded(frame), expected);
}

// Each has a checksum that is right.
TEST(FrameTest, ANumberHasOneForm) {
  const std::string numbers = {1, 7, 3, 0, 2, 2}, payload = "pp";
  ASSERT_TRUE(decoded(sealed(kFixed + numbers + payload)));
  for (size_t i = 0; i < numbers.size(); ++i) {
    auto with = [&](const std::string &number) {
      std::string others = numbers;
      others.replace(i, 1, number);
      return decoded(sealed(kFixed + others + payload)).has_value();
    };
    EXPECT_FALSE(with({char(numbers[i] | '\x80'), 0})) << i; // overlong
    EXPECT_FALSE(with(std::string(9, '\x80') + '\0')) << i;
    EXPECT_FALSE(with(std::string(9, '\xff') + '\2')) << i;  // 65 bits
    EXPECT_FALSE(with(std::string(10, '\xff') + '\1')) << i; // 71 bits
    EXPECT_FALSE(with(std::string(1000, '\xff'))) << i;
  }
  // The schedule and the payload have 32 bits.
  for (size_t i : {size_t(0), numbers.size() - 1}) {
    std::string others = numbers;
    others.replace(i, 1, {'\x82', '\x80', '\x80', '\x80', '\x10'});
    EXPECT_FALSE(decoded(sealed(kFixed + others + payload))) << i;
  }
}

TEST(FrameTest, AFrameEndsWhereItsPayloadDoes) {
  const std::string numbers = {1, 7, 3, 0, 2, 2};
  EXPECT_TRUE(decoded(sealed(kFixed + numbers + "pp")));
  for (const char *payload : {"", "p", "ppp"})
    EXPECT_FALSE(decoded(sealed(kFixed + numbers + payload))) << payload;
  // In the middle of its numbers, and of one of them.
  for (size_t kept = 0; kept < numbers.size(); ++kept) {
    EXPECT_FALSE(decoded(sealed(kFixed + numbers.substr(0, kept))));
    EXPECT_FALSE(decoded(sealed(kFixed + numbers.substr(0, kept) + '\x81')));
  }
  for (size_t kept = 0; kept < kFixed.size(); ++kept)
    EXPECT_FALSE(decoded(sealed(kFixed.substr(0, kept))));
}

TEST(FrameTest, NoPayloadBeginsBeyondItsMessage) {
  EXPECT_TRUE(decoded(sealed(kFixed + std::string({1, 7, 3, 2, 2, 0}))));
  EXPECT_FALSE(decoded(sealed(kFixed + std::string({1, 7, 3, 3, 2, 0}))));
}

// Of a frame that another program made up, or that was damaged, nothing is read
// beyond its end.
TEST(FrameTest, NoOtherBytesAreAFrame) {
  std::mt19937_64 random(1);
  const std::string payload(200, 'y');
  for (FrameKind kind : {FrameKind::Data, FrameKind::Greeting}) {
    Frame frame = frameOf(payload);
    frame.kind = kind;
    const std::string whole = encoded(frame);
    for (int i = 0; i < 50000; ++i) {
      std::string bytes = whole;
      const uint64_t at = random() % whole.size();
      bytes[at] = char(uint8_t(bytes[at]) ^ (1 << random() % 8));
      // Of a greeting in another protocol the checksum tells.
      EXPECT_FALSE(decoded(bytes)) << at;
      const uint64_t kept = random() % (whole.size() + 50);
      std::string cut = whole.substr(0, kept);
      cut.resize(kept, 'z');
      EXPECT_EQ(decoded(cut).has_value(), kept == whole.size());
    }
  }
}
