//===- DeviceTest.cpp - Memory that the host sees, and that it does not ---===//
//
// The counts of copies show the cost of the seam: none where the device is the
// host.
//
//===----------------------------------------------------------------------===//

#include "../device/GuardedDevice.h"
#include "BigramModule.h"
#include "device/HostDevice.h"
#include "platform/System.h"
#include "step/Batch.h"
#include "step/Interpreter.h"
#include "step/Values.h"

#include <gtest/gtest.h>

#include <cinttypes>
#include <cstdio>
#include <fstream>
#include <limits>
#include <numeric>
#include <optional>

using namespace hone::rt;
using hone::test::bigramModule;
using hone::test::GuardedDevice;

static constexpr uint64_t mib = 1024 * 1024;

namespace {
class DeviceTest : public testing::Test {
protected:
  std::unique_ptr<Pool> pool = std::move(Pool::create(1).value());
  HostDevice host{*pool};
  GuardedDevice guarded{*pool};
};
} // namespace

// RssAnon is the system's own figure; the memory must be in it at once.
TEST_F(DeviceTest, HostMemoryIsZeroAndResidentFromTheStart) {
  uint64_t before = platform::residentMemory().anonymous;
  auto memory = host.allocate(64 * mib);
  ASSERT_TRUE(memory.isOk());
  uint64_t after = platform::residentMemory().anonymous;
  const char *address = memory.value().address();
  EXPECT_EQ(reinterpret_cast<uintptr_t>(address) % 64, 0u);
  for (uint64_t i = 0; i < 64 * mib; i += 4093)
    EXPECT_EQ(address[i], 0);
  // The system counts in batches of pages for each CPU.
  EXPECT_GE(after + 2 * mib, before + 64 * mib);
  memory.value() = DeviceMemory();
  EXPECT_LE(platform::residentMemory().anonymous, before + 2 * mib);
}

#ifdef __linux__
/// The system's flags of the mapping that `address` is in.
static std::string flagsOf(const char *address) {
  std::ifstream maps("/proc/self/smaps");
  std::string line;
  bool isHere = false;
  while (std::getline(maps, line)) {
    uintptr_t first = 0, end = 0;
    if (std::sscanf(line.c_str(), "%" SCNxPTR "-%" SCNxPTR " ", &first, &end) ==
        2) {
      auto at = reinterpret_cast<uintptr_t>(address);
      isHere = first <= at && at < end;
    } else if (isHere && line.rfind("VmFlags:", 0) == 0) {
      return line + " ";
    }
  }
  return "";
}

// A huge page at an end would be memory that no plan has.
TEST_F(DeviceTest, HostMemoryHasHugePagesInsideAlone) {
  if (!std::ifstream("/sys/kernel/mm/transparent_hugepage/enabled").is_open())
    GTEST_SKIP() << "needs a system with huge pages";
  constexpr uint64_t bytes = 5 * mib + 4096;
  auto memory = host.allocate(bytes);
  ASSERT_TRUE(memory.isOk());
  const char *first = memory.value().address(), *end = first + bytes;
  auto isHuge = [](const char *address) {
    return flagsOf(address).find(" hg ") != std::string::npos;
  };
  auto startsHuge = [](const char *address) {
    return reinterpret_cast<uintptr_t>(address) % (2 * mib) == 0;
  };
  EXPECT_EQ(isHuge(first), startsHuge(first));
  EXPECT_TRUE(isHuge(first + 3 * mib)) << flagsOf(first + 3 * mib);
  EXPECT_EQ(isHuge(end - 1), startsHuge(end));
}
#endif

TEST_F(DeviceTest, RefusedMemorySaysWhatToDo) {
  auto memory = host.allocate(uint64_t(1) << 62);
  ASSERT_FALSE(memory.isOk());
  EXPECT_EQ(memory.status().errorCode(), ErrorCode::NoMemory);
  EXPECT_NE(memory.status().render().find("--threads"), std::string::npos);
}

TEST_F(DeviceTest, TheGuardHolds) {
  auto memory = guarded.allocate(64);
  EXPECT_DEATH(
      {
        volatile char byte = memory.value().address()[0];
        (void)byte;
      },
      "");
}

