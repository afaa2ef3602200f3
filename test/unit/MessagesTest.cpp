//===- MessagesTest.cpp - The messages of a session, without a link -------===//

#include "exchange/Messages.h"

#include <cstring>
#include <gtest/gtest.h>
#include <list>
#include <random>

using namespace hone::rt;

namespace {

/// Two sides, between which a test carries frames, and a clock of its own.
class MessagesTest : public testing::Test {
protected:
  static constexpr uint64_t kPayload = 1000;
  static Messages side(bool isOrdered) {
    return Messages(isOrdered, FrameLength(kPayload), /*names=*/64);
  }
  static MessageName name(uint64_t index) { return {0, 3, 7, index}; }

  /// A frame on its way, with the bytes that it had when it left.
  struct OnWay {
    Frame frame;
    std::string payload;
  };
  /// The next frame of `from`, if it has any.
  std::optional<OnWay> next(Messages &from) {
    Frame frame;
    from.remind(now);
    if (!from.next(now, frame, isNew))
      return std::nullopt;
    return OnWay{frame, std::string(frame.payload, frame.payloadBytes)};
  }
  bool give(Messages &to, OnWay sent) {
    sent.frame.payload = sent.payload.data();
    return to.take(sent.frame, now);
  }
  /// Hands frames to the other side until both have none; returns their kinds.
  std::string carry(Messages &a, Messages &b) {
    static const char kinds[] = "?GCDOAFR";
    std::string seen;
    for (bool isSilent = false; !isSilent;) {
      isSilent = true;
      for (auto [from, to] : {std::pair{&a, &b}, std::pair{&b, &a}})
        while (std::optional<OnWay> sent = next(*from)) {
          seen += kinds[int(sent->frame.kind)];
          give(*to, *std::move(sent));
          isSilent = false;
        }
    }
    return seen;
  }

  Messages::Time now = Reminder::Clock::now();
  bool isNew = false;
  const std::string large = std::string(2500, 'x') + "end", small = "12345678";
  std::string place = std::string(large.size(), '?');
};

} // namespace

TEST_F(MessagesTest, AReceiveThatIsPostedIsTheCredit) {
  Messages a = side(true), b = side(true);
  a.postSend(name(0), large.data(), large.size());
  EXPECT_EQ(carry(a, b), "");
  EXPECT_TRUE(b.postReceive(name(0), place.data(), place.size()));
  EXPECT_EQ(carry(a, b), "CDDDA");
  EXPECT_EQ(place, large);
  EXPECT_TRUE(b.isDone(name(0), false));
  EXPECT_TRUE(a.isDone(name(0), true));
  EXPECT_FALSE(a.hasOpenSends());
}

TEST_F(MessagesTest, ASmallOneNeedsNoCreditAndIsCopied) {
  Messages a = side(true), b = side(true);
  {
    std::string gone = small;
    a.postSend(name(0), gone.data(), gone.size());
    gone.assign(gone.size(), '?');
  }
  EXPECT_TRUE(a.isDone(name(0), true));
  // Nobody waits, but a lost link is no reason to lose it.
  a.drop(name(0), true);
  EXPECT_TRUE(a.hasOpenSends());
  EXPECT_EQ(carry(a, b), "DA");
  EXPECT_FALSE(a.hasOpenSends());
  EXPECT_FALSE(b.postReceive(name(0), place.data(), small.size()));
  EXPECT_TRUE(b.isDone(name(0), false));
  EXPECT_EQ(place.substr(0, small.size()), small);
}

TEST_F(MessagesTest, ANewLinkCarriesWhatIsMissing) {
  Messages a = side(true), b = side(true);
  a.postSend(name(0), large.data(), large.size());
  b.postReceive(name(0), place.data(), place.size());
  give(a, *next(b));
  EXPECT_TRUE(give(b, *next(a)));
  ASSERT_TRUE(next(a)); // is lost with the link
  EXPECT_TRUE(isNew);
  a.beginLink();
  b.beginLink();
  const OnWay credit = *next(b);
  EXPECT_EQ(credit.frame.kind, FrameKind::Credit);
  EXPECT_EQ(credit.frame.offset, kPayload);
  EXPECT_TRUE(give(a, credit));
  EXPECT_EQ(carry(a, b), "DDA");
  EXPECT_EQ(place, large);
}

