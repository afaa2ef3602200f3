//===- InterpreterTest.cpp - Items, iterations and slots ------------------===//
//
// Schedules written as tables; entries that write down what they were called
// with.
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

  bool run(Transport *transport = nullptr) {
    hone_schedule s = schedule();
    hone_frame frame = {};
    frame.arena = reinterpret_cast<char *>(arena);
    struct : BatchSource {
      int64_t load(char *) override { return ++count; }
      int64_t count = 0;
    } source;
    auto pool = Pool::create(1);
    HostDevice device(*pool.value());
    return Interpreter(s, device, frame, transport).run(source);
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

// Three stages: what each makes is there, unspoilt, when the next reads it.
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
  void postSend(const Message &m, const char *bytes, uint64_t size) override {
    sent[key(m)] = {bytes, size};
  }
  void postReceive(const Message &m, char *bytes, uint64_t size) override {
    wanted[key(m)] = {bytes, size};
  }
  void wait(const Message &m) override {
    auto from = sent.find(key(m));
    auto to = wanted.find(key(m));
    if (from == sent.end() || to == wanted.end())
      return;
    memcpy(to->second.first, from->second.first, to->second.second);
    arrived += key(m) + " ";
    wanted.erase(to);
  }
  static std::string key(const Message &m) {
    return std::string(m.channel) + std::to_string(m.sequence);
  }
  std::map<std::string, std::pair<const char *, uint64_t>> sent;
  std::map<std::string, std::pair<char *, uint64_t>> wanted;
  std::string arrived;
};
} // namespace

// Each message is the one of its iteration, though two are under way.
// What a schedule reports of what it was given is there, run after run.
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
    EXPECT_TRUE(interpreter.run(source));
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
  EXPECT_EQ(loop.arrived, "h0 h1 h2 ");
  EXPECT_EQ(trace, "make1 make2 use1 make3 use2 use3 ");
}
