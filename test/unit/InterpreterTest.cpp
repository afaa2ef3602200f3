//===- InterpreterTest.cpp - Items, iterations and slots ------------------===//
//
// Schedules written as tables; entries that record their arguments.
//
//===----------------------------------------------------------------------===//

#include "step/Interpreter.h"

#include "device/HostDevice.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <map>
#include <string>

using namespace hone::rt;

namespace {

std::string trace;

/// Values of eight bytes in an arena; the batch is the last one.
class InterpreterTest : public testing::Test {
protected:
  static constexpr uint32_t none = HONE_NO_VALUE;

  void SetUp() override { trace.clear(); }

  uint32_t value(uint32_t slots = 1, uint32_t depth = 0, uint32_t stage = 0) {
    values.push_back({next, 8, 8, 0, slots, depth, stage});
    next += 8 * slots;
    return uint32_t(values.size() - 1);
  }

  hone_item &item(hone_item_kind kind, std::vector<uint32_t> of = {},
                  hone_entry_fn run = nullptr, uint32_t stage = 0) {
    lists.push_back(std::move(of));
    hone_item made = {};
    made.kind = kind;
    made.run = run;
    made.stage = stage;
    made.condition = made.batch = none;
    made.value_count = uint32_t(lists.back().size());
    made.stages = 1;
    items.push_back(made);
    return items.back();
  }

  hone_schedule schedule() {
    for (size_t i = 0; i < items.size(); ++i)
      items[i].values = lists[i].data();
    hone_schedule s = {};
    s.items = items.data();
    s.item_count = uint32_t(items.size());
    s.values = values.data();
    s.value_count = uint32_t(values.size());
    s.batch_slots = 3;
    EXPECT_EQ(problemOf(s, sizeof(arena)), "");
    return s;
  }

  /// In the step after `completed` updates.
  Result<bool> tryToRun(Transport *transport, uint64_t completed = 0) {
    hone_schedule s = schedule();
    hone_frame frame = {};
    frame.arena = reinterpret_cast<char *>(arena);
    struct : BatchSource {
      int64_t load(char *) override { return ++count; }
      int64_t count = 0;
    } source;
    auto pool = Pool::create(1);
    HostDevice device(*pool.value());
    Interpreter interpreter(s, device, frame, transport);
    interpreter.beginStep(completed);
    return interpreter.run(source);
  }
  bool run(Transport *transport = nullptr) {
    return tryToRun(transport).value();
  }

  int64_t &number(uint32_t index) { return arena[values[index].offset / 8]; }

  int64_t arena[512] = {};
  uint64_t next = 0;
  std::vector<hone_value> values;
  std::vector<std::vector<uint32_t>> lists;
  std::vector<hone_item> items;
};

int64_t &at(char *const *values, int i) {
  return *reinterpret_cast<int64_t *>(values[i]);
}
void note(const char *name, int64_t number) {
  trace += name + std::to_string(number) + " ";
}
/// out = rows of the batch.
void make(const hone_frame *frame, char *const *values) {
  at(values, 0) = frame->rows;
  note("make", frame->rows);
}
/// out = in.
void pass(const hone_frame *, char *const *values) {
  at(values, 1) = at(values, 0);
  note("pass", at(values, 0));
}
void use(const hone_frame *, char *const *values) {
  note("use", at(values, 0));
}
/// sum' = sum + in.
void add(const hone_frame *, char *const *values) {
  at(values, 2) = at(values, 0) + at(values, 1);
}
void yes(const hone_frame *, char *const *) { trace += "yes "; }
void no(const hone_frame *, char *const *) { trace += "no "; }

} // namespace

// Three stages: the result of each is intact when the next reads it.
TEST_F(InterpreterTest, APipelineFillsRunsAndDrains) {
  uint32_t count = value(), batch = value(3, 1), x = value(2, 1),
           y = value(2, 1, 1);
  number(count) = 4;
  hone_item &repeat = item(HONE_REPEAT, {count});
  repeat.body = 4;
  repeat.stages = 3;
  item(HONE_LOAD).batch = batch;
  item(HONE_RUN, {x}, make).batch = batch;
  item(HONE_RUN, {x, y}, pass, 1);
  item(HONE_RUN, {y}, use, 2);
  EXPECT_TRUE(run());
  EXPECT_EQ(trace, "make1 make2 pass1 make3 pass2 use1 make4 pass3 use2 pass4 "
                   "use3 use4 ");
}