namespace {
struct DoubleClosure {
  const hone_frame *frame;
  int32_t *numbers;
};
} // namespace

static const hone_kernel doubling = {
    [](void *closure, int64_t index, int64_t) {
      static_cast<DoubleClosure *>(closure)->numbers[index] *= 2;
    },
    nullptr,
    "entry",
    "double",
    0,
    0,
    nullptr,
    0};

/// An entry. `reads`: its host half reads its kernel's result.
template <bool reads>
static void doubleAll(const hone_frame *frame, char *const *values) {
  DoubleClosure closure{frame, reinterpret_cast<int32_t *>(values[0])};
  hone_launch(frame, 0, &closure, 4);
  if (reads && *reinterpret_cast<volatile int32_t *>(values[0]) > 0)
    hone_launch(frame, 0, &closure, 4);
}

TEST_F(DeviceTest, KernelsReadTheGuardedMemoryAndAnEntrysHostHalfDoesNot) {
  hone_module module = {};
  module.kernels = &doubling;
  module.kernel_count = 1;
  auto frame = guarded.load(module, {});
  auto memory = guarded.allocate(4 * sizeof(int32_t));
  ASSERT_TRUE(frame.isOk() && memory.isOk());
  const int32_t given[] = {1, 2, 3, 4};
  guarded.copyIn(memory.value().address(), given, sizeof(given));
  char *values[] = {memory.value().address()};
  hone_entry_fn sound = doubleAll<false>, faulty = doubleAll<true>;
  sound(&frame.value(), values);
  int32_t found[4];
  ASSERT_TRUE(guarded.copyOut(found, values[0], sizeof(found)).isOk());
  EXPECT_EQ(found[3], 8);
  EXPECT_DEATH(faulty(&frame.value(), values), "");
}

TEST_F(DeviceTest, ViewsOfEveryMemoryHoldWhatWasWritten) {
  const uint64_t count = 50 * 1000, bytes = count * sizeof(int32_t);
  auto onHost = host.allocate(bytes + 64),
       onGuarded = guarded.allocate(bytes + 64);
  std::vector<int32_t> plain(count + 16);
  for (MemoryView view :
       {MemoryView(plain.data()), MemoryView(host, onHost.value().address()),
        MemoryView(guarded, onGuarded.value().address())}) {
    int32_t next = 0;
    (view + 64).write(bytes, [&](char *part, uint64_t size) {
      auto *out = reinterpret_cast<int32_t *>(part);
      std::iota(out, out + size / sizeof *out, next);
      next += int32_t(size / sizeof *out);
    });
    std::vector<int32_t> read;
    auto append = [&](const char *part, uint64_t size) {
      auto *in = reinterpret_cast<const int32_t *>(part);
      read.insert(read.end(), in, in + size / sizeof *in);
      return Status::ok();
    };
    ASSERT_TRUE((view + 64).read(bytes, append).isOk());
    ASSERT_EQ(read.size(), count);
    for (uint64_t i = 0; i < count; ++i)
      ASSERT_EQ(read[i], int32_t(i));
  }
}

//===----------------------------------------------------------------------===//
// Batches
//===----------------------------------------------------------------------===//

TEST_F(DeviceTest, ABatchCrossesOnce) {
  auto module = Module::open(bigramModule(hone::test::HONE_SGD));
  ASSERT_TRUE(module.isOk());
  const int32_t ids[] = {1, 2, 3}, targets[] = {2, 3, -100};
  std::vector<std::vector<int32_t>> found;
  for (Device *device :
       {static_cast<Device *>(&host), static_cast<Device *>(&guarded)}) {
    auto memory = device->allocate(module.value().arenaBytes({}));
    ASSERT_TRUE(memory.isOk());
    Batch batch(module.value(), *device);
    batch.begin(memory.value().address());
    batch.append({ids, targets, 3});
    batch.append({ids, targets, 2});
    EXPECT_EQ(batch.finish(), 5);
    const Module::Slots &slots = module.value().slots;
    for (auto slot : {slots.inputIds, slots.targets, slots.sequenceStarts}) {
      found.emplace_back(5);
      EXPECT_TRUE(device
                      ->copyOut(found.back().data(),
                                memory.value().address() + *slot, 20)
                      .isOk());
    }
  }
  EXPECT_EQ(guarded.copiedIn, 1u);
  EXPECT_EQ(found[0], (std::vector<int32_t>{1, 2, 3, 1, 2}));
  EXPECT_EQ(found[1], (std::vector<int32_t>{2, 3, -100, 2, 3}));
  EXPECT_EQ(found[2], (std::vector<int32_t>{0, 0, 0, 3, 3}));
  for (size_t i : {0, 1, 2})
    EXPECT_EQ(found[i], found[3 + i]);
}

