//===- SuspendedStepTest.cpp - Steps that stop before their end -----------===//

#include "step/SuspendedStep.h"

#include "TemporaryFolder.h"
#include "device/HostDevice.h"
#include "platform/Files.h"
#include "step/Interpreter.h"
#include "step/PauseRule.h"

#include <cmath>
#include <cstring>
#include <gtest/gtest.h>

using namespace hone::rt;

//===----------------------------------------------------------------------===//
// When
//===----------------------------------------------------------------------===//

using Action = PauseRule::Action;

static PauseRule::Limits limitsOf(double deadline, double every, double writing,
                                  double launch) {
  return {deadline, every, writing, launch};
}

TEST(PauseRule, LeavesTimeForTheNextLaunchAndTheWriting) {
  PauseRule rule(limitsOf(10, PauseRule::never, 2, 1), 2, 0);
  EXPECT_EQ(rule.before(0, 0, false), Action::Go);
  rule.ran(0, 3);
  // Kernel 1 is not known: it may take as long as the longest, 3.
  EXPECT_EQ(rule.before(1, 5.1, false), Action::WriteAndStop);
  EXPECT_EQ(rule.before(1, 4.9, false), Action::Go);
  rule.ran(1, 5);
  // Now it is, and only the other one is long.
  EXPECT_EQ(rule.before(1, 7.8, false), Action::Go);
  EXPECT_EQ(rule.before(0, 7.8, false), Action::WriteAndStop);
}

TEST(PauseRule, ComesForwardInEveryProcess) {
  PauseRule rule(limitsOf(1, 1, 100, 100), 1, 0);
  EXPECT_TRUE(rule.isTimeUp(0));
  EXPECT_EQ(rule.before(0, 50, true), Action::Go);
  rule.ran(0, 51);
  EXPECT_EQ(rule.before(0, 51, false), Action::WriteAndStop);
}

TEST(PauseRule, WritesAsOftenAsItIsTold) {
  PauseRule rule(limitsOf(PauseRule::never, 30, 1, 1), 1, 0);
  rule.before(0, 0, false);
  rule.ran(0, 29);
  EXPECT_EQ(rule.before(0, 29, false), Action::Go);
  EXPECT_EQ(rule.before(0, 30, false), Action::Write);
  rule.wrote(34); // the next is counted from there
  EXPECT_DOUBLE_EQ(rule.reserve(), 5);
  EXPECT_EQ(rule.before(0, 63, false), Action::Go);
  EXPECT_EQ(rule.before(0, 64, false), Action::Write);
}

TEST(PauseRule, StopsWhenItIsAsked) {
  PauseRule rule(limitsOf(PauseRule::never, PauseRule::never, 1, 1), 1, 0);
  rule.before(0, 0, false);
  rule.ran(0, 1);
  EXPECT_EQ(rule.before(0, 1, true), Action::WriteAndStop);
}

TEST(PauseRule, ForgetsAGuessOnceItHasMeasured) {
  PauseRule rule(limitsOf(10, PauseRule::never, 0, 100), 2, 0);
  rule.before(0, 0, false);
  rule.ran(0, 1);
  EXPECT_DOUBLE_EQ(rule.longest(), 1);
  EXPECT_EQ(rule.before(1, 8, false), Action::Go);
}

//===----------------------------------------------------------------------===//
// Where
//===----------------------------------------------------------------------===//

namespace {

/// A schedule of two nested repeats, pipelined, whose entry launches three
/// kernels; each multiplies a number of the arena and adds to it, so that their
/// order and number are its bits.
class Stops : public testing::Test {
protected:
  enum : uint32_t { Outer, Inner, Zero, Carried, Sum, Inside, More, Flag };
  static constexpr uint32_t count = Flag + 1;

