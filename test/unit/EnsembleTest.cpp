//===- EnsembleTest.cpp - Programs along a chain, in rounds ---------------===//

#include "exchange/Ensemble.h"

#include "ChainEngine.h"

#include <algorithm>
#include <atomic>
#include <functional>
#include <gtest/gtest.h>
#include <random>
#include <thread>

using namespace hone::rt;
using hone::test::Chain;

namespace {

using Folder = Ensemble::Folder;
using Starts = std::vector<hone::rt::Result<Ensemble::Start>>;

std::string nameOf(size_t program) {
  return std::string(1, char('a' + program));
}

/// The one at `place` of a chain of so many.
Ensemble::About about(const Chain &chain, size_t place, size_t count,
                      Patience patience) {
  Ensemble::About about;
  about.engine = &chain.engine();
  about.address = chain.address();
  about.self = nameOf(place);
  about.leader = nameOf(0);
  if (place > 0)
    about.before = nameOf(place - 1);
  if (place + 1 < count)
    about.after = {nameOf(place + 1)};
  for (const std::string &peer : {about.before, nameOf(place + 1)})
    if (!peer.empty() && (peer == about.before || !about.after.empty()))
      about.links.push_back({peer});
  about.equal = "model=m\n";
  about.patience = patience;
  return about;
}

/// Where programs begin whose folders have these, or why not; the first one
/// leads.
Starts begin(const std::vector<Folder> &folders,
             const Ensemble::Decided &decided = nullptr) {
  Chain chain;
  Starts starts(folders.size(), Ensemble::Start{});
  std::vector<std::thread> programs;
  for (size_t i = 0; i < folders.size(); ++i)
    programs.emplace_back([&, i] {
      auto opened = Ensemble::open(
          about(chain, i, folders.size(), {std::chrono::milliseconds(20000)}));
      starts[i] = opened.value()->beginRound(folders[i], 8, /*isNeeded=*/true,
                                             i == 0 ? decided : nullptr);
      // One that leaves at once might leave before the other has heard it.
      std::this_thread::sleep_for(std::chrono::milliseconds(300));
    });
  for (std::thread &program : programs)
    program.join();
  return starts;
}

/// The step at which all begin with one run, whose name this is, if any.
void expectStart(const Starts &starts, uint64_t step,
                 std::optional<uint64_t> run = std::nullopt) {
  for (const auto &each : starts) {
    ASSERT_TRUE(each.isOk()) << each.status().render();
    EXPECT_EQ(each.value().step, step);
    EXPECT_EQ(each.value().run, run.value_or(starts[0].value().run));
    EXPECT_NE(each.value().run, 0u);
  }
}

void expectNone(const Starts &starts, const char *why) {
  for (const auto &each : starts) {
    ASSERT_FALSE(each.isOk()) << each.value().step;
    EXPECT_EQ(each.status().errorCode(), hone::ErrorCode::NoCommonStep);
    EXPECT_NE(each.status().message().problem.find(why), std::string::npos)
        << each.status().render();
  }
}

constexpr const char *kOfDifferentRuns = "of different runs",
                     *kIsNew = "that of the program 'a' is new";

} // namespace

TEST(EnsembleTest, CheckpointsOfTwoRunsHaveNoStepInCommon) {
  expectNone(begin({{{8, 4}, 1}, {{8, 4}, 2}}), kOfDifferentRuns);
  // Two followers' folders count, too, with any folder of the leader.
  expectNone(begin({{{4}, 0}, {{4}, 1}, {{4}, 2}}), kOfDifferentRuns);
}

TEST(EnsembleTest, AllGoOnFromTheNewestStepOfOneRun) {
  expectStart(begin({{{8, 4}, 7}, {{4}, 7}}), 4, 7);
  // Folders of an older version.
  expectStart(begin({{{8, 4}, 0}, {{8}, 0}}), 8);
}

// The program that leads and one that follows died before they had the name.
TEST(EnsembleTest, ALeaderWithoutANameHasThatOfItsFollowers) {
  expectStart(begin({{{8, 4}, 0}, {{4}, 7}, {{8, 4}, 0}}), 4, 7);
}