//===----------------------------------------------------------------------===//
// Values of eight bytes that both sides use
//===----------------------------------------------------------------------===//

namespace {
class ValuesTest : public DeviceTest {
protected:
  ValuesTest() {
    schedule.values = table;
    schedule.value_count = 3;
    schedule.settings = used;
    schedule.setting_count = 3;
  }
  static int64_t &number(char *place) {
    return *reinterpret_cast<int64_t *>(place);
  }
  static void addOne(void *closure, int64_t, int64_t) {
    auto *places = static_cast<char **>(closure);
    number(places[1]) = number(places[0]) + 1;
  }
  /// value[to] = value[from] + 1, by a kernel.
  static void launch(Device &device, Values &values, uint32_t to,
                     uint32_t from) {
    static const hone_kernel kernel = {addOne, nullptr, "",      "",
                                       0,      0,       nullptr, 0};
    hone_module module = {};
    module.kernels = &kernel;
    auto frame = device.load(module, {});
    ASSERT_TRUE(frame.isOk());
    char *places[] = {values.onDevice(from, Values::Use::Read),
                      values.onDevice(to, Values::Use::Write)};
    hone_launch(&frame.value(), 0, places, 1);
  }

  // The last one has a slot for every other iteration.
  hone_value table[3] = {{0, 8, 8, 0, 1, 0, 0, 0},
                         {8, 8, 8, 0, 1, 0, 0, 0},
                         {16, 8, 8, 0, 2, 1, 0, 0}};
  // The host uses all of them.
  hone_number used[3] = {
      {"a", HONE_I64, 0}, {"b", HONE_I64, 1}, {"c", HONE_I64, 2}};
  hone_schedule schedule = {};
};
} // namespace

TEST_F(ValuesTest, CrossOnceAndOnlyWhenTheOtherSideReads) {
  auto memory = guarded.allocate(4096);
  Values values(schedule, guarded, memory.value().address());
  number(values.onHost(0, Values::Use::Write)) = 41;
  EXPECT_EQ(guarded.copiedIn, 0u);
  launch(guarded, values, 1, 0);
  launch(guarded, values, 1, 0);
  EXPECT_EQ(guarded.copiedIn, 1u);
  EXPECT_EQ(guarded.copiedOut, 0u);
  for (int i = 0; i < 2; ++i)
    EXPECT_EQ(number(values.onHost(1, Values::Use::Read)), 42);
  EXPECT_EQ(guarded.copiedOut, 1u);
  // Values that the host only reads are not copied back.
  launch(guarded, values, 0, 1);
  EXPECT_EQ(guarded.copiedIn, 1u);
  EXPECT_EQ(number(values.onHost(0, Values::Use::Read)), 43);
}

TEST_F(ValuesTest, CopiesStayOnTheSideThatHasTheValue) {
  auto memory = guarded.allocate(4096);
  Values values(schedule, guarded, memory.value().address());
  number(values.onHost(0, Values::Use::Write)) = 7;
  values.copy(1, 0);
  EXPECT_EQ(number(values.onHost(1, Values::Use::Read)), 7);
  EXPECT_EQ(guarded.copiedIn + guarded.copiedOut, 0u);
  launch(guarded, values, 0, 1);
  values.copy(1, 0);
  EXPECT_EQ(guarded.copiedOut, 0u);
  EXPECT_EQ(number(values.onHost(1, Values::Use::Read)), 8);
}