TEST_F(InterpreterTest, OneSlotTooFewIsSeen) {
  uint32_t count = value(), batch = value(3, 1), x = value(1, 1);
  number(count) = 2;
  hone_item &repeat = item(HONE_REPEAT, {count});
  repeat.body = 3;
  repeat.stages = 2;
  item(HONE_LOAD).batch = batch;
  item(HONE_RUN, {x}, make).batch = batch;
  item(HONE_RUN, {x}, use, 1);
  EXPECT_TRUE(run());
  EXPECT_EQ(trace, "make1 make2 use2 use2 "); // not use1 use2
}

TEST_F(InterpreterTest, ARepeatCarriesAndMayNotRunAtAll) {
  for (int64_t times : {0, 1, 5}) {
    SetUp();
    next = 0;
    values.clear(), lists.clear(), items.clear();
    uint32_t count = value(), zero = value(), batch = value(3, 1),
             x = value(1, 1), carried = value(), sum = value(1, 1);
    number(count) = times;
    number(zero) = 100;
    hone_item &repeat = item(HONE_REPEAT, {count, zero, carried, sum});
    repeat.body = 3;
    repeat.carried = 1;
    item(HONE_LOAD).batch = batch;
    item(HONE_RUN, {x}, make).batch = batch;
    item(HONE_SCALAR, {carried, x, sum}, add);
    EXPECT_TRUE(run());
    EXPECT_EQ(number(carried), 100 + times * (times + 1) / 2);
  }
}

TEST_F(InterpreterTest, RepeatsNest) {
  uint32_t outer = value(), inner = value(), zero = value(), one = value(),
           sum = value(), inside = value(1, 1), more = value(1, 2);
  number(outer) = 3;
  number(inner) = 4;
  number(one) = 1;
  hone_item &first = item(HONE_REPEAT, {outer, zero, sum, inside});
  first.body = 2;
  first.carried = 1;
  hone_item &second = item(HONE_REPEAT, {inner, sum, inside, more});
  second.body = 1;
  second.carried = 1;
  item(HONE_SCALAR, {inside, one, more}, add);
  EXPECT_TRUE(run());
  EXPECT_EQ(number(sum), 12);
}

TEST_F(InterpreterTest, AConditionChoosesOrSkips) {
  for (int64_t condition : {1, 0}) {
    SetUp();
    next = 0;
    values.clear(), lists.clear(), items.clear();
    uint32_t when = value();
    number(when) = condition;
    hone_item &choice = item(HONE_RUN, {}, yes);
    choice.condition = when;
    choice.otherwise = no;
    item(HONE_RUN, {}, yes).condition = when;
    EXPECT_TRUE(run());
    EXPECT_EQ(trace, condition ? "yes yes " : "no ");
  }
}

TEST_F(InterpreterTest, ACheckEndsTheSchedule) {
  uint32_t x = value();
  item(HONE_CHECK, {x});
  item(HONE_RUN, {}, yes);
  EXPECT_TRUE(run());
  double nan = std::nan("");
  memcpy(&number(x), &nan, 8);
  EXPECT_FALSE(run());
  EXPECT_EQ(trace, "yes ");
}

namespace {
/// Messages to itself that arrive when they are waited for, and not before.
class Loop : public Transport {
public:
  Status postSend(const Message &m, const char *bytes, uint64_t size) override {
    sent[key(m)] = {bytes, size};
    return Status::ok();
  }
  Status postReceive(const Message &m, char *bytes, uint64_t size) override {
    wanted[key(m)] = {bytes, size};
    return Status::ok();
  }
  Status wait(const Message &m) override {
    if (m.isSent)
      return Status::ok();
    auto from = sent.find(key(m)), found = sent.end();
    auto to = wanted.find(key(m));
    if (from == found)
      return Patience{std::chrono::milliseconds(1)}.check(
          m.describe(), std::chrono::milliseconds(1));
    if (from->second.second != to->second.second)
      return messageMisfit(m, to->second.second, from->second.second);
    memcpy(to->second.first, from->second.first, to->second.second);
    arrived += key(m) + " ";
    wanted.erase(to);
    return Status::ok();
  }
  void cancel(const Message &m) override {
    cancelled += key(m) + " ";
    wanted.erase(key(m));
  }
  static std::string key(const Message &m) {
    return std::to_string(m.step) + m.channel + std::to_string(m.index);
  }
  std::map<std::string, std::pair<const char *, uint64_t>> sent;
  std::map<std::string, std::pair<char *, uint64_t>> wanted;
  std::string arrived, cancelled;
};
} // namespace