  static void mix(void *closure, int64_t index, int64_t) {
    auto &[number, add] =
        *static_cast<std::pair<uint64_t *, uint64_t> *>(closure);
    *number = *number * 6364136223846793005u + add + uint64_t(index);
  }
  /// out = in, mixed three times.
  static void entry(const hone_frame *frame, char *const *values) {
    auto *from = reinterpret_cast<uint64_t *>(values[0]);
    auto *to = reinterpret_cast<uint64_t *>(values[1]);
    for (uint64_t i = 0; i < 3; ++i) {
      std::pair<uint64_t *, uint64_t> closure(i == 0 ? from : to, i);
      hone_launch(frame, 0, &closure, 1);
      if (i == 0) { // a kernel's work: it is none of the entry
        std::pair<uint64_t *, uint64_t *> copied(to, from);
        hone_launch(frame, 1, &copied, 1);
      }
    }
  }
  static void copy(void *closure, int64_t, int64_t) {
    auto &[to, from] =
        *static_cast<std::pair<uint64_t *, uint64_t *> *>(closure);
    *to = *from;
  }
  static void increase(const hone_frame *, char *const *values) {
    *reinterpret_cast<int64_t *>(values[1]) =
        *reinterpret_cast<int64_t *>(values[0]) + 1;
  }

  void SetUp() override {
    for (uint32_t i = 0; i < count; ++i)
      values[i] = {i * 64, 8,
                   8,      0,
                   1,      i == Inside || i == Flag ? 1u : i == More ? 2u : 0u,
                   0,      0};
    lists = {{Outer, Zero, Sum, Inside},
             {Inner, Sum, Inside, More},
             {Inside, More},
             {Sum, Flag}};
    auto add = [&](hone_item_kind kind, hone_entry_fn run, uint32_t list) {
      hone_item &item = items[itemCount++];
      item.kind = kind;
      item.run = run;
      item.condition = item.batch = HONE_NO_VALUE;
      item.values = lists[list].data();
      item.value_count = uint32_t(lists[list].size());
      item.stages = 1;
    };
    add(HONE_REPEAT, nullptr, 0);
    items[0].body = 3;
    items[0].carried = 1;
    add(HONE_REPEAT, nullptr, 1);
    items[1].body = 1;
    items[1].carried = 1;
    add(HONE_RUN, entry, 2);
    add(HONE_SCALAR, increase, 3);
    schedule.items = items;
    schedule.item_count = itemCount;
    schedule.values = values;
    schedule.value_count = count;
    schedule.batch_slots = 1;
    ASSERT_EQ(problemOf(schedule, sizeof(arena)), "");
    kernels[0].task = mix;
    kernels[1].task = copy;
    module.kernels = kernels;
    module.kernel_count = 2;
    pool = std::move(Pool::create(1).value());
    device.emplace(*pool);
    frame = device->load(module, {}).value();
    frame.arena = frame.batch = frame.work = arena;
  }

  void begin() {
    memset(arena, 0, sizeof(arena));
    number(Outer) = 3;
    number(Inner) = 2;
    number(Zero) = 5;
  }
  int64_t &number(uint32_t index) {
    return *reinterpret_cast<int64_t *>(arena + index * 64);
  }
  std::string bytes() const { return std::string(arena, sizeof(arena)); }

  struct : BatchSource {
    int64_t load(char *) override { return 1; }
  } source;
  struct Stop final : LaunchPause {
    bool goesOn(uint32_t) override { return left-- > 0; }
    void ran(uint32_t) override {}
    int64_t left = INT64_MAX;
  };

  alignas(64) char arena[count * 64] = {};
  hone_value values[count] = {};
  hone_item items[4] = {};
  uint32_t itemCount = 0;
  std::vector<std::vector<uint32_t>> lists;
  hone_schedule schedule = {};
  hone_kernel kernels[2] = {};
  hone_module module = {};
  std::unique_ptr<Pool> pool;
  std::optional<HostDevice> device;
  hone_frame frame = {};
};

} // namespace

TEST_F(Stops, ARunGoesOnBeforeEachOfItsLaunches) {
  begin();
  Interpreter whole(schedule, *device, frame);
  ASSERT_TRUE(whole.run(source).value());
  const std::string expected = bytes();
  constexpr int64_t launches = 3 * 2 * 4;
  for (int64_t k = 0; k < launches; ++k) {
    begin();
    Stop stop;
    stop.left = k;
    Interpreter first(schedule, *device, frame);
    EXPECT_FALSE(first.run(source, &stop).value());
    ASSERT_TRUE(first.isStopped());
    const Position position = first.position();
    EXPECT_EQ(position.number, uint64_t(k));
    Interpreter second(schedule, *device, frame);
    ASSERT_TRUE(second.run(source, nullptr, &position).value());
    EXPECT_EQ(bytes(), expected) << k;
  }
}