// Each program of it has the beginning, since it may be the first that saved.
TEST(EnsembleTest, TheBeginningIsARunsOwnWhereACheckpointWouldBeLost) {
  expectStart(begin({{{0}, 7}, {{4, 0}, 7}}), 0, 7);
  expectStart(begin({{{4, 0}, 7}, {{0}, 0}}), 0, 7);
  expectNone(begin({{{0}, 1}, {{4, 0}, 2}}), kOfDifferentRuns);
  expectNone(begin({{{4, 0}, 1}, {{0}, 2}}), kOfDifferentRuns);
  expectNone(begin({{{0}, 1}, {{0}, 2}, {{4, 0}, 1}}), kOfDifferentRuns);
  expectNone(begin({{{}, 0}, {{4, 0}, 2}}), kIsNew);
}

TEST(EnsembleTest, TheBeginningIsEveryRunsWhereNothingIsLost) {
  expectStart(begin({{{0}, 1}, {{0}, 2}}), 0, 1);
  // The name of another run would make its checkpoints this one's.
  const Starts anew = begin({{{}, 0}, {{0}, 2}});
  expectStart(anew, 0);
  EXPECT_NE(anew[0].value().run, 2u);
}

TEST(EnsembleTest, TheNewestSixStepsAreSaid) {
  const std::vector<int64_t> eight = {9, 8, 7, 6, 5, 4, 3, 2};
  expectStart(begin({{eight, 7}, {{4}, 7}}), 4, 7);
  expectStart(begin({{{4}, 7}, {eight, 7}}), 4, 7);
  expectNone(begin({{eight, 7}, {{3}, 7}}), "but there is none");
  expectNone(begin({{{3}, 7}, {eight, 7}}), "but there is none");
}

// So no other program has a name that the leader could not keep.
TEST(EnsembleTest, ALeaderThatCannotKeepTheNameBeginsNothing) {
  uint64_t run = 0;
  const Starts starts =
      begin({{{}, 0}, {{}, 0}}, [&](const Ensemble::Start &start) {
        run = start.run;
        return Status(hone::ErrorCode::WriteFailed, "together.run", "", "");
      });
  EXPECT_NE(run, 0u);
  EXPECT_EQ(starts[0].status().errorCode(), hone::ErrorCode::WriteFailed);
  EXPECT_EQ(starts[1].status().errorCode(), hone::ErrorCode::PeerLost);
}

// So that a mark of an older end is gone when others begin a longer run.
TEST(EnsembleTest, ALeaderKnowsWhereARoundBeginsBeforeOthersDo) {
  std::atomic<bool> isDecided{false};
  Chain chain;
  auto meet = [&](size_t place, const Ensemble::Decided &decided) {
    auto opened = Ensemble::open(
        about(chain, place, 3, {std::chrono::milliseconds(20000)}));
    auto start = opened.value()->beginRound({{4, 2}}, 8, true, decided);
    ASSERT_TRUE(start.isOk());
    EXPECT_TRUE(isDecided) << nameOf(place);
    EXPECT_EQ(start.value().step, 4u);
    EXPECT_EQ(start.value().steps, 8u);
  };
  std::thread followers[] = {std::thread([&] { meet(1, nullptr); }),
                             std::thread([&] { meet(2, nullptr); })};
  meet(0, [&](const Ensemble::Start &start) {
    EXPECT_EQ(start.step, 4u);
    EXPECT_EQ(start.steps, 8u);
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    isDecided = true;
    return Status::ok();
  });
  for (std::thread &follower : followers)
    follower.join();
}

//===----------------------------------------------------------------------===//
// Common steps
//===----------------------------------------------------------------------===//