TEST_F(ValuesTest, NeighboursCrossAtOnce) {
  auto memory = guarded.allocate(4096);
  Values values(schedule, guarded, memory.value().address());
  number(values.onHost(0, Values::Use::Write)) = 41;
  number(values.onHost(1, Values::Use::Write)) = 20;
  launch(guarded, values, 2, 0);
  EXPECT_EQ(guarded.copiedIn, 1u);
  EXPECT_EQ(number(values.onHost(2, Values::Use::Read)), 42);
  // The device's values of the meantime are not overwritten.
  number(values.onHost(0, Values::Use::Write)) = 1;
  launch(guarded, values, 1, 2);
  launch(guarded, values, 2, 0);
  EXPECT_EQ(guarded.copiedIn, 2u);
  EXPECT_EQ(number(values.onHost(1, Values::Use::Read)), 43);
}

TEST_F(ValuesTest, OnlyNumbersCrossTogether) {
  for (bool hasRows : {false, true}) {
    table[1].row_bytes = hasRows ? 8 : 0;
    auto memory = guarded.allocate(4096);
    Values values(schedule, guarded, memory.value().address());
    number(values.onHost(0, Values::Use::Write)) = 1;
    number(values.onHost(1, Values::Use::Write)) = 2;
    const uint64_t before = guarded.copiedIn;
    launch(guarded, values, 2, 0);
    launch(guarded, values, 2, 1);
    EXPECT_EQ(guarded.copiedIn - before, hasRows ? 2u : 1u);
  }
}

TEST_F(ValuesTest, AValueThatTheHostNeverUsesHasNoCopy) {
  schedule.setting_count = 1;
  auto memory = guarded.allocate(4096);
  Values values(schedule, guarded, memory.value().address());
  EXPECT_EQ(values.onDevice(1, Values::Use::Read),
            memory.value().address() + 8);
  number(values.onHost(0, Values::Use::Write)) = 7;
  values.copy(1, 0);
  launch(guarded, values, 0, 1);
  EXPECT_EQ(number(values.onHost(0, Values::Use::Read)), 8);
  EXPECT_EQ(guarded.copiedIn, 1u);
}

TEST_F(ValuesTest, SlotsAreApart) {
  auto memory = guarded.allocate(4096);
  Values values(schedule, guarded, memory.value().address());
  for (int64_t i : {0, 1}) {
    values.iterations[0] = i;
    number(values.onHost(2, Values::Use::Write)) = 10 * i;
  }
  for (int64_t i : {2, 3}) {
    values.iterations[0] = i;
    launch(guarded, values, 1, 2);
    EXPECT_EQ(number(values.onHost(1, Values::Use::Read)), 10 * (i - 2) + 1);
  }
}

TEST_F(ValuesTest, TheHostWorksInItsMemory) {
  auto memory = host.allocate(4096);
  Values values(schedule, host, memory.value().address());
  for (auto use : {Values::Use::Read, Values::Use::Write}) {
    EXPECT_EQ(values.onHost(1, use), memory.value().address() + 8);
    EXPECT_EQ(values.onDevice(1, use), memory.value().address() + 8);
  }
}

//===----------------------------------------------------------------------===//
// Scalar functions of the device's values
//===----------------------------------------------------------------------===//

namespace {
class PostponedTest : public ValuesTest {
protected:
  PostponedTest() {
    schedule.values = numbers;
    schedule.value_count = 5;
    schedule.setting_count = 0;
    for (hone_item &item : items) {
      item.kind = HONE_SCALAR;
      item.condition = item.batch = HONE_NO_VALUE;
      item.values = indices;
      item.value_count = 5;
    }
    schedule.items = items;
    schedule.item_count = 3;
  }
  void SetUp() override {
    memory = std::move(guarded.allocate(4096).value());
    values.emplace(schedule, guarded, memory.address());
    set(0, 1);
    launch(guarded, *values, 1, 0); // is 2
  }
  void set(uint32_t index, int64_t to) {
    number(values->onHost(index, Values::Use::Write)) = to;
  }
  int64_t get(uint32_t index) {
    return number(values->onHost(index, Values::Use::Read));
  }
  /// value[to] = 2 * value[from]; whether that is postponed.
  bool postpone(uint32_t to, uint32_t from) {
    const uint32_t pair[] = {from, to};
    return values->postpone(
        [](const hone_frame *, char *const *pair) {
          number(pair[1]) = 2 * number(pair[0]);
        },
        frame, pair, 2, 1);
  }