TEST_F(Stops, APositionThatTheScheduleDoesNotComeToIsRefused) {
  begin();
  Stop stop;
  stop.left = 10;
  Interpreter interpreter(schedule, *device, frame);
  ASSERT_FALSE(interpreter.run(source, &stop).value());
  const Position sound = interpreter.position();
  auto refused = [&](auto change) {
    Position position = sound;
    change(position);
    return interpreter.run(source, nullptr, &position).status().errorCode() ==
           ErrorCode::DamagedSuspended;
  };
  EXPECT_TRUE(refused([](Position &p) { p.depth = 7; }));
  EXPECT_TRUE(refused([](Position &p) { p.depth = 1; }));
  EXPECT_TRUE(refused([](Position &p) { p.path[0].item = 2; }));
  EXPECT_TRUE(refused([](Position &p) { p.path[2].item = 3; }));
  EXPECT_TRUE(refused([](Position &p) { p.path[2].item = 4000000000u; }));
  EXPECT_TRUE(refused([](Position &p) { p.path[1].tick = -1; }));
  EXPECT_TRUE(refused([](Position &p) { p.path[1].tick = 3; }));
  EXPECT_TRUE(refused([](Position &p) { p.path[2].tick = INT64_MAX; }));
  EXPECT_TRUE(refused([](Position &p) { p.launches = 5; }));
  EXPECT_TRUE(refused([](Position &p) { p.batchRows.clear(); }));
  EXPECT_TRUE(refused([](Position &p) { p.rows = -1; }));
  EXPECT_TRUE(refused([](Position &p) { p.batch = 1 << 20; }));
}

//===----------------------------------------------------------------------===//
// The file
//===----------------------------------------------------------------------===//

static SuspendedStep someStep() {
  SuspendedStep step;
  step.completed = 46;
  Position &position = step.state.position;
  position.depth = 1;
  position.path[0] = {3, 0};
  position.path[1] = {5, 2};
  position.launches = 7;
  position.number = 1234567890123;
  position.batchRows = {0, 64};
  position.batch = 128;
  position.rows = 64;
  step.state.left = {2, 8, 4};
  step.state.batches = 3;
  step.state.tokens = 192;
  step.seconds = 0.1;
  step.longest = 1.0 / 3;
  step.offloaded = 4096;
  step.program = "abc";
  step.rows = "def";
  step.identity = {{{"--seed", "1"}, {"data", "d\"1"}}, {{"cpu", "v3"}}};
  step.evaluation = {{"best_step", "40"}};
  return step;
}

TEST(SuspendedStep, IsReadAsItWasWritten) {
  const std::string text = someStep().text();
  Result<SuspendedStep> read = SuspendedStep::parse(text, "file");
  ASSERT_TRUE(read.isOk()) << read.status().render();
  EXPECT_EQ(read.value().text(), text);
  EXPECT_EQ(read.value().describe(), "step 47 after 1234567890123 launches");
}

// A text with a wrong key, or without its end, is refused.
TEST(SuspendedStep, NamesTheKeyThatIsWrong) {
  const std::string text = someStep().text();
  for (const char *key :
       {"completed", "launches", "items", "ticks", "batch_rows", "run",
        "program", "seconds", "offloaded", "format_version"}) {
    std::string wrong = text;
    wrong.replace(wrong.find("\"" + std::string(key) + "\"") + 1, 2, "xx");
    Result<SuspendedStep> read = SuspendedStep::parse(wrong, "file");
    ASSERT_FALSE(read.isOk()) << key;
    EXPECT_NE(read.status().render().find(key), std::string::npos) << key;
  }
  for (size_t end = 0; end < text.size(); end += 7)
    EXPECT_EQ(
        SuspendedStep::parse(text.substr(0, end), "file").status().errorCode(),
        ErrorCode::DamagedSuspended);
}