// Along a chain it is put together from the end, and between ranks one by one.
TEST(CommonStepsTest, AreTheSameInWhateverOrderTheyAreAdded) {
  std::mt19937 random(7);
  for (int round = 0; round < 2000; ++round) {
    std::vector<CommonSteps> all;
    for (int i = 0; i < 4; ++i) {
      std::vector<int64_t> saved;
      for (int64_t step = 8; step >= 0; --step)
        if (random() % 3 > 0)
          saved.push_back(step);
      all.emplace_back(saved, random() % 3);
    }
    auto sum = [](CommonSteps left, const CommonSteps &right) {
      left.add(CommonSteps(right.words())); // as a message brings it
      return left;
    };
    const CommonSteps left = sum(sum(sum(all[0], all[1]), all[2]), all[3]),
                      right = sum(all[0], sum(all[1], sum(all[2], all[3]))),
                      turned = sum(sum(all[3], all[1]), sum(all[2], all[0]));
    for (const CommonSteps *other : {&right, &turned}) {
      EXPECT_EQ(left.newest(), other->newest());
      EXPECT_EQ(left.run(), other->run());
      EXPECT_EQ(left.hasCheckpoint(), other->hasCheckpoint());
    }
  }
}

TEST(CommonStepsTest, WordsOfAnyContentsAreTaken) {
  CommonSteps::Words words;
  words.fill(~uint64_t(0));
  CommonSteps any(words);
  any.add(CommonSteps({4, 2}, 1));
  EXPECT_EQ(any.newest(), std::nullopt);
  EXPECT_EQ(any.run(), std::nullopt);
}

//===----------------------------------------------------------------------===//
// Deaths
//===----------------------------------------------------------------------===//

namespace {

/// The chain and the name of this thread's program.
struct Life {
  Chain *chain;
  std::string name;
};
thread_local const Life *life = nullptr;

bool isDead() { return life && life->chain->isDead(life->name); }

/// A program that trains: its folder outlives its processes.
class Program {
public:
  Program(Chain &chain, size_t place, size_t count)
      : chain(chain), place(place), count(count) {}

  /// Until it ends, or has died.
  Status live() {
    auto opened = Ensemble::open(
        about(chain, place, count, {std::chrono::milliseconds(5000), isDead}));
    HONE_TRY(opened.status());
    Ensemble &others = *opened.value();
    for (;;) {
      auto start = others.beginRound(folder, kSteps, !knowsAll);
      if (!start.isOk())
        return leave(start.status());
      begins(start.value());
      Status status = others.leads() ? lead(others) : follow(others);
      if (!others.isInterrupted() || isDead() || status.isOk())
        return leave(std::move(status));
    }
  }

  /// -1: none.
  int64_t newestSaved() const {
    return folder.saved.empty() ? -1 : folder.saved.front();
  }

  static constexpr uint64_t kSteps = 2;
  Folder folder;
  bool hasEnd = false, knowsAll = false;

private:
  /// Once all have the end a program that is silent costs nothing.
  Status leave(Status status) const {
    return hasEnd && status.errorCode() == hone::ErrorCode::PeerLost
               ? Status::ok()
               : status;
  }
  void begins(const Ensemble::Start &start) {
    folder.run = start.run;
    completed = start.step;
    folder.saved.erase(std::remove_if(folder.saved.begin(), folder.saved.end(),
                                      [&](int64_t step) {
                                        return uint64_t(step) > completed;
                                      }),
                       folder.saved.end());
    if (completed == 0)
      folder.saved = {0};
  }
  /// A number goes up the chain, and each adds one to it.
  Status step(Ensemble &others) {
    uint64_t number = 100 * completed;
    const std::string below = nameOf(place - (place > 0)),
                      above = nameOf(place + 1);
    char *bytes = reinterpret_cast<char *>(&number);
    if (place > 0) {
      const Transport::Message comes{0, completed,     "up",
                                     0, below.c_str(), false};
      HONE_TRY(others.postReceive(comes, bytes, sizeof(number)));
      if (Status status = others.wait(comes); !status.isOk()) {
        others.cancel(comes);
        return status;
      }
    }
    EXPECT_EQ(number, 100 * completed + place);
    ++number;
    if (place + 1 < count)
      HONE_TRY(others.postSend({0, completed, "up", 0, above.c_str(), true},
                               bytes, sizeof(number)));
    ++completed;
    return Status::ok();
  }
  void save() {
    if (newestSaved() != int64_t(completed))
      folder.saved.insert(folder.saved.begin(), int64_t(completed));
  }