// Each message is the one of its iteration, though two are under way. A
// schedule reports its own settings, run after run.
TEST_F(InterpreterTest, ASettingIsReportedAsItWasSet) {
  uint32_t rate = value(), other = value();
  const hone_number settings[] = {{"rate", HONE_F64, rate}},
                    reports[] = {{"rate", HONE_F64, rate},
                                 {"other", HONE_F64, other}};
  hone_schedule s = schedule();
  s.settings = settings;
  s.reports = reports;
  s.setting_count = 1;
  s.report_count = 2;
  hone_frame frame = {};
  frame.arena = reinterpret_cast<char *>(arena);
  struct : BatchSource {
    int64_t load(char *) override { return 1; }
  } source;
  auto pool = Pool::create(1);
  HostDevice device(*pool.value());
  Interpreter interpreter(s, device, frame);
  interpreter.set("rate", 0.5);
  for (int step = 0; step < 2; ++step) {
    EXPECT_TRUE(interpreter.run(source).value());
    EXPECT_EQ(interpreter.report("rate"), 0.5);
    EXPECT_TRUE(std::isnan(interpreter.report("other")));
  }
}

TEST_F(InterpreterTest, ExchangesAreCountedByChannel) {
  uint32_t count = value(), batch = value(3, 1), x = value(2, 1),
           y = value(2, 1);
  number(count) = 3;
  hone_item &repeat = item(HONE_REPEAT, {count});
  repeat.body = 6;
  repeat.stages = 2;
  item(HONE_LOAD).batch = batch;
  item(HONE_RUN, {x}, make).batch = batch;
  hone_item &send = item(HONE_SEND, {x});
  send.peer = send.channel = "h";
  hone_item &receive = item(HONE_RECEIVE, {y});
  receive.peer = receive.channel = "h";
  item(HONE_WAIT, {y}, nullptr, 1);
  item(HONE_RUN, {y}, use, 1);
  Loop loop;
  EXPECT_TRUE(run(&loop));
  EXPECT_EQ(loop.arrived, "0h0 0h1 0h2 ");
  EXPECT_EQ(trace, "make1 make2 use1 make3 use2 use3 ");
}

// Both sides name a message by the step, however long each has run.
TEST_F(InterpreterTest, AMessageIsNamedByItsStep) {
  uint32_t x = value(), y = value();
  hone_item &send = item(HONE_SEND, {x});
  send.peer = send.channel = "h";
  hone_item &receive = item(HONE_RECEIVE, {y});
  receive.peer = receive.channel = "h";
  item(HONE_WAIT, {y});
  Loop loop;
  EXPECT_TRUE(tryToRun(&loop, 7).value());
  EXPECT_EQ(loop.arrived, "7h0 ");
}

// Of a step before: zeros as long as there was none.
TEST_F(InterpreterTest, AReceiveMayBeOfAStepBefore) {
  uint32_t x = value(), y = value();
  hone_item &send = item(HONE_SEND, {x});
  send.peer = send.channel = "j";
  hone_item &receive = item(HONE_RECEIVE, {y});
  receive.peer = receive.channel = "j";
  receive.behind = 2;
  item(HONE_WAIT, {y});
  item(HONE_RUN, {y}, use);
  Loop loop;
  int64_t numbers[5]; // each step's message, which a late receive reads
  for (int64_t step = 0; step < 5; ++step) {
    number(x) = numbers[step] = 10 + step;
    number(y) = -1;
    EXPECT_TRUE(tryToRun(&loop, uint64_t(step)).value());
    loop.sent[std::to_string(step) + "j0"].first =
        reinterpret_cast<const char *>(&numbers[step]);
  }
  EXPECT_EQ(trace, "use0 use0 use10 use11 use12 ");
}

// The items after an error do not run, and nothing stays posted.
TEST_F(InterpreterTest, AFailedWaitEndsTheSchedule) {
  uint32_t x = value(), y = value();
  for (uint32_t each : {x, y}) {
    hone_item &receive = item(HONE_RECEIVE, {each});
    receive.peer = "other";
    receive.channel = each == x ? "x" : "y";
  }
  item(HONE_WAIT, {x});
  item(HONE_RUN, {}, yes);
  Loop loop;
  Result<bool> result = tryToRun(&loop);
  EXPECT_EQ(result.status().errorCode(), ErrorCode::PeerLost);
  EXPECT_EQ(result.status().exitCode(), ExitCode::Unavailable);
  EXPECT_EQ(loop.cancelled, "0x0 0y0 ");
  EXPECT_TRUE(loop.wanted.empty());
  EXPECT_EQ(trace, "");
}