  const uint32_t indices[5] = {0, 1, 2, 3, 4};
  hone_value numbers[5] = {{0, 8, 8, 0, 1, 0, 0, 0},
                           {8, 8, 8, 0, 1, 0, 0, 0},
                           {16, 8, 8, 0, 1, 0, 0, 0},
                           {24, 8, 8, 0, 1, 0, 0, 0},
                           {32, 8, 8, 0, 1, 0, 0, 0}};
  hone_item items[3] = {};
  hone_frame frame = {};
  DeviceMemory memory;
  std::optional<Values> values;
};
} // namespace

TEST_F(PostponedTest, OneWaitFetchesWhatAllNeed) {
  EXPECT_TRUE(postpone(2, 1));
  launch(guarded, *values, 3, 0);
  EXPECT_EQ(guarded.fetches, 0u);
  EXPECT_EQ(get(3), 2);
  EXPECT_EQ(get(2), 4);
  EXPECT_EQ(get(1), 2);
  EXPECT_EQ(guarded.fetches, 1u);
  EXPECT_EQ(guarded.copiedOut, 2u);
}

TEST_F(PostponedTest, LaterItemsArePostponedToo) {
  EXPECT_TRUE(postpone(2, 1));
  values->copy(3, 2);
  EXPECT_TRUE(postpone(4, 3));
  EXPECT_EQ(guarded.fetches, 0u);
  EXPECT_EQ(get(4), 8);
  EXPECT_EQ(guarded.fetches, 1u);
}

TEST_F(PostponedTest, TheDeviceReadsWhatIsMade) {
  EXPECT_TRUE(postpone(2, 1));
  launch(guarded, *values, 3, 2);
  EXPECT_EQ(get(3), 5);
}

TEST_F(PostponedTest, AReadValueIsNotWrittenOver) {
  EXPECT_TRUE(postpone(2, 1));
  launch(guarded, *values, 1, 1);
  EXPECT_EQ(get(1), 3);
  EXPECT_EQ(get(2), 4);
  set(3, 5);
  launch(guarded, *values, 1, 0);
  EXPECT_TRUE(postpone(4, 1));
  set(1, 50);
  EXPECT_EQ(get(4), 4);
  EXPECT_EQ(get(1), 50);
}

TEST_F(PostponedTest, ALaterOneMayWriteOverWhatIsRead) {
  EXPECT_TRUE(postpone(2, 1));
  EXPECT_TRUE(postpone(1, 2));
  EXPECT_EQ(get(2), 4);
  EXPECT_EQ(get(1), 8);
  EXPECT_EQ(guarded.fetches, 1u);
}

TEST_F(PostponedTest, TheDeviceMayWriteOverWhatIsMade) {
  EXPECT_TRUE(postpone(2, 1));
  launch(guarded, *values, 2, 0);
  values->settle();
  EXPECT_EQ(get(2), 2);
}

// The host has no number yet that could go along.
TEST_F(PostponedTest, ANeighbourDoesNotCrossBeforeItIsMade) {
  EXPECT_TRUE(postpone(2, 1));
  set(3, 7);
  launch(guarded, *values, 4, 3);
  launch(guarded, *values, 0, 2);
  EXPECT_EQ(get(4), 8);
  EXPECT_EQ(get(0), 5);
}

TEST_F(PostponedTest, TheHostsValuesAreNotPostponed) {
  EXPECT_FALSE(postpone(2, 0));
  EXPECT_EQ(get(1), 2);
  EXPECT_FALSE(postpone(2, 1));
}

// Its place may have another value by the next wait.
TEST_F(PostponedTest, OnlyScalarsOfTheDeviceAreWaitedFor) {
  numbers[1].row_bytes = 8;
  SetUp();
  EXPECT_FALSE(postpone(2, 1));
}

TEST_F(PostponedTest, MoreOperandsThanTheItemsHaveAreNotPostponed) {
  items[1].value_count = items[2].value_count = 0;
  SetUp();
  EXPECT_TRUE(postpone(2, 1));
  EXPECT_TRUE(postpone(3, 2));
  EXPECT_FALSE(postpone(4, 3));
  EXPECT_EQ(get(3), 8);
}