  Status lead(Ensemble &others) {
    while (completed < kSteps) {
      HONE_TRY(others.lead({Command::Kind::Step, completed}));
      HONE_TRY(step(others));
      HONE_TRY(others.lead({Command::Kind::Save, completed}));
      save();
      HONE_TRY(others.awaitAnswers());
      HONE_TRY(others.lead({Command::Kind::Durable, completed}));
      folder.saved = {int64_t(completed)};
    }
    hasEnd = true;
    HONE_TRY(others.lead({Command::Kind::Result, completed}));
    HONE_TRY(others.awaitAnswers());
    knowsAll = true;
    HONE_TRY(others.lead({Command::Kind::End, completed}));
    return others.awaitAnswers();
  }

  Status follow(Ensemble &others) {
    for (;;) {
      Result<Command> told = others.follow();
      HONE_TRY(told.status());
      EXPECT_EQ(told.value().step, completed);
      switch (told.value().kind) {
      case Command::Kind::Step:
        HONE_TRY(step(others));
        break;
      case Command::Kind::Save:
        save();
        HONE_TRY(others.answer());
        break;
      case Command::Kind::Durable:
        folder.saved = {int64_t(completed)};
        break;
      case Command::Kind::Result:
        hasEnd = true;
        HONE_TRY(others.answer());
        break;
      default:
        HONE_TRY(others.answer());
        return others.drain();
      }
    }
  }

  Chain &chain;
  const size_t place, count;
  uint64_t completed = 0;
};

/// Trains with `count` programs, each of which is started again when it died.
/// How often one did.
unsigned survives(size_t count, const Chain::Dies &dies,
                  const std::string &what, Chain::Badness badness = {}) {
  Chain chain(dies, badness);
  std::vector<Program> programs;
  for (size_t i = 0; i < count; ++i)
    programs.emplace_back(chain, i, count);
  std::atomic<unsigned> died{0};
  std::vector<std::thread> threads;
  for (size_t i = 0; i < count; ++i)
    threads.emplace_back([&, i] {
      const Life own{&chain, nameOf(i)};
      life = &own;
      Status status = programs[i].live();
      while (isDead()) {
        ++died;
        chain.revive(own.name);
        status = programs[i].live();
      }
      EXPECT_TRUE(status.isOk()) << own.name << " of " << count << ", " << what
                                 << ": " << status.render();
    });
  for (std::thread &thread : threads)
    thread.join();
  for (const Program &each : programs) {
    EXPECT_EQ(each.newestSaved(), int64_t(Program::kSteps)) << what;
    EXPECT_EQ(each.folder.run, programs[0].folder.run) << what;
    EXPECT_TRUE(each.hasEnd) << what;
  }
  return died;
}

/// Several at the same time, since they wait most of theirs.
void forEach(unsigned count, const std::function<void(unsigned)> &run) {
  std::atomic<unsigned> next{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 12; ++i)
    threads.emplace_back([&] {
      for (unsigned own = next++; own < count; own = next++)
        run(own);
    });
  for (std::thread &thread : threads)
    thread.join();
}

} // namespace

TEST(EnsembleTest, AnyProgramMayDieAtAnyMessage) {
  for (size_t count : {2, 3, 5}) {
    // Until none sends as many frames.
    constexpr unsigned kMost = 200;
    std::vector<std::atomic<bool>> isOver(count);
    std::vector<std::atomic<unsigned>> died(count);
    forEach(kMost * unsigned(count), [&](unsigned i) {
      const size_t victim = i % count;
      const unsigned last = 1 + i / unsigned(count);
      if (isOver[victim])
        return;
      auto dies = [&](const std::string &program, unsigned frame) {
        return program == nameOf(victim) && frame == last;
      };
      const std::string what =
          nameOf(victim) + " died at frame " + std::to_string(last);
      if (const unsigned found = survives(count, dies, what))
        died[victim] += found;
      else
        isOver[victim] = true;
    });
    for (size_t i = 0; i < count; ++i) {
      EXPECT_TRUE(isOver[i]);
      EXPECT_GT(died[i], 15u) << nameOf(i);
    }
  }
}