// Peers come to the same check: they get the messages that they wait for before
// it.
TEST_F(InterpreterTest, AFailedCheckWaitsForWhatIsPosted) {
  uint32_t x = value(), y = value(), bad = value();
  double nan = std::nan("");
  memcpy(&number(bad), &nan, 8);
  hone_item &send = item(HONE_SEND, {x});
  send.peer = send.channel = "h";
  hone_item &receive = item(HONE_RECEIVE, {y});
  receive.peer = receive.channel = "h";
  item(HONE_CHECK, {bad});
  Loop loop;
  EXPECT_FALSE(tryToRun(&loop).value());
  EXPECT_EQ(loop.arrived, "0h0 ");
  EXPECT_EQ(loop.cancelled, "");
}

TEST_F(InterpreterTest, AMessageOfAnotherSizeIsRefused) {
  uint32_t x = value(), y = value();
  values[y].bytes = 4;
  hone_item &send = item(HONE_SEND, {x});
  send.peer = send.channel = "h";
  hone_item &receive = item(HONE_RECEIVE, {y});
  receive.peer = receive.channel = "h";
  item(HONE_WAIT, {y});
  Loop loop;
  Result<bool> result = tryToRun(&loop);
  EXPECT_EQ(result.status().errorCode(), ErrorCode::MessageMisfit);
  EXPECT_EQ(result.status().message().problem, "expects 4 bytes but got 8");
}

// A part without data has the rows and the inputs that it reads of another's.
TEST_F(InterpreterTest, ABatchTravelsWithItsRows) {
  uint32_t mine = value(1), theirs = value(1), x = value();
  // Two inputs: one with eight bytes for each row, one of a fixed size.
  const hone_piece own[] = {{next, 24, 8}, {next + 24, 8, 0}},
                   arrived[] = {{next + 64, 24, 8}, {next + 88, 8, 0}};
  item(HONE_LOAD).batch = mine;
  item(HONE_LOAD).batch = mine; // the source has two rows in its second batch
  hone_item &send = item(HONE_SEND, {mine});
  send.batch = mine;
  send.peer = send.channel = "b";
  hone_item &receive = item(HONE_RECEIVE, {theirs});
  receive.batch = theirs;
  receive.peer = receive.channel = "b";
  items[2].pieces = own;
  items[3].pieces = arrived;
  items[2].piece_count = items[3].piece_count = 2;
  item(HONE_WAIT, {theirs});
  item(HONE_RUN, {x}, make).batch = theirs;
  int64_t *from = arena + next / 8, *to = from + 8;
  from[0] = 11, from[1] = 12, from[2] = 13, from[3] = 99;
  Loop loop;
  EXPECT_TRUE(tryToRun(&loop).value());
  EXPECT_EQ(loop.arrived, "0b0 0b1 0b2 ");
  EXPECT_EQ(trace, "make2 ");
  EXPECT_EQ(std::vector<int64_t>(to, to + 4),
            (std::vector<int64_t>{11, 12, 0, 99}));
}

TEST_F(InterpreterTest, ABatchOfTooManyRowsIsRefused) {
  uint32_t mine = value(1), theirs = value(1);
  const hone_piece pieces[] = {{0, 8, 8}};
  item(HONE_LOAD).batch = mine;
  item(HONE_LOAD).batch = mine;
  hone_item &send = item(HONE_SEND, {mine});
  send.batch = mine;
  hone_item &receive = item(HONE_RECEIVE, {theirs});
  receive.batch = theirs;
  for (hone_item *own : {&items[items.size() - 2], &items.back()}) {
    own->peer = own->channel = "b";
    own->pieces = pieces;
    own->piece_count = 1;
  }
  item(HONE_WAIT, {theirs});
  item(HONE_RUN, {}, yes);
  Loop loop;
  EXPECT_EQ(tryToRun(&loop).status().errorCode(), ErrorCode::MessageMisfit);
  EXPECT_EQ(trace, "");
}

// A person who asks a waiting program to stop is answered at once.
TEST(PatienceTest, EndsOnASignalAndAfterItsTime) {
  using std::chrono::milliseconds;
  Patience patience{milliseconds(500), [] { return false; }};
  EXPECT_TRUE(patience.check("x", milliseconds(499)).isOk());
  EXPECT_EQ(patience.check("x", milliseconds(500)).errorCode(),
            ErrorCode::PeerLost);
  patience.isStopped = [] { return true; };
  const Status stopped = patience.check("x", milliseconds(0));
  EXPECT_EQ(stopped.errorCode(), ErrorCode::StoppedWaiting);
  EXPECT_EQ(stopped.exitCode(), ExitCode::Interrupted);
  EXPECT_TRUE(Patience().check("x", milliseconds(1000000)).isOk());
}