TEST_F(PostponedTest, MoreThanTheItemsAreNotPostponed) {
  for (int i = 0; i < 3; ++i)
    EXPECT_TRUE(postpone(2, 1));
  EXPECT_FALSE(postpone(3, 1));
  values->copy(3, 2);
  EXPECT_EQ(guarded.fetches, 1u);
  EXPECT_EQ(get(3), 4);
  EXPECT_EQ(guarded.fetches, 1u);
}

//===----------------------------------------------------------------------===//
// A step: loss, norm, check, update
//===----------------------------------------------------------------------===//

namespace {
class DeviceStepTest : public DeviceTest, BatchSource {
protected:
  int64_t load(char *) override { return 0; }

  struct Write {
    double *to, number;
  };
  static void store(void *closure, int64_t, int64_t) {
    auto *write = static_cast<Write *>(closure);
    *write->to = write->number;
  }
  /// An entry; its kernel writes the test's value.
  template <int given>
  static void write(const hone_frame *frame, char *const *values) {
    Write closure{reinterpret_cast<double *>(values[0]), numbers[given]};
    hone_launch(frame, 0, &closure, 1);
  }
  static void twice(const hone_frame *, char *const *values) {
    *reinterpret_cast<double *>(values[1]) =
        2 * *reinterpret_cast<double *>(values[0]);
  }
  static void update(const hone_frame *, char *const *) { ++updates; }

  static hone_item item(uint32_t kind, hone_entry_fn run,
                        const uint32_t *values, uint32_t count) {
    hone_item made = {};
    made.kind = kind;
    made.run = run;
    made.condition = made.batch = HONE_NO_VALUE;
    made.values = values;
    made.value_count = count;
    return made;
  }

  /// Whether a step whose kernels find these updates anything.
  bool steps(double loss, double squares) {
    numbers[0] = loss, numbers[1] = squares, updates = 0;
    static const hone_kernel kernel = {store, nullptr, "",      "",
                                       0,     0,       nullptr, 0};
    hone_module module = {};
    module.kernels = &kernel;
    hone_frame frame = guarded.load(module, {}).value();
    DeviceMemory memory = std::move(guarded.allocate(4096).value());
    frame.arena = frame.batch = frame.work = memory.address();
    Interpreter interpreter(schedule, guarded, frame);
    auto isFinite = interpreter.run(*this);
    EXPECT_TRUE(isFinite.isOk());
    EXPECT_EQ(isFinite.value(), updates == 1);
    EXPECT_EQ(interpreter.report("loss"), 2 * loss);
    return updates == 1;
  }

  static double numbers[2];
  static int updates;
  // The kernels' findings, and the host's number from both.
  hone_value table[4] = {{0, 8, 8, 0, 1, 0, 0, 0},
                         {8, 8, 8, 0, 1, 0, 0, 0},
                         {16, 8, 8, 0, 1, 0, 0, 0},
                         {24, 8, 8, 0, 1, 0, 0, 0}};
  const uint32_t ofLoss[2] = {0, 1}, ofSquares[2] = {2, 3}, made[2] = {1, 3};
  hone_item items[6] = {item(HONE_RUN, write<0>, ofLoss, 1),
                        item(HONE_SCALAR, twice, ofLoss, 2),
                        item(HONE_RUN, write<1>, ofSquares, 1),
                        item(HONE_SCALAR, twice, ofSquares, 2),
                        item(HONE_CHECK, nullptr, made, 2),
                        item(HONE_RUN, update, nullptr, 0)};
  const hone_number loss = {"loss", HONE_F64, 1};
  hone_schedule schedule = {HONE_TRAIN, 6, items, table, nullptr,
                            &loss,      4, 0,     1,     1};
};
double DeviceStepTest::numbers[2];
int DeviceStepTest::updates;
} // namespace

TEST_F(DeviceStepTest, WaitsOnceBeforeTheUpdate) {
  EXPECT_TRUE(steps(3, 4));
  EXPECT_EQ(guarded.fetches, 1u);
  EXPECT_EQ(guarded.copiedOut, 2u);
}

TEST_F(DeviceStepTest, UpdatesNothingAfterWhatIsNotFinite) {
  const double infinite = std::numeric_limits<double>::infinity();
  EXPECT_FALSE(steps(infinite, 4));
  EXPECT_FALSE(steps(3, infinite));
  EXPECT_EQ(guarded.fetches, 2u);
}