namespace {

/// So many runs whose programs die at random, over links as bad as that.
void surviveOften(unsigned runs, Chain::Badness badness) {
  forEach(runs, [&](unsigned seed) {
    std::mt19937 random(seed);
    std::atomic<int> left{6};
    auto dies = [&](const std::string &, unsigned) {
      return random() % 40 == 0 && left-- > 0;
    };
    Chain::Badness own = badness;
    own.seed = seed;
    survives(2 + seed % 5, dies, "seed " + std::to_string(seed), own);
  });
}

} // namespace

TEST(EnsembleTest, SeveralProgramsMayDieSeveralTimes) {
  surviveOften(300, Chain::Badness());
}

TEST(EnsembleTest, LinksMayBeCutToo) {
  Chain::Badness badness;
  badness.cut = 300;
  badness.slow = 500;
  surviveOften(60, badness);
}

TEST(EnsembleTest, FramesMayBeLostDoubledAndLateToo) {
  Chain::Badness badness;
  badness.lose = badness.twice = badness.late = 300;
  badness.cut = 100;
  surviveOften(60, badness);
}

namespace {

using std::chrono::milliseconds;

/// The one at `place` of a chain, which lives until it is dead.
class Member {
public:
  Member(Chain &chain, size_t place, size_t count, int timeout)
      : own{&chain, nameOf(place)}, chain(chain), place(place), count(count),
        timeout(timeout) {}

  void begin() {
    life = &own;
    ensemble = std::move(Ensemble::open(about(chain, place, count,
                                              {milliseconds(timeout), isDead}))
                             .value());
  }
  Status meet(bool isNeeded = true) {
    return ensemble->beginRound({{2}, 1}, 2, isNeeded).status();
  }
  /// Until it hears no more, and meets again where that is to be.
  Status follow() {
    for (;;) {
      Status status = ensemble->follow().status();
      if (status.isOk())
        continue;
      if (!ensemble->isInterrupted() || isDead())
        return status;
      if (Status met = meet(); !met.isOk())
        return met;
    }
  }
  void end() { ensemble.reset(); }

  std::unique_ptr<Ensemble> ensemble;

private:
  const Life own;
  Chain &chain;
  const size_t place, count;
  const int timeout;
};

} // namespace

// The last one was killed, so it has not said that it leaves.
TEST(EnsembleTest, ARoundThatNobodyNeedsWaitsAMomentForOneThatIsGone) {
  Chain chain;
  std::atomic<int> met{0};
  auto follow = [&](size_t place) {
    Member member(chain, place, 3, 60000);
    member.begin();
    EXPECT_TRUE(member.meet().isOk());
    ++met;
    EXPECT_FALSE(member.follow().isOk());
    member.end();
  };
  std::thread b(follow, 1), c(follow, 2);
  Member a(chain, 0, 3, 60000);
  a.begin();
  EXPECT_TRUE(a.meet().isOk());
  while (met < 2)
    std::this_thread::sleep_for(milliseconds(5));
  chain.kill(nameOf(2));
  c.join();
  chain.kill(nameOf(0));
  a.end();
  chain.revive(nameOf(0));
  const auto begun = std::chrono::steady_clock::now();
  a.begin();
  EXPECT_EQ(a.meet(/*isNeeded=*/false).errorCode(), hone::ErrorCode::PeerLost);
  a.end();
  b.join();
  EXPECT_LT(std::chrono::steady_clock::now() - begun, milliseconds(15000));
}

