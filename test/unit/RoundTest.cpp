//===- RoundTest.cpp - The round that both sides of a session are in ------===//

#include "exchange/Session.h"

#include "ChainEngine.h"

#include <gtest/gtest.h>
#include <thread>

using namespace hone::rt;
using hone::test::Chain;

namespace {

using std::chrono::milliseconds;

class RoundTest : public testing::Test {
protected:
  std::unique_ptr<Session> start(const char *own, const char *other) {
    Session::Peer peer{&chain.engine(),
                       chain.address(),
                       own,
                       other,
                       /*run=*/1,
                       std::make_shared<const Session::Equal>(),
                       {milliseconds(5000)}};
    peer.mayHalt = true;
    return std::move(Session::start(std::move(peer)).value());
  }
  /// The round that `session` is asked for once it has heard all that was said.
  static uint64_t askedOf(Session &session, Session &asking) {
    EXPECT_TRUE(session.awaitGreeting().isOk());
    EXPECT_TRUE(asking.drain().isOk());
    return session.asks().round;
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
    return Transport::Message{Session::kControl, round, "saved", 0, to, isSent};
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
