//===- SessionPieceTest.cpp - How long the frames of a message are --------===//

#include "exchange/Session.h"

#include <deque>
#include <functional>
#include <gtest/gtest.h>
#include <thread>

using namespace hone::rt;
using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

namespace {

/// A link that carries a frame at a time, in order, and takes the next one
/// once the one before has left.
struct PacedLink {
  struct Way {
    std::deque<std::pair<Clock::time_point, std::string>> frames;
    Clock::time_point freeAt;
  };
  std::mutex mutex;
  std::map<std::string, Way> to;
  unsigned cuts = 0;
  /// Bytes in a second while a frame of data crosses; 0: at once.
  std::function<double(const Frame &)> rate;
  std::vector<uint64_t> pieces; ///< of data, in the order in which they left
};
PacedLink paced;

struct PacedEnd {
  std::string self, peer;
  unsigned cuts;
};

PacedEnd *endOf(hone_link *link) { return reinterpret_cast<PacedEnd *>(link); }

hone_link *openPaced(const char *, const char *self, const char *peer, int,
                     char *, uint64_t) {
  std::lock_guard<std::mutex> lock(paced.mutex);
  return reinterpret_cast<hone_link *>(new PacedEnd{self, peer, paced.cuts});
}
int sendPaced(hone_link *link, const void *bytes, uint64_t size) {
  std::lock_guard<std::mutex> lock(paced.mutex);
  if (endOf(link)->cuts != paced.cuts)
    return -1;
  PacedLink::Way &way = paced.to[endOf(link)->peer];
  const Clock::time_point now = Clock::now();
  if (now < way.freeAt)
    return 1;
  const Frame frame = *decode(static_cast<const char *>(bytes), size);
  way.freeAt = now;
  if (frame.kind == FrameKind::Data) {
    paced.pieces.push_back(frame.payloadBytes);
    if (const double rate = paced.rate ? paced.rate(frame) : 0; rate > 0)
      way.freeAt += std::chrono::duration_cast<Clock::duration>(
          std::chrono::duration<double>(double(size) / rate));
  }
  way.frames.emplace_back(way.freeAt,
                          std::string(static_cast<const char *>(bytes), size));
  return 0;
}
int64_t takePaced(hone_link *link, void *bytes, uint64_t, int milliseconds) {
  {
    std::lock_guard<std::mutex> lock(paced.mutex);
    if (endOf(link)->cuts != paced.cuts)
      return -1;
    auto &frames = paced.to[endOf(link)->self].frames;
    if (!frames.empty() && frames.front().first <= Clock::now()) {
      const std::string frame = std::move(frames.front().second);
      frames.pop_front();
      memcpy(bytes, frame.data(), frame.size());
      return int64_t(frame.size());
    }
  }
  if (milliseconds > 0)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  return 0;
}

const hone_engine engine = {HONE_ENGINE_VERSION,
                            sizeof(hone_engine),
                            "paced",
                            openPaced,
                            sendPaced,
                            takePaced,
                            [](hone_link *) {},
                            [](hone_link *link) { delete endOf(link); },
                            /*bytes=*/0,
                            /*program_bytes=*/0,
                            /*link_bytes=*/0,
                            /*is_ordered=*/1,
                            /*link_frames=*/0,
                            kMostFramePayload,
                            /*least_piece_bytes=*/0,
                            /*plan_bytes=*/0};

/// Frames under way are lost with the link.
void cutLink() {
  std::lock_guard<std::mutex> lock(paced.mutex);
  ++paced.cuts;
  paced.to.clear();
}

class SessionPieceTest : public testing::Test {
protected:
  using Message = Transport::Message;

  void SetUp() override {
    paced.to.clear();
    paced.pieces.clear();
    paced.rate = nullptr;
    patience = milliseconds(20000);
  }
  /// Two sessions that have met.
  void meet() {
    from = start("a", "b");
    to = start("b", "a");
    ASSERT_TRUE(from->awaitGreeting().isOk());
    ASSERT_TRUE(to->awaitGreeting().isOk());
  }
  void TearDown() override {
    for (Session *each : {from.get(), to.get()})
      if (each)
        each->giveUp();
  }
  std::unique_ptr<Session> start(const char *self, const char *peer) {
    Session::Peer own = {&engine,   "", self,
                         peer,      1,  std::make_shared<std::string>(),
                         {patience}};
    own.payload = kMostFramePayload;
    return std::move(Session::start(own).value());
  }
  static Message sent(uint64_t index) { return {0, 3, "m", index, "b", true}; }
  static Message taken(uint64_t index) {
    return {0, 3, "m", index, "a", false};
  }