TEST_F(MessagesTest, WhatComesTwiceIsTakenOnce) {
  Messages a = side(false), b = side(false);
  a.postSend(name(0), small.data(), small.size());
  const OnWay sent = *next(a);
  EXPECT_TRUE(give(b, sent));
  EXPECT_FALSE(give(b, sent));
  EXPECT_EQ(carry(b, a), "AA");
  b.postReceive(name(0), place.data(), small.size());
  b.drop(name(0), false);
  // Its memory is another's now.
  place.assign(place.size(), '?');
  EXPECT_FALSE(give(b, sent));
  EXPECT_EQ(place, std::string(large.size(), '?'));
  EXPECT_EQ(carry(b, a), "A");
}

TEST_F(MessagesTest, AnotherSizeIsSeenOnBothSides) {
  Messages a = side(true), b = side(true);
  a.postSend(name(0), large.data(), large.size());
  b.postReceive(name(0), place.data(), 2000);
  EXPECT_FALSE(a.misfit(name(0), true));
  EXPECT_EQ(carry(a, b), "C");
  const auto there = a.misfit(name(0), true);
  ASSERT_TRUE(there);
  EXPECT_EQ(there->expected, 2000u);
  EXPECT_EQ(there->found, large.size());
  now += Reminder::kFirst;
  EXPECT_EQ(carry(a, b), "");
  give(b, {{FrameKind::Offer, 0, name(0), 0, large.size()}, ""});
  const auto here = b.misfit(name(0), false);
  ASSERT_TRUE(here);
  EXPECT_EQ(here->expected, 2000u);
  EXPECT_EQ(here->found, large.size());
}

TEST_F(MessagesTest, ARoundForgetsAllButWhatIsOfNone) {
  Messages a = side(true);
  const MessageName none{kControl, 1, 7, 0};
  a.postSend(name(0), small.data(), small.size());
  a.postSend(none, small.data(), small.size());
  a.postReceive(name(1), place.data(), place.size());
  a.beginRound();
  EXPECT_FALSE(a.isSending(name(0)));
  EXPECT_TRUE(a.isSending(none));
  EXPECT_EQ(next(a)->frame.name.schedule, kControl);
  EXPECT_FALSE(next(a));
}

// Over a link that loses, doubles and delays, by a seed: whatever is lost is
// said again.
TEST_F(MessagesTest, OverABadLinkEveryMessageArrivesWhole) {
  for (uint32_t seed = 0; seed < 50; ++seed) {
    std::mt19937 random(seed);
    Messages a = side(false), b = side(false);
    constexpr uint64_t count = 12;
    std::vector<std::string> sent, got;
    for (uint64_t i = 0; i < count; ++i) {
      sent.push_back(std::string(i % 3 ? 40 * i : 700 * i + 8, char('a' + i)));
      got.push_back(std::string(sent[i].size(), '?'));
    }
    for (uint64_t i = 0; i < count; ++i) {
      a.postSend(name(i), sent[i].data(), sent[i].size());
      b.postReceive(name(i), got[i].data(), got[i].size());
    }
    std::list<std::pair<Messages *, OnWay>> onWay;
    for (int turn = 0; a.hasOpenSends() && turn < 100000; ++turn) {
      now += std::chrono::milliseconds(5);
      for (auto [from, to] : {std::pair{&a, &b}, std::pair{&b, &a}})
        if (std::optional<OnWay> frame = next(*from))
          for (uint32_t copies = random() % 3; copies > 0; --copies)
            onWay.insert(random() % 4 ? onWay.end() : onWay.begin(),
                         {to, *frame});
      for (uint32_t some = random() % 3; some > 0 && !onWay.empty(); --some) {
        give(*onWay.front().first, onWay.front().second);
        onWay.pop_front();
      }
      if (random() % 200 == 0) {
        onWay.clear();
        a.beginLink();
        b.beginLink();
      }
    }
    ASSERT_FALSE(a.hasOpenSends()) << seed;
    ASSERT_EQ(got, sent) << seed;
  }
}
