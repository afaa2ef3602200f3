//===- SessionTest.cpp - Messages over a link that may be lost ------------===//

#include "exchange/Session.h"

#include "../exchange/TestEngine.cpp"
#include "TemporaryFolder.h"

#include <gtest/gtest.h>
#include <thread>

using namespace hone::rt;

TEST(FrameTest, ChecksumIsCrc32c) {
  EXPECT_EQ(crc32c("123456789", 9), 0xe3069283u); // RFC 3720, B.4
  EXPECT_EQ(crc32c("789", 3, crc32c("123456", 6)), 0xe3069283u);
}

namespace {
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
} // namespace

TEST(FrameTest, ComesBackAsItWas) {
  const std::string payload(1000, 'x');
  std::vector<char> bytes(HONE_FRAME_BYTES);
  const uint64_t size = encode(frameOf(payload), bytes.data());
  EXPECT_EQ(size, kFrameHeader + 1000);
  std::optional<Frame> frame = decode(bytes.data(), size);
  ASSERT_TRUE(frame);
  EXPECT_EQ(frame->run, 5u);
  EXPECT_EQ(frame->name.step, 7u);
  EXPECT_EQ(frame->name.index, 3u);
  EXPECT_EQ(frame->offset, 100u);
  EXPECT_EQ(std::string(frame->payload, frame->payloadBytes), payload);
}

// Of a frame that another program made up, or that was damaged, nothing is read
// beyond its end.
TEST(FrameTest, NoOtherBytesAreAFrame) {
  std::mt19937_64 random(1);
  const std::string payload(200, 'y');
  std::vector<char> whole(HONE_FRAME_BYTES);
  const uint64_t size = encode(frameOf(payload), whole.data());
  for (int i = 0; i < 100000; ++i) {
    std::string bytes(whole.data(), size);
    const uint64_t at = random() % size;
    bytes[at] = char(uint8_t(bytes[at]) ^ (1 << random() % 8));
    EXPECT_FALSE(decode(bytes.data(), bytes.size())) << at;
    const uint64_t kept = random() % (size + 50);
    std::string cut(whole.data(), std::min(size, kept));
    cut.resize(kept, 'z');
    EXPECT_EQ(decode(cut.data(), cut.size()).has_value(), kept == size);
  }
}

namespace {

class SessionTest : public testing::Test {
protected:
  Session::Peer peer(const char *self, const char *other, int timeout = 20000) {
    return {hone_exchange_engine(),
            folder.file("").substr(0, folder.file("").size() - 1),
            self,
            other,
            1,
            {{"model", "m"}},
            {std::chrono::milliseconds(timeout)}};
  }
  static Transport::Message message(uint64_t index, const char *to, bool isSent,
                                    const char *channel) {
    return {0, 3, channel, index, to, isSent};
  }
  static std::string contents(uint64_t index, char salt) {
    static const size_t sizes[] = {8, 64, 65, 5000, 600000};
    std::string bytes(sizes[index % 5], salt);
    memcpy(bytes.data(), &index, sizeof(index));
    return bytes;
  }

  /// Sends `count` messages and receives as many, a few at a time.
  void talk(const char *self, const char *other, uint64_t count,
            std::string &problem) {
    auto opened = Session::open(peer(self, other));
    if (!opened.isOk()) {
      problem = opened.status().render();
      return;
    }
    Session &session = *opened.value();
    for (uint64_t first = 0; first < count; first += 4) {
      std::vector<std::string> out, in;
      for (uint64_t i = first; i < first + 4; ++i) {
        out.push_back(contents(i, *self));
        in.emplace_back(contents(i, *other).size(), '?');
      }
      Status status = Status::ok();
      auto note = [&](Status found) {
        if (status.isOk())
          status = std::move(found);
      };
      for (uint64_t k = 0; k < 4; ++k) {
        note(session.postSend(message(first + k, other, true, self),
                              out[k].data(), out[k].size()));
        note(session.postReceive(message(first + k, other, false, other),
                                 in[k].data(), in[k].size()));
      }
      for (uint64_t k = 4; k-- > 0 && status.isOk();) {
        note(session.wait(message(first + k, other, false, other)));
        note(session.wait(message(first + k, other, true, self)));
      }
      if (!status.isOk())
        problem = status.render();
      for (uint64_t k = 0; k < 4 && problem.empty(); ++k)
        if (in[k] != contents(first + k, *other))
          problem = "other bytes in message " + std::to_string(first + k);
      if (!problem.empty())
        return;
    }
  }

  TemporaryFolder folder;
};

} // namespace

// Frames are lost, doubled, late, damaged, and the link is cut again and again.
TEST_F(SessionTest, EveryMessageArrivesWholeAndOnce) {
  setenv("HONE_TEST_ENGINE", "1 200 200 200 100 100", 1);
  std::string problems[2];
  std::thread a([&] { talk("a", "b", 60, problems[0]); });
  std::thread b([&] { talk("b", "a", 60, problems[1]); });
  a.join();
  b.join();
  EXPECT_EQ(problems[0], "");
  EXPECT_EQ(problems[1], "");
}

TEST_F(SessionTest, AGreetingNamesWhatDiffers) {
  std::string problems[2];
  auto open = [&](const char *self, const char *other, const char *rate,
                  std::string &problem) {
    Session::Peer own = peer(self, other);
    own.equal["rate"] = rate;
    auto opened = Session::open(own);
    problem = opened.isOk() ? "" : opened.status().message().problem;
  };
  std::thread a([&] { open("a", "b", "0.5", problems[0]); });
  std::thread b([&] { open("b", "a", "0.25", problems[1]); });
  a.join();
  b.join();
  EXPECT_EQ(problems[0], "differs in rate (here 0.5, there 0.25)");
  EXPECT_EQ(problems[1], "differs in rate (here 0.25, there 0.5)");
}

TEST_F(SessionTest, WhoIsNotThereIsWaitedForAsLongAsTheDeadlineSays) {
  auto opened = Session::open(peer("a", "b", /*timeout=*/200));
  ASSERT_FALSE(opened.isOk());
  EXPECT_EQ(opened.status().errorCode(), hone::ErrorCode::PeerLost);
}
