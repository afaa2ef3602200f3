//===- SessionTest.cpp - Messages over a link that may be lost ------------===//

#include "exchange/Session.h"
#include "exchange/Engine.h"
#include "exchange/LinkPlan.h"

#include "../exchange/TestEngine.cpp"
#include "TemporaryFolder.h"

#include <deque>
#include <gtest/gtest.h>
#include <thread>

using namespace hone::rt;

namespace {

class SessionTest : public testing::Test {
protected:
  Session::Peer peer(const char *self, const char *other, int timeout = 20000) {
    return {hone_exchange_engine(),
            folder.file("").substr(0, folder.file("").size() - 1),
            self,
            other,
            1,
            std::make_shared<const std::string>("model=m\n"),
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

// It is linked into this program, so no library is looked for.
TEST(EngineTest, AnEngineThatIsLinkedInIsFound) {
  Result<const hone_engine *> found = findEngine("/nowhere", "test");
  ASSERT_TRUE(found.isOk()) << found.status().render();
  EXPECT_EQ(found.value(), hone_exchange_engine());
  EXPECT_EQ(findEngine("/nowhere", "other").status().errorCode(),
            hone::ErrorCode::NoEngine);
}

// A run of 64 parts has some 20 KB to compare, and most links have short
// frames.
TEST_F(SessionTest, AGreetingNamesWhatDiffersHoweverMuchIsEqual) {
  for (const bool differs : {false, true}) {
    std::string problems[2];
    auto open = [&](const char *self, const char *other, bool isOther,
                    std::string &problem) {
      std::string equal;
      for (int i = 0; i < 1000; ++i)
        equal += "part" + std::to_string(i) +
                 ".learning_rate=" + (isOther && i == 999 ? "0.25\n" : "0.5\n");
      Session::Peer own = peer(self, other);
      own.equal = std::make_shared<const std::string>(std::move(equal));
      own.payload = kShortPayload;
      auto opened = Session::open(own);
      problem = opened.isOk() ? "" : opened.status().message().problem;
    };
    std::thread a([&] { open("a", "b", false, problems[0]); });
    std::thread b([&] { open("b", "a", differs, problems[1]); });
    a.join();
    b.join();
    const std::string what = "differs in part999.learning_rate (here ";
    EXPECT_EQ(problems[0], differs ? what + "0.5, there 0.25)" : "");
    EXPECT_EQ(problems[1], differs ? what + "0.25, there 0.5)" : "");
  }
}

TEST_F(SessionTest, AGreetingNamesWhatDiffers) {
  std::string problems[2];
  auto open = [&](const char *self, const char *other, const char *lines,
                  std::string &problem) {
    Session::Peer own = peer(self, other);
    own.equal = std::make_shared<const std::string>(lines);
    auto opened = Session::open(own);
    problem = opened.isOk() ? "" : opened.status().message().problem;
  };
  std::thread a([&] { open("a", "b", "model=m\nrate=0.5\n", problems[0]); });
  std::thread b(
      [&] { open("b", "a", "model=m\nrate=0.25\nseed=1\n", problems[1]); });
  a.join();
  b.join();
  EXPECT_EQ(problems[0], "differs in rate (here 0.5, there 0.25), seed (here "
                         "none, there 1)");
  EXPECT_EQ(problems[1], "differs in rate (here 0.25, there 0.5), seed (here "
                         "1, there none)");
}

// Its thread answers and gives signs of life, but it sends nothing.
TEST_F(SessionTest, ALivePeerThatSendsNothingIsWaitedForAsLong) {
  setenv("HONE_TEST_ENGINE", "", 1);
  Status found = Status::ok();
  std::atomic<bool> isOver{false};
  std::thread a([&] {
    auto opened = Session::open(peer("a", "b", /*timeout=*/1500));
    ASSERT_TRUE(opened.isOk());
    std::string in(5000, '?');
    const Transport::Message wanted = message(0, "b", false, "b");
    ASSERT_TRUE(
        opened.value()->postReceive(wanted, in.data(), in.size()).isOk());
    found = opened.value()->wait(wanted);
    EXPECT_GE(opened.value()->traffic().waited, 1.4);
    isOver = true;
  });
  std::thread b([&] {
    auto opened = Session::open(peer("b", "a"));
    ASSERT_TRUE(opened.isOk());
    while (!isOver)
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
  });
  a.join();
  b.join();
  EXPECT_EQ(found.errorCode(), hone::ErrorCode::PeerLost);
}

namespace {

/// Two ends of a link that keeps its messages, in order.
struct Wire {
  std::mutex mutex;
  std::map<std::string, std::deque<std::string>> to;
  std::map<FrameKind, unsigned> sent;
  std::chrono::milliseconds each{0}; ///< that a frame of data takes
};
Wire wire;

struct End {
  std::string self, peer;
};

hone_link *openEnd(const char *, const char *self, const char *peer, int,
                   char *, uint64_t) {
  return reinterpret_cast<hone_link *>(new End{self, peer});
}
int sendOver(hone_link *link, const void *bytes, uint64_t size) {
  const std::string frame(static_cast<const char *>(bytes), size);
  const FrameKind kind = decode(frame.data(), size)->kind;
  if (kind == FrameKind::Data && size > 1000)
    std::this_thread::sleep_for(wire.each);
  std::lock_guard<std::mutex> lock(wire.mutex);
  ++wire.sent[kind];
  wire.to[reinterpret_cast<End *>(link)->peer].push_back(frame);
  return 0;
}
int64_t takeOff(hone_link *link, void *bytes, uint64_t, int milliseconds) {
  std::string frame;
  {
    std::lock_guard<std::mutex> lock(wire.mutex);
    auto &own = wire.to[reinterpret_cast<End *>(link)->self];
    if (!own.empty()) {
      frame = own.front();
      own.pop_front();
    }
  }
  if (frame.empty() && milliseconds > 0)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  memcpy(bytes, frame.data(), frame.size());
  return int64_t(frame.size());
}

/// An engine whose links are ordered.
constexpr hone_engine orderedEngine(
    const char *name, decltype(hone_engine::send) send = sendOver,
    decltype(hone_engine::next) next = takeOff,
    decltype(hone_engine::close) close = [](hone_link *link) {
      delete reinterpret_cast<End *>(link);
    }) {
  return {HONE_ENGINE_VERSION,
          sizeof(hone_engine),
          name,
          openEnd,
          send,
          next,
          [](hone_link *) {},
          close,
          /*bytes=*/0,
          /*program_bytes=*/0,
          /*link_bytes=*/0,
          /*is_ordered=*/1,
          /*link_frames=*/0,
          /*piece_bytes=*/0,
          /*least_piece_bytes=*/0,
          /*plan_bytes=*/0};
}

/// The same over a wire that nothing was sent over, as a test that is repeated
/// needs it.
hone_engine newWire(const char *name, std::chrono::milliseconds each = {}) {
  std::lock_guard<std::mutex> lock(wire.mutex);
  wire.to.clear();
  wire.sent.clear();
  wire.each = each;
  return orderedEngine(name);
}

} // namespace

// However slow the link is, a piece crosses once where frames are not lost.
TEST_F(SessionTest, NothingIsSentAgainOverAnOrderedLink) {
  // Beyond any reminder's time.
  const hone_engine ordered =
      newWire("ordered", std::chrono::milliseconds(300));
  std::string problem = "none";
  std::thread a([&] {
    Session::Peer own = peer("a", "b");
    own.engine = &ordered;
    auto opened = Session::open(own);
    const std::string out(1000000, 'o');
    const Transport::Message sent = message(0, "b", true, "m");
    (void)opened.value()->postSend(sent, out.data(), out.size());
    problem = opened.value()->wait(sent).render();
  });
  std::thread b([&] {
    Session::Peer own = peer("b", "a");
    own.engine = &ordered;
    auto opened = Session::open(own);
    std::string in(1000000, '?');
    const Transport::Message wanted = message(0, "a", false, "m");
    (void)opened.value()->postReceive(wanted, in.data(), in.size());
    EXPECT_TRUE(opened.value()->wait(wanted).isOk());
    EXPECT_EQ(in, std::string(1000000, 'o'));
  });
  a.join();
  b.join();
  EXPECT_EQ(problem, Status::ok().render());
  EXPECT_EQ(wire.sent[FrameKind::Data], 4u); // of 256 KiB
  // A credit for each offer; there is one if the receive is posted late.
  EXPECT_LE(wire.sent[FrameKind::Credit], 1 + wire.sent[FrameKind::Offer]);
}

// It is the engine's to find out that nobody is there.
TEST_F(SessionTest, NobodyGreetsAgainOverAnOrderedLink) {
  const hone_engine ordered = newWire("quiet");
  auto greetings = [] {
    std::lock_guard<std::mutex> lock(wire.mutex);
    return wire.sent[FrameKind::Greeting];
  };
  std::unique_ptr<Session> both[2];
  for (const char *self : {"g", "h"}) {
    Session::Peer own = peer(self, *self == 'g' ? "h" : "g");
    own.engine = &ordered;
    both[*self == 'h'] = std::move(Session::start(own).value());
  }
  for (auto &each : both)
    ASSERT_TRUE(each->awaitGreeting().isOk());
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  const unsigned met = greetings();
  std::this_thread::sleep_for(std::chrono::milliseconds(2500));
  EXPECT_EQ(greetings(), met);
  for (auto &each : both)
    each->giveUp();
}

// A message over a link that has shown that it is quick has fewer frames.
TEST_F(SessionTest, AQuickLinkHasLongFrames) {
  const hone_engine quick = newWire("quick");
  constexpr uint64_t size = 2 * kMostFramePayload + 1;
  constexpr unsigned least = 3, most = 8;
  auto framesOfData = [] {
    std::lock_guard<std::mutex> lock(wire.mutex);
    return wire.sent[FrameKind::Data];
  };
  const std::string out(size, 'o');
  std::atomic<bool> isOver{false};
  unsigned first = 0, last = 0;
  std::thread e([&] {
    Session::Peer own = peer("e", "f");
    own.engine = &quick;
    own.payload = kMostFramePayload;
    auto opened = Session::open(own);
    // Beside other work no single one need be quick.
    for (uint64_t i = 0; i < 200 && last != least; ++i) {
      const unsigned before = framesOfData();
      const Transport::Message sent = message(i, "f", true, "m");
      (void)opened.value()->postSend(sent, out.data(), out.size());
      EXPECT_TRUE(opened.value()->wait(sent).isOk());
      last = framesOfData() - before;
      first = i == 0 ? last : first;
    }
    isOver = true;
  });
  std::thread f([&] {
    Session::Peer own = peer("f", "e");
    own.engine = &quick;
    own.payload = kMostFramePayload;
    auto opened = Session::open(own);
    for (uint64_t i = 0; !isOver; ++i) {
      std::string in(size, '?');
      const Transport::Message wanted = message(i, "e", false, "m");
      (void)opened.value()->postReceive(wanted, in.data(), in.size());
      if (opened.value()->wait(wanted).isOk())
        EXPECT_EQ(in, out);
      else
        break;
    }
  });
  e.join();
  f.join();
  EXPECT_EQ(first, most);
  EXPECT_EQ(last, least);
}

// Its peer acknowledges nothing and takes no leave. After the deadline of the
// last answer there is no second one for the end.
TEST_F(SessionTest, AVainDrainEndsAtItsDeadline) {
  static const hone_engine deaf = orderedEngine(
      "deaf", [](hone_link *link, const void *bytes, uint64_t size) {
        const FrameKind kind =
            decode(static_cast<const char *>(bytes), size)->kind;
        return kind == FrameKind::Ack || kind == FrameKind::Farewell
                   ? 0
                   : sendOver(link, bytes, size);
      });
  constexpr std::chrono::milliseconds deadline{3000};
  std::atomic<bool> isOver{false};
  std::thread d([&] {
    Session::Peer own = peer("d", "c");
    own.engine = &deaf;
    auto opened = Session::open(own);
    while (!isOver)
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    opened.value()->giveUp();
  });
  std::chrono::steady_clock::time_point begin;
  {
    Session::Peer own = peer("c", "d", int(deadline.count()));
    own.engine = &deaf;
    auto opened = Session::open(own);
    begin = std::chrono::steady_clock::now();
    (void)opened.value()->postSend(message(0, "d", true, "m"), "answer.", 8);
    EXPECT_EQ(opened.value()->drain().errorCode(), hone::ErrorCode::PeerLost);
  }
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 2 * deadline);
  isOver = true;
  d.join();
}

namespace {

/// Frames under way, and when each arrives; they are lost with the link.
struct SlowWire {
  using Clock = std::chrono::steady_clock;
  std::mutex mutex;
  std::map<std::string, std::deque<std::pair<Clock::time_point, std::string>>>
      to;
  unsigned sent = 0;
};
SlowWire slow;

int sendSlowly(hone_link *link, const void *bytes, uint64_t size) {
  std::lock_guard<std::mutex> lock(slow.mutex);
  ++slow.sent;
  slow.to[reinterpret_cast<End *>(link)->peer].emplace_back(
      SlowWire::Clock::now() + std::chrono::milliseconds(2500),
      std::string(static_cast<const char *>(bytes), size));
  return 0;
}
int64_t takeSlowly(hone_link *link, void *bytes, uint64_t, int milliseconds) {
  {
    std::lock_guard<std::mutex> lock(slow.mutex);
    auto &own = slow.to[reinterpret_cast<End *>(link)->self];
    if (!own.empty() && own.front().first <= SlowWire::Clock::now()) {
      const std::string frame = own.front().second;
      own.pop_front();
      memcpy(bytes, frame.data(), frame.size());
      return int64_t(frame.size());
    }
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
  return 0;
}

} // namespace

// A side that gives up a link on which a greeting is under way greets for ever.
TEST_F(SessionTest, ASlowLinkHasTheTimeToGreet) {
  slow.sent = 0;
  const hone_engine engine =
      orderedEngine("slow", sendSlowly, takeSlowly, [](hone_link *link) {
        auto *end = reinterpret_cast<End *>(link);
        std::lock_guard<std::mutex> lock(slow.mutex);
        slow.to[end->self].clear();
        slow.to[end->peer].clear();
        delete end;
      });
  bool haveMet[2] = {};
  std::thread ends[2];
  for (int i : {0, 1})
    ends[i] = std::thread([&, i] {
      Session::Peer own = i == 0 ? peer("a", "b") : peer("b", "a");
      own.engine = &engine;
      auto opened = Session::open(own);
      haveMet[i] = opened.isOk();
    });
  for (std::thread &end : ends)
    end.join();
  EXPECT_TRUE(haveMet[0] && haveMet[1]);
  EXPECT_LE(slow.sent, 50u); // they are far apart: a slow link has not the room
}

namespace {

/// An ordered link, which ends for both sides when one closes it. All that was
/// sent before still arrives.
struct Line {
  std::mutex mutex;
  std::map<std::string, std::deque<std::string>> to;
  unsigned opened = 0;
  bool isClosed = false;
  bool isLate = false; ///< "h" gets nothing before it cannot send
};
Line line;

hone_link *openLine(const char *, const char *self, const char *peer, int,
                    char *, uint64_t) {
  std::lock_guard<std::mutex> lock(line.mutex);
  ++line.opened;
  return line.isClosed ? nullptr
                       : reinterpret_cast<hone_link *>(new End{self, peer});
}
int sendOverLine(hone_link *link, const void *bytes, uint64_t size) {
  std::lock_guard<std::mutex> lock(line.mutex);
  if (line.isClosed) {
    line.isLate = false;
    return -1;
  }
  line.to[reinterpret_cast<End *>(link)->peer].emplace_back(
      static_cast<const char *>(bytes), size);
  return 0;
}
int64_t takeOffLine(hone_link *link, void *bytes, uint64_t, int milliseconds) {
  {
    std::lock_guard<std::mutex> lock(line.mutex);
    const std::string &self = reinterpret_cast<End *>(link)->self;
    const bool isLate = line.isLate && self == "h";
    auto &own = line.to[self];
    if (!own.empty() && !isLate) {
      const std::string frame = std::move(own.front());
      own.pop_front();
      memcpy(bytes, frame.data(), frame.size());
      return int64_t(frame.size());
    }
    if (line.isClosed && !isLate)
      return -1;
  }
  if (milliseconds > 0)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  return 0;
}

hone_engine lineEngine() {
  hone_engine engine =
      orderedEngine("line", sendOverLine, takeOffLine, [](hone_link *link) {
        std::lock_guard<std::mutex> lock(line.mutex);
        line.isClosed = true;
        delete reinterpret_cast<End *>(link);
      });
  engine.open = openLine;
  std::lock_guard<std::mutex> lock(line.mutex);
  line.to.clear();
  line.opened = 0;
  line.isClosed = line.isLate = false;
  return engine;
}

} // namespace

// Whichever leaves first. It would else dial, for seconds, a program that has
// ended.
TEST_F(SessionTest, ProgramsThatTakeLeaveNeedNoOtherLink) {
  for (int round = 0; round < 20; ++round) {
    const hone_engine engine = lineEngine();
    const bool hasHeard = round % 2 == 0; // before it leaves
    std::atomic<int> met{0};
    auto run = [&](const char *self, const char *other, bool waits) {
      Session::Peer own = peer(self, other);
      own.engine = &engine;
      auto opened = Session::open(own);
      ++met;
      ASSERT_TRUE(opened.isOk());
      while (met < 2 || (waits && opened.value()->checkThere("b").isOk()))
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    };
    std::thread first([&] { run("g", "h", false); });
    run("h", "g", hasHeard);
    first.join();
    EXPECT_EQ(line.opened, 2u) << round;
  }
}

// A program says farewell once more, over a link that the other has closed, and
// finds the other's farewell there.
TEST_F(SessionTest, AFarewellThatCameBeforeTheLinkWasLostIsHeard) {
  const hone_engine engine = lineEngine();
  std::atomic<int> met{0};
  auto run = [&](const char *self, const char *other) {
    Session::Peer own = peer(self, other);
    own.engine = &engine;
    auto opened = Session::open(own);
    ++met;
    ASSERT_TRUE(opened.isOk());
    while (met < 2)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    std::lock_guard<std::mutex> lock(line.mutex);
    line.isLate = true;
  };
  std::thread first([&] { run("g", "h"); });
  run("h", "g");
  first.join();
  EXPECT_EQ(line.opened, 2u);
}

// Its checksum is right, but no schedule has such a frame.
TEST_F(SessionTest, AFrameThatContradictsItselfEndsTheRun) {
  static const hone_engine wrong = {
      HONE_ENGINE_VERSION,
      sizeof(hone_engine),
      "wrong",
      openEnd,
      [](hone_link *, const void *, uint64_t) { return 0; },
      [](hone_link *link, void *bytes, uint64_t, int) -> int64_t {
        const std::string payload(100, 'p');
        Frame frame;
        frame.run = 1;
        frame.offset = 100;
        frame.size = frame.offset + 99;
        frame.payload = payload.data();
        frame.payloadBytes = uint32_t(payload.size());
        (void)link;
        return int64_t(encode(frame, static_cast<char *>(bytes)));
      },
      [](hone_link *) {},
      [](hone_link *link) { delete reinterpret_cast<End *>(link); },
      /*bytes=*/0,
      /*program_bytes=*/0,
      /*link_bytes=*/0,
      /*is_ordered=*/0,
      /*link_frames=*/0,
      /*piece_bytes=*/0,
      /*least_piece_bytes=*/0,
      /*plan_bytes=*/0};
  Session::Peer own = peer("a", "b");
  own.engine = &wrong;
  auto opened = Session::open(own);
  ASSERT_FALSE(opened.isOk());
  EXPECT_EQ(opened.status().errorCode(), hone::ErrorCode::MessageMisfit);
  EXPECT_EQ(opened.status().exitCode(), hone::ExitCode::Protocol);
}

TEST_F(SessionTest, AMissingPeerIsWaitedForAsLongAsTheDeadlineSays) {
  auto opened = Session::open(peer("a", "b", /*timeout=*/200));
  ASSERT_FALSE(opened.isOk());
  EXPECT_EQ(opened.status().errorCode(), hone::ErrorCode::PeerLost);
}
