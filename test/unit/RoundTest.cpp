//===- RoundTest.cpp - The round that both sides of a session are in ------===//

#include "exchange/Session.h"

#include "ChainEngine.h"

#include <gtest/gtest.h>
#include <optional>
#include <thread>

using namespace hone::rt;
using hone::test::Chain;

namespace {

using std::chrono::milliseconds;

class RoundTest : public testing::Test {
protected:
  std::unique_ptr<Session> start(const char *own, const char *other,
                                 milliseconds timeout = milliseconds(5000)) {
    Session::Peer peer{&chain.engine(),
                       chain.address(),
                       own,
                       other,
                       /*run=*/1,
                       std::make_shared<const std::string>(),
                       {timeout}};
    peer.mayHalt = true;
    return std::move(Session::start(std::move(peer)).value());
  }
  /// The round that `session` is asked for once it has heard all that was said.
  static uint64_t askedOf(Session &session, Session &asking) {
    EXPECT_TRUE(session.awaitGreeting().isOk());
    EXPECT_TRUE(asking.drain().isOk());
    return session.asks().round;
  }

  /// For a message that nobody sends.
  static Status waitAtLength(Session &session) {
    uint64_t number = 0;
    return session.receive({kControl, /*step=*/1, "none", /*index=*/0,
                            session.peer().c_str(), /*isSent=*/false},
                           &number, sizeof(number));
  }
  static milliseconds since(std::chrono::steady_clock::time_point begin) {
    return std::chrono::duration_cast<milliseconds>(
        std::chrono::steady_clock::now() - begin);
  }

  Chain chain;
};

} // namespace

// A leader that died and came back twice has two names for its rounds, neither
// of which is the greater one.
TEST_F(RoundTest, TheOneThatWasAskedForLastCounts) {
  for (const auto &[older, newer] : {std::pair{5, 9}, std::pair{9, 5}}) {
    auto a = start("a", "b");
    // Both are said once the link is there, in the order of their names.
    ASSERT_TRUE(a->halt({uint64_t(older)}).isOk());
    ASSERT_TRUE(a->halt({uint64_t(newer)}).isOk());
    auto b = start("b", "a");
    EXPECT_EQ(askedOf(*b, *a), uint64_t(newer));
    a->leave();
    b->leave();
  }
}

TEST_F(RoundTest, AProcessThatCameBackAsksAnew) {
  auto b = start("b", "a");
  for (uint64_t round : {7, 3}) {
    auto a = start("a", "b");
    for (uint64_t more = 3; more-- > 0;)
      ASSERT_TRUE(a->halt({round + 10 * more}).isOk());
    EXPECT_EQ(askedOf(*b, *a), round);
    a->giveUp();
  }
  b->giveUp();
}

// Each round that was given up may leave one, and a run may have many rounds.
TEST_F(RoundTest, AnswersToOlderRequestsTakeNoRoom) {
  auto a = start("a", "b"), b = start("b", "a");
  uint64_t bytes = 0;
  auto answer = [](uint64_t round, const char *to, bool isSent) {
    return Transport::Message{kControl, round, "saved", 0, to, isSent};
  };
  for (uint64_t round = 2; round < 5000; ++round) {
    b->beginRound(round);
    ASSERT_TRUE(a->postSend(answer(round, "b", true),
                            reinterpret_cast<const char *>(&round),
                            sizeof(round))
                    .isOk());
    ASSERT_TRUE(a->drain().isOk());
  }
  EXPECT_TRUE(
      b->receive(answer(4999, "a", false), &bytes, sizeof(bytes)).isOk());
  EXPECT_EQ(bytes, 4999u);
  a->leave();
  b->leave();
}

//===----------------------------------------------------------------------===//
// Ends
//===----------------------------------------------------------------------===//

TEST_F(RoundTest, OneThatWaitedInVainSaysThatItEnds) {
  auto a = start("a", "b", milliseconds(300)), b = start("b", "a");
  ASSERT_TRUE(a->awaitGreeting().isOk());
  ASSERT_TRUE(b->awaitGreeting().isOk());
  EXPECT_EQ(waitAtLength(*a).errorCode(), hone::ErrorCode::PeerLost);
  a.reset();
  const Status status = waitAtLength(*b);
  EXPECT_EQ(status.message().problem, "the other program has ended");
}

// It ends before the other one has greeted.
TEST_F(RoundTest, OneThatHasMetNobodySaysThatItEnds) {
  const hone_engine &engine = chain.engine();
  char why[64], frame[HONE_FRAME_BYTES];
  hone_link *a = engine.open(chain.address().c_str(), "a", "b", /*timeout=*/0,
                             why, sizeof(why));
  ASSERT_NE(a, nullptr);
  auto b = start("b", "a");
  auto next = [&]() -> std::optional<FrameKind> {
    const int64_t size = engine.next(a, frame, sizeof(frame), /*timeout=*/5000);
    return size > 0 ? std::optional(decode(frame, uint64_t(size))->kind)
                    : std::nullopt;
  };
  EXPECT_EQ(next(), FrameKind::Greeting);
  b.reset();
  std::optional<FrameKind> last = next();
  while (last == FrameKind::Greeting) // said again
    last = next();
  EXPECT_EQ(last, FrameKind::Farewell);
  engine.close(a);
}

// Its next link has nobody at its other end.
TEST_F(RoundTest, OneThatHasTakenLeaveIsNotWaitedFor) {
  auto a = start("a", "b"), b = start("b", "a");
  ASSERT_TRUE(a->awaitGreeting().isOk());
  ASSERT_TRUE(b->awaitGreeting().isOk());
  a->giveUp();
  a.reset();
  EXPECT_FALSE(waitAtLength(*b).isOk());
  std::this_thread::sleep_for(milliseconds(100)); // until it dials again
  const auto begin = std::chrono::steady_clock::now();
  b.reset();
  EXPECT_LT(since(begin), milliseconds(2000));
}

// Another process may come in its place.
TEST_F(RoundTest, OneThatKeepsSilentDoesNotSayThatItEnds) {
  auto a = start("a", "b"), b = start("b", "a", milliseconds(300));
  ASSERT_TRUE(a->awaitGreeting().isOk());
  ASSERT_TRUE(b->awaitGreeting().isOk());
  a->keepSilent();
  a.reset();
  const Status status = waitAtLength(*b);
  EXPECT_EQ(status.errorCode(), hone::ErrorCode::PeerLost);
  EXPECT_NE(status.message().problem, "the other program has ended");
}
