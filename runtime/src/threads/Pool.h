//===- Pool.h - The threads that run generated loops ----------------------===//
//
// A fixed set of threads that runs hone_launch on CPUs. A call allocates
// nothing and touches no lock unless a thread has gone to sleep; the calling
// thread takes part as thread 0. Loops do not nest: a task must not start
// another. Threads beyond the CPUs sleep, so that too many cost memory and no
// time.
// Each thread that has a CPU has a part of the indices and runs it in ascending
// order: kernels ask the memory for the data of the next index. When its part
// is empty, it helps others from their ends.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "base/Status.h"
#include "hone/runtime.h"
#include "platform/Thread.h"

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

namespace hone::rt {

class Pool {
public:
  /// Of each thread but the calling one.
  static constexpr uint64_t stackBytes = HONE_THREAD_STACK_BYTES;
  static constexpr unsigned maxThreads = 1024;

  /// A pool of `threads` threads in [1, maxThreads], counting the caller.
  /// Errors: NoResources when the system refuses to start one.
  static Result<std::unique_ptr<Pool>> create(unsigned threads);
  ~Pool();
  Pool(const Pool &) = delete;
  Pool &operator=(const Pool &) = delete;

  unsigned threads() const { return unsigned(workers.size()) + 1; }

  /// Runs task(closure, 0 .. count-1, thread) and returns when all have ended.
  /// Which thread runs which index is not determined. Called by one thread at a
  /// time.
  void run(hone_task task, void *closure, int64_t count);

  /// CPUs that this process may run on, at least 1.
  static unsigned availableCpus();

private:
  struct Worker {
    Pool *pool;
    int64_t thread;
  };
  /// Indices from `first` (high half of the word) to before `end` (low half).
  struct alignas(64) Part {
    std::atomic<uint64_t> indices{0};
  };

  Pool() = default;
  static void *enter(void *worker);
  void serve(int64_t thread);
  void runChunk(hone_task task, void *closure, int64_t first, uint32_t count);
  void takeWork(uint32_t generation, int64_t thread);
  void divide(uint32_t count);
  static uint32_t takeFrom(Part &from, uint32_t most, bool fromEnd,
                           uint32_t &begin);
  void runClaimed(uint32_t claimed, int64_t thread);
  uint32_t shareOf(uint32_t unclaimed) const;
  bool waitForJob(uint32_t seen);
  unsigned spins() const;
  void wake(uint32_t indices);
  void waitUntilFinished(uint32_t count);

  // The job. Written only while no index is unclaimed, so a thread that claims
  // one has read the fields of its own job.
  std::atomic<hone_task> task{nullptr};
  std::atomic<void *> closure{nullptr};
  std::atomic<int64_t> first{0};
  std::atomic<uint32_t> count{0};
  std::unique_ptr<Part[]> parts; // of indices from 0; one for each CPU in use
  unsigned partCount = 1;

  // Generation of the job (high half) and how many of its indices nobody has
  // claimed (low half), in one word so that a late worker cannot claim an
  // index of a later job, and nothing can be claimed of a job that has ended.
  alignas(64) std::atomic<uint64_t> ticket{0};
  alignas(64) std::atomic<uint32_t> finished{0};
  alignas(64) std::atomic<uint32_t> sleepers{0};
  std::atomic<bool> callerSleeps{false};
  std::atomic<bool> stopping{false};
  unsigned cpus = 1;

  std::mutex mutex;
  std::condition_variable jobPosted;
  std::condition_variable jobEnded;
  std::vector<Worker> workers;
  std::vector<platform::Thread> started;
};

} // namespace hone::rt
