//===- Pool.cpp - The threads that run generated loops --------------------===//
//
// The caller returns when every index has ended, not when every worker has
// looked: a worker that the system holds up delays nobody. That is why a
// claim is a compare-and-swap on generation and unclaimed count together; a
// plain counter would let a late worker swallow an index of the next job.
// A thread takes its indices after the claim, from the parts that the threads
// have: these hold as many indices as are unclaimed, or claimed and not yet
// taken, so a claim always finds indices.
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
  pool->partCount = std::min(threads, pool->cpus);
  pool->parts = std::make_unique<Part[]>(pool->partCount);
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

/// How many indices are claimed at a time: ever fewer, so that all threads end
/// together (guided self-scheduling, Polychronopoulos and Kuck 1987).
uint32_t Pool::shareOf(uint32_t unclaimed) const {
  constexpr uint32_t sharesPerThread = 4;
  return std::max(1u, unclaimed / (sharesPerThread * threads()));
}

/// Divides the indices into parts, before they can be claimed.
void Pool::divide(uint32_t total) {
  const uint64_t all = partCount;
  for (uint64_t i = 0; i < all; ++i)
    parts[i].indices.store((total * i / all) << 32 | total * (i + 1) / all,
                           std::memory_order_relaxed);
}

/// Takes at most `most` indices from the start of a part, or from its end; they
/// begin at `begin`. Returns how many.
uint32_t Pool::takeFrom(Part &from, uint32_t most, bool fromEnd,
                        uint32_t &begin) {
  std::atomic<uint64_t> &part = from.indices;
  uint64_t current = part.load(std::memory_order_relaxed);
  while (true) {
    uint32_t first = uint32_t(current >> 32), end = uint32_t(current);
    const uint32_t taken = std::min(most, end - first);
    if (taken == 0)
      return 0;
    begin = fromEnd ? end - taken : first;
    (fromEnd ? end : first) = fromEnd ? begin : first + taken;
    if (part.compare_exchange_weak(current, uint64_t(first) << 32 | end,
                                   std::memory_order_relaxed))
      return taken;
  }
}

/// Runs as many indices as were claimed: of the thread's own part while there
/// are some, else of the next one that has some.
void Pool::runClaimed(uint32_t claimed, int64_t thread) {
  hone_task run = task.load(std::memory_order_relaxed);
  void *with = closure.load(std::memory_order_relaxed);
  const int64_t base = first.load(std::memory_order_relaxed);
  for (unsigned i = 0; claimed != 0; i = (i + 1) % partCount) {
    uint32_t begin = 0;
    Part &part = parts[(uint64_t(thread) + i) % partCount];
    const uint32_t taken = takeFrom(part, claimed, /*fromEnd=*/i != 0, begin);
    for (int64_t j = 0; j < taken; ++j)
      run(with, base + begin + j, thread);
    claimed -= taken;
  }
}

void Pool::takeWork(uint32_t generation, int64_t thread) {
  uint64_t current = ticket.load(std::memory_order_acquire);
  while (generationOf(current) == generation && unclaimedOf(current) != 0) {
    const uint32_t claimed = shareOf(unclaimedOf(current));
    // Success proves that this job had an unclaimed index since `current` was
    // read, hence that its fields stay until the claimed indices have run.
    if (!ticket.compare_exchange_weak(current, current - claimed,
                                      std::memory_order_acq_rel,
                                      std::memory_order_acquire))
      continue;
    runClaimed(claimed, thread);
    const uint32_t end = count.load(std::memory_order_relaxed);
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
  divide(end);
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
