//===- Pool.cpp - The threads that run generated loops --------------------===//
//
// The caller returns when every index has ended, not when every worker has
// looked: a worker that the system holds up delays nobody. That is why a
// claim is a compare-and-swap on generation and unclaimed count together; a
// plain counter would let a late worker swallow an index of the next job.
//
//===----------------------------------------------------------------------===//

#include "threads/Pool.h"

#include "platform/System.h"

#include <algorithm>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace hone::rt {

static void relax() {
#if defined(__x86_64__)
  _mm_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

static uint32_t generationOf(uint64_t ticket) { return uint32_t(ticket >> 32); }
static uint32_t unclaimedOf(uint64_t ticket) { return uint32_t(ticket); }

unsigned Pool::availableCpus() { return platform::availableCpus(); }

Result<std::unique_ptr<Pool>> Pool::create(unsigned threads) {
  std::unique_ptr<Pool> pool(new Pool());
  pool->cpus = availableCpus();
  // Complete before the first thread starts, since all of them read it.
  for (unsigned i = 1; i < threads; ++i)
    pool->workers.push_back({pool.get(), int64_t(i)});
  pool->started.reserve(pool->workers.size());
  for (Worker &worker : pool->workers) {
    platform::Thread thread;
    std::error_code error = thread.start(stackBytes, enter, &worker);
    if (error)
      return Status(ErrorCode::NoThread, "--threads " + std::to_string(threads),
                    "the system refused to start a thread: " + error.message(),
                    "use fewer threads");
    pool->started.push_back(thread);
  }
  return pool;
}

Pool::~Pool() {
  {
    std::lock_guard<std::mutex> lock(mutex);
    stopping.store(true);
  }
  jobPosted.notify_all();
  for (const platform::Thread &thread : started)
    thread.join();
}

void *Pool::enter(void *argument) {
  Worker *worker = static_cast<Worker *>(argument);
  worker->pool->serve(worker->thread);
  return nullptr;
}

void Pool::serve(int64_t thread) {
  uint32_t seen = 0;
  while (waitForJob(seen)) {
    seen = generationOf(ticket.load(std::memory_order_acquire));
    takeWork(seen, thread);
  }
}

/// Spinning pays only for threads that have a CPU each: of more, all but as
/// many as there are CPUs sleep.
unsigned Pool::spins() const {
  return workers.size() - sleepers.load() < cpus ? 4096 : 0;
}

/// Returns true when a job newer than `seen` is posted, false to stop.
bool Pool::waitForJob(uint32_t seen) {
  for (unsigned i = spins(); i > 0; --i) {
    if (generationOf(ticket.load(std::memory_order_acquire)) != seen)
      return true;
    if (stopping.load(std::memory_order_relaxed))
      return false;
    relax();
  }
  std::unique_lock<std::mutex> lock(mutex);
  // seq_cst pairs with runChunk: either we see its ticket or it sees us.
  sleepers.fetch_add(1);
  while (generationOf(ticket.load()) == seen && !stopping.load())
    jobPosted.wait(lock);
  sleepers.fetch_sub(1);
  return !stopping.load();
}

/// How many indices are claimed at a time: neighbours, since what they read is
/// mostly in one piece, and ever fewer, so that all threads end together
/// (guided self-scheduling, Polychronopoulos and Kuck 1987).
uint32_t Pool::shareOf(uint32_t unclaimed) const {
  constexpr uint32_t sharesPerThread = 4;
  return std::max(1u, unclaimed / (sharesPerThread * threads()));
}

void Pool::takeWork(uint32_t generation, int64_t thread) {
  uint64_t current = ticket.load(std::memory_order_acquire);
  while (generationOf(current) == generation && unclaimedOf(current) != 0) {
    hone_task run = task.load(std::memory_order_relaxed);
    void *with = closure.load(std::memory_order_relaxed);
    int64_t base = first.load(std::memory_order_relaxed);
    uint32_t end = count.load(std::memory_order_relaxed);
    const uint32_t claimed = shareOf(unclaimedOf(current));
    // Success proves that this job had an unclaimed index since `current` was
    // read, hence that the fields read in between are its own.
    if (!ticket.compare_exchange_weak(current, current - claimed,
                                      std::memory_order_acq_rel,
                                      std::memory_order_acquire))
      continue;
    const int64_t start = base + (end - unclaimedOf(current));
    for (int64_t i = 0; i < claimed; ++i)
      run(with, start + i, thread);
    if (finished.fetch_add(claimed) + claimed == end && callerSleeps.load()) {
      std::lock_guard<std::mutex> lock(mutex);
      jobEnded.notify_one();
    }
    current = ticket.load(std::memory_order_acquire);
  }
}

void Pool::waitUntilFinished(uint32_t end) {
  for (unsigned i = spins(); i > 0; --i) {
    if (finished.load(std::memory_order_acquire) == end)
      return;
    relax();
  }
  std::unique_lock<std::mutex> lock(mutex);
  callerSleeps.store(true);
  while (finished.load() != end)
    jobEnded.wait(lock);
  callerSleeps.store(false);
}

/// Wakes no more workers than can run beside the caller: the others would
/// only take turns on its CPU.
void Pool::wake(uint32_t indices) {
  uint64_t useful = std::min(cpus, indices) - 1;
  uint64_t asleep = sleepers.load(), awake = workers.size() - asleep;
  if (asleep == 0 || awake >= useful)
    return;
  // Taking the lock orders us after a worker that is about to wait.
  {
    std::lock_guard<std::mutex> lock(mutex);
  }
  for (uint64_t more = std::min(useful - awake, asleep); more > 0; --more)
    jobPosted.notify_one();
}

void Pool::runChunk(hone_task run, void *with, int64_t base, uint32_t end) {
  uint32_t generation =
      generationOf(ticket.load(std::memory_order_relaxed)) + 1;
  task.store(run, std::memory_order_relaxed);
  closure.store(with, std::memory_order_relaxed);
  first.store(base, std::memory_order_relaxed);
  count.store(end, std::memory_order_relaxed);
  finished.store(0, std::memory_order_relaxed);
  ticket.store(uint64_t(generation) << 32 | end);
  wake(end);
  takeWork(generation, 0);
  waitUntilFinished(end);
}

void Pool::run(hone_task run, void *with, int64_t total) {
  if (workers.empty() || total <= 1) {
    for (int64_t i = 0; i < total; ++i)
      run(with, i, 0);
    return;
  }
  constexpr int64_t chunk = int64_t(1) << 31;
  for (int64_t base = 0; base < total; base += chunk)
    runChunk(run, with, base, uint32_t(std::min(chunk, total - base)));
}

} // namespace hone::rt