// Each waits as long for a program that came back as if it had never gone.
TEST(EnsembleTest, AllKnowThatTheOneThatLeadsIsBack) {
  Chain chain;
  const int timeout = 3000;
  std::atomic<int> met{0};
  auto follow = [&](size_t place) {
    Member member(chain, place, 4, timeout);
    member.begin();
    EXPECT_TRUE(member.meet().isOk());
    ++met;
    // Again, with the process that came back.
    Status status = member.ensemble->follow().status();
    EXPECT_TRUE(member.ensemble->isInterrupted()) << status.render();
    status = member.meet();
    EXPECT_TRUE(status.isOk()) << nameOf(place) << ": " << status.render();
    ++met;
    while (met < 6)
      std::this_thread::sleep_for(milliseconds(5));
    member.end();
  };
  std::thread others[] = {std::thread(follow, 1), std::thread(follow, 2),
                          std::thread(follow, 3)};
  Member a(chain, 0, 4, timeout);
  a.begin();
  EXPECT_TRUE(a.meet().isOk());
  while (met < 3)
    std::this_thread::sleep_for(milliseconds(5));
  chain.kill(nameOf(0));
  a.end();
  std::this_thread::sleep_for(milliseconds(timeout * 2 / 3));
  chain.revive(nameOf(0));
  a.begin(); // greets, and reads its data
  std::this_thread::sleep_for(milliseconds(timeout * 2 / 3));
  EXPECT_TRUE(a.meet().isOk());
  while (met < 6)
    std::this_thread::sleep_for(milliseconds(5));
  a.end();
  for (std::thread &other : others)
    other.join();
}

TEST(EnsembleTest, AllKnowThatTheLastOneIsThere) {
  Chain chain;
  const int timeout = 3000;
  std::vector<std::thread> programs;
  std::atomic<int> met{0};
  for (size_t place = 0; place < 4; ++place)
    programs.emplace_back([&, place] {
      Member member(chain, place, 4, timeout);
      const bool isLate = place == 3;
      std::this_thread::sleep_for(milliseconds(isLate * timeout * 2 / 3));
      member.begin();
      std::this_thread::sleep_for(milliseconds(isLate * timeout * 2 / 3));
      const Status status = member.meet();
      EXPECT_TRUE(status.isOk()) << nameOf(place) << ": " << status.render();
      ++met;
      while (met < 4)
        std::this_thread::sleep_for(milliseconds(5));
      member.end();
    });
  for (std::thread &program : programs)
    program.join();
}

// Events in the meantime do not restart the wait.
TEST(EnsembleTest, AnAbsentProgramIsWaitedForOnce) {
  const int timeout = 2000;
  for (size_t other : {0, 2}) {
    Chain chain;
    std::thread comesBack([&] {
      for (int life = 0; life < 2; ++life) {
        Member member(chain, other, 3, timeout);
        member.begin();
        std::thread dies([&] {
          std::this_thread::sleep_for(milliseconds(timeout / 2));
          chain.kill(nameOf(other));
        });
        EXPECT_FALSE(member.meet().isOk());
        dies.join();
        member.end();
        chain.revive(nameOf(other));
      }
    });
    Member b(chain, 1, 3, timeout);
    b.begin();
    const auto begun = std::chrono::steady_clock::now();
    EXPECT_EQ(b.meet().errorCode(), hone::ErrorCode::PeerLost);
    EXPECT_LT(std::chrono::steady_clock::now() - begun,
              milliseconds(timeout * 7 / 4));
    chain.kill(nameOf(1)); // so it does not wait for a farewell
    b.end();
    comesBack.join();
  }
}

// Only the program before it is refused by it.
TEST(EnsembleTest, AllHearWhoIsBusy) {
  Chain chain;
  chain.occupy(nameOf(3));
  std::vector<std::thread> programs;
  for (size_t place = 0; place < 3; ++place)
    programs.emplace_back([&, place] {
      Member member(chain, place, 4, 20000);
      member.begin();
      const Status status = member.meet();
      EXPECT_EQ(status.errorCode(), hone::ErrorCode::PeerBusy);
      EXPECT_NE(status.render().find("'d'"), std::string::npos)
          << status.render();
      member.end();
    });
  for (std::thread &program : programs)
    program.join();
}
