//===- PoolTest.cpp - The threads that run generated loops ----------------===//
//
// Run under ThreadSanitizer too: the claims here are about interleavings.
//
//===----------------------------------------------------------------------===//

#include "threads/Pool.h"
#include "platform/Thread.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>
#include <vector>

using namespace hone::rt;

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define HONE_SANITIZED
#endif
#endif

namespace {

struct Visits {
  std::vector<int> perIndex;
  std::vector<int64_t> threadOf;
};

} // namespace

static void visit(void *closure, int64_t index, int64_t thread) {
  auto &visits = *static_cast<Visits *>(closure);
  ++visits.perIndex[size_t(index)];
  visits.threadOf[size_t(index)] = thread;
}

class PoolTest : public testing::TestWithParam<unsigned> {};

TEST_P(PoolTest, RunsEveryIndexOnce) {
  auto pool = Pool::create(GetParam());
  ASSERT_TRUE(pool.isOk());
  for (int64_t count : {0, 1, 2, 3, 7, 64, 1000}) {
    Visits visits{std::vector<int>(size_t(count)),
                  std::vector<int64_t>(size_t(count))};
    pool.value()->run(visit, &visits, count);
    for (int times : visits.perIndex)
      EXPECT_EQ(times, 1);
    for (int64_t thread : visits.threadOf) {
      EXPECT_GE(thread, 0);
      EXPECT_LT(thread, GetParam());
    }
  }
}

// Many short jobs in a row are where a late worker could meet the next job.
TEST_P(PoolTest, LateWorkersNeverTouchTheNextJob) {
  auto pool = Pool::create(GetParam());
  ASSERT_TRUE(pool.isOk());
  for (int job = 0; job < 5000; ++job) {
    size_t count = size_t(2 + job % 5);
    Visits visits{std::vector<int>(count), std::vector<int64_t>(count)};
    pool.value()->run(visit, &visits, int64_t(count));
    EXPECT_EQ(
        std::accumulate(visits.perIndex.begin(), visits.perIndex.end(), 0),
        int(count));
  }
}

// A thread runs neighbours: kernels prefetch the next values in memory.
TEST(Pool, ThreadsBeginTheirOwnPartsAndHelpAtTheEndsOfOthers) {
  auto pool = Pool::create(2);
  ASSERT_TRUE(pool.isOk());
  if (Pool::availableCpus() < 2)
    GTEST_SKIP() << "one CPU has one part";
  for (size_t count : {2, 7, 64, 1000}) {
    Visits visits{std::vector<int>(count), std::vector<int64_t>(count)};
    pool.value()->run(visit, &visits, int64_t(count));
    auto middle = visits.threadOf.begin() + int64_t(count / 2);
    auto isFirst = [](int64_t thread) { return thread == 0; };
    EXPECT_TRUE(std::is_partitioned(visits.threadOf.begin(), middle, isFirst));
    EXPECT_TRUE(std::is_partitioned(middle, visits.threadOf.end(),
                                    std::not_fn(isFirst)));
  }
}

INSTANTIATE_TEST_SUITE_P(Threads, PoolTest, testing::Values(1, 2, 3, 8));

TEST(Pool, ThreadsThatSleepWakeForTheNextJob) {
  auto pool = Pool::create(3);
  ASSERT_TRUE(pool.isOk());
  for (int round = 0; round < 3; ++round) {
    timespec pause = {0, 20 * 1000 * 1000};
    nanosleep(&pause, nullptr);
    Visits visits{std::vector<int>(100), std::vector<int64_t>(100)};
    pool.value()->run(visit, &visits, 100);
    for (int times : visits.perIndex)
      EXPECT_EQ(times, 1);
  }
}

static void countThread(void *closure, int64_t, int64_t thread) {
  // Unsynchronised on purpose: a thread's number is its own while it runs.
  ++static_cast<int64_t *>(closure)[thread * 16];
}

TEST(Pool, ConcurrentIterationsHaveDifferentThreadNumbers) {
  auto pool = Pool::create(4);
  ASSERT_TRUE(pool.isOk());
  std::vector<int64_t> counts(4 * 16);
  for (int job = 0; job < 100; ++job)
    pool.value()->run(countThread, counts.data(), 1000);
  EXPECT_EQ(counts[0] + counts[16] + counts[32] + counts[48], 100000);
}

/// How often a thread of this process went to sleep so far.
static int64_t sleeps() {
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_nvcsw;
}

// To wake all 63 for each of these loops takes ten times as long as the loops.
TEST(Pool, ThreadsBeyondTheCpusAreLeftAsleep) {
  cpu_set_t before, two;
  ASSERT_EQ(sched_getaffinity(0, sizeof(before), &before), 0);
  CPU_ZERO(&two);
  for (int cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&two) < 2; ++cpu)
    if (CPU_ISSET(cpu, &before))
      CPU_SET(cpu, &two);
  ASSERT_EQ(sched_setaffinity(0, sizeof(two), &two), 0);
  auto pool = Pool::create(64);
  ASSERT_EQ(sched_setaffinity(0, sizeof(before), &before), 0);
  ASSERT_TRUE(pool.isOk());
  const int64_t jobs = 2000, start = sleeps();
  std::vector<int64_t> counts(64 * 16);
  for (int64_t job = 0; job < jobs; ++job)
    pool.value()->run(countThread, counts.data(), 100);
  EXPECT_EQ(std::accumulate(counts.begin(), counts.end(), int64_t(0)),
            jobs * 100);
  EXPECT_LT(sleeps() - start, 8 * jobs);
}

// A sanitizer needs address space of its own.
#ifndef HONE_SANITIZED
TEST(PoolDeathTest, AThreadThatCannotStartIsAnError) {
  EXPECT_EXIT(
      {
        rlimit none;
        none.rlim_cur = none.rlim_max = 0; // no room for a stack
        ::setrlimit(RLIMIT_AS, &none);
        auto pool = Pool::create(2);
        ::_exit(pool.status().errorCode() == ErrorCode::NoThread ? 0 : 1);
      },
      ::testing::ExitedWithCode(0), "");
}
#endif

#ifdef __linux__
static void *findStack(void *bytes) {
  pthread_attr_t attributes;
  void *stack;
  if (pthread_getattr_np(pthread_self(), &attributes) == 0)
    pthread_attr_getstack(&attributes, &stack, static_cast<size_t *>(bytes));
  pthread_attr_destroy(&attributes);
  return nullptr;
}

/// A size that the system refuses as too small would become the default, of
/// mebibytes.
TEST(Thread, HasTheSystemsLeastStackWhereItsOwnIsSmaller) {
  platform::Thread thread;
  size_t bytes = 0;
  ASSERT_FALSE(thread.start(1, findStack, &bytes));
  thread.join();
  EXPECT_GT(bytes, 0u);
  EXPECT_LE(bytes, size_t(1) << 20);
}
#endif

TEST(Pool, KnowsHowManyCpusItMayUse) { EXPECT_GE(Pool::availableCpus(), 1u); }