  /// Carries message `index`; returns the payloads of its frames.
  std::vector<uint64_t> carry(uint64_t index, uint64_t size) {
    {
      std::lock_guard<std::mutex> lock(paced.mutex);
      paced.pieces.clear();
    }
    const std::string out(size, char('a' + index % 26));
    std::string in(size, '?');
    EXPECT_TRUE(to->postReceive(taken(index), in.data(), size).isOk());
    EXPECT_TRUE(from->postSend(sent(index), out.data(), size).isOk());
    const Status acknowledged = from->wait(sent(index));
    EXPECT_TRUE(acknowledged.isOk()) << acknowledged.render();
    const Status received = to->wait(taken(index));
    EXPECT_TRUE(received.isOk()) << received.render();
    EXPECT_EQ(in, out);
    std::lock_guard<std::mutex> lock(paced.mutex);
    return paced.pieces;
  }
  /// Carries messages from `index` on until one has the longest frames: beside
  /// other work no single one need be quick. Returns the next number.
  uint64_t carryUntilLong(uint64_t index) {
    for (const uint64_t end = index + 200; index != end;)
      if (carry(index++, 2 * kMostFramePayload).front() == kMostFramePayload)
        return index;
    ADD_FAILURE() << "no link is quick";
    return index;
  }

  milliseconds patience;
  std::unique_ptr<Session> from, to;
};

} // namespace

// Frames that are under way as it grows slow stay as long.
TEST_F(SessionPieceTest, ALinkThatGrowsSlowWithinAMessageHasShortPieces) {
  constexpr uint64_t size = 4 * kMostFramePayload;
  meet();
  paced.rate = [](const Frame &frame) {
    const bool isLate = frame.size == size && frame.offset > 0;
    return isLate ? 0.5 * kMostFramePayload : 0.0;
  };
  const uint64_t index = carryUntilLong(0);
  const std::vector<uint64_t> pieces = carry(index, size);
  ASSERT_GT(pieces.size(), 4u);
  EXPECT_EQ(pieces[0], kMostFramePayload);
  for (size_t i = 3; i < pieces.size(); ++i)
    EXPECT_LE(pieces[i], kMostFramePayload / 2) << i;
}

TEST_F(SessionPieceTest, AMessageAfterASlowOneHasShortPieces) {
  meet();
  uint64_t index = carryUntilLong(0);
  paced.rate = [](const Frame &) { return 1e6; };
  carry(index++, kMostFramePayload); // one frame, so the answer alone tells
  paced.rate = nullptr;
  EXPECT_LT(carry(index, 2 * kMostFramePayload).front(), kMostFramePayload);
}

TEST_F(SessionPieceTest, ANewLinkHasShortPieces) {
  meet();
  const uint64_t index = carryUntilLong(0);
  cutLink();
  EXPECT_EQ(carry(index, 2 * kMostFramePayload).front(), kFramePayload);
}

// An undone step sends messages again that its peer has.
TEST_F(SessionPieceTest, AnAnswerToAnOfferTellsNothingOfTheLink) {
  meet();
  const std::string again(2 * kMostFramePayload, 'a');
  uint64_t index = 0;
  bool isLong = false;
  // Beside other work the message before may have been slow by itself.
  for (int i = 0; i < 20 && !isLong; ++i) {
    index = carryUntilLong(index);
    ASSERT_TRUE(from->postSend(sent(0), again.data(), again.size()).isOk());
    ASSERT_TRUE(from->wait(sent(0)).isOk());
    isLong = carry(index++, 2 * kMostFramePayload).front() == kMostFramePayload;
  }
  EXPECT_TRUE(isLong);
}

// The two last frames of a message are under way at once; each has the time.
TEST_F(SessionPieceTest, ASenderWaitsForAPieceAtATime) {
  patience = milliseconds(3500);
  meet();
  paced.rate = [](const Frame &) { return double(kFramePayload) / 2; };
  EXPECT_EQ(carry(0, 3 * kFramePayload).size(), 3u);
}

// Credits and offers that come too early are dropped; an ordered link's credit
// is said once.
TEST_F(SessionPieceTest, ARoundMayBeginOnEitherSideFirst) {
  constexpr uint64_t size = 100000;
  meet();
  const std::string out(size, 'o');
  for (uint64_t round : {2, 3}) {
    std::string in(size, '?');
    auto receive = [&] {
      to->beginRound(round);
      EXPECT_TRUE(to->postReceive(taken(0), in.data(), size).isOk());
    };
    auto send = [&] {
      from->beginRound(round);
      EXPECT_TRUE(from->postSend(sent(0), out.data(), size).isOk());
    };
    round == 2 ? receive() : send();
    std::this_thread::sleep_for(milliseconds(500));
    round == 2 ? send() : receive();
    const Status status = to->wait(taken(0));
    EXPECT_TRUE(status.isOk()) << round << ": " << status.render();
    EXPECT_TRUE(from->wait(sent(0)).isOk()) << round;
    EXPECT_EQ(in, out) << round;
  }
}