TEST(SuspendedStep, IsOfItsOwnRunAndProgramAlone) {
  const SuspendedStep step = someStep();
  EXPECT_TRUE(step.check("file", step.identity, "abc").isOk());
  CheckpointIdentity other = step.identity;
  other.run["--seed"] = "2";
  Status status = step.check("file", other, "abc");
  EXPECT_EQ(status.errorCode(), ErrorCode::OtherRun);
  EXPECT_NE(status.render().find("--seed (was 1, now 2)"), std::string::npos);
  status = step.check("file", step.identity, "abd");
  EXPECT_EQ(status.errorCode(), ErrorCode::OtherSuspended);
  EXPECT_NE(status.render().find("step 47"), std::string::npos);
}

namespace {
class SuspendedFileTest : public testing::Test {
protected:
  void write(const SuspendedStep &step) {
    ASSERT_TRUE(SuspendedFile::write(path, step, kept()).isOk());
  }
  StepMemory kept(std::vector<CheckpointVector> trained = {}) {
    return {memory.data(), memory.size(), remembered, std::move(trained)};
  }

  TemporaryFolder folder;
  const std::string path = SuspendedFile::pathIn(folder.path);
  std::string memory = std::string(100000, 'm') + "end";
  std::vector<Trainables::Remembered> remembered = {
      {"before.updates", "updates", {1.5f, 2.5f}}};
};
} // namespace

TEST_F(SuspendedFileTest, GivesBackWhatWasWritten) {
  EXPECT_FALSE(SuspendedFile::open(path).value().has_value());
  write({});
  write(someStep());
  auto opened = SuspendedFile::open(path);
  ASSERT_TRUE(opened.isOk()) << opened.status().render();
  EXPECT_EQ(opened.value()->step.text(), someStep().text());
  std::string back(memory.size(), 0);
  auto numbers = remembered;
  numbers[0].values = {0, 0};
  StepMemory to{back.data(), back.size(), numbers, {}};
  ASSERT_TRUE(opened.value()->read(to).isOk());
  EXPECT_EQ(back, memory);
  EXPECT_EQ(numbers[0].values, remembered[0].values);
  // Of another size, nothing is read.
  --to.bytes;
  EXPECT_EQ(opened.value()->read(to).errorCode(), ErrorCode::DamagedSuspended);
}

// As a checkpoint: such a step would train on with it.
TEST_F(SuspendedFileTest, TrainedValuesAreFinite) {
  const float infinite = INFINITY;
  memcpy(memory.data() + 4 * 100, &infinite, sizeof(infinite));
  const StepMemory infiniteAt100 =
      kept({{"theta", Dtype::F32, 101, MemoryView(memory.data())}});
  const Status status = SuspendedFile::write(path, someStep(), infiniteAt100);
  EXPECT_EQ(status.errorCode(), ErrorCode::Diverged);
  EXPECT_EQ(status.message().place, "step 47");
  EXPECT_NE(status.render().find("theta"), std::string::npos);
  EXPECT_FALSE(platform::exists(path));
  // One that somebody has changed, with its digest.
  write(someStep());
  Result<std::optional<SuspendedFile>> opened = SuspendedFile::open(path);
  ASSERT_TRUE(opened.isOk());
  EXPECT_EQ(opened.value()->read(infiniteAt100).errorCode(),
            ErrorCode::DamagedSuspended);
}

TEST_F(SuspendedFileTest, AnyByteThatChangedIsSeen) {
  write(someStep());
  const std::string whole = folder.read("suspended.safetensors");
  for (size_t at = 0; at < whole.size(); at += at < 3000 ? 13 : 5003) {
    std::string changed = whole;
    changed[at] = char(changed[at] ^ 1);
    std::ofstream(path, std::ios::binary) << changed;
    EXPECT_EQ(SuspendedFile::open(path).status().errorCode(),
              ErrorCode::DamagedSuspended)
        << at;
    std::ofstream(path, std::ios::binary) << whole.substr(0, at);
    EXPECT_EQ(SuspendedFile::open(path).status().errorCode(),
              ErrorCode::DamagedSuspended)
        << at;
  }
}

TEST_F(SuspendedFileTest, TimesAWritingAndLeavesNothing) {
  Result<double> seconds = SuspendedFile::timeWriting(path, kept());
  ASSERT_TRUE(seconds.isOk());
  EXPECT_GT(seconds.value(), 0);
  EXPECT_FALSE(platform::exists(path));
  EXPECT_FALSE(platform::exists(path + ".probe"));
}
