//===- Driver.h - The device of this libcuda.so.1 -------------------------===//
//
// Asynchronous calls wait in a queue until the program waits for them: this
// reveals a program that uses a buffer again too early.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "DriverOptions.h"
#include "device/CudaApi.h"

#include <functional>
#include <mutex>

namespace hone::ptx {

namespace cuda = rt::cuda;

constexpr int kMultiprocessorCount = 1;
constexpr uint64_t kResidentThreads = 2048; ///< of a multiprocessor, at most

class Driver {
public:
  /// The process's one.
  static Driver &get();

  /// The lock that every function of the API takes.
  std::mutex mutex;
  const DriverOptions options;
  bool isInitialized = false;

  /// Makes the machine on first use. Null: no address range.
  Machine *machine();
  Memory &memory() { return machine()->memory(); }

  /// The memory that a context keeps, in place of the earlier amount. False:
  /// there is not so much.
  bool reserve(uint64_t bytes);
  uint64_t freeBytes();
  cuda::Code allocate(cuda::Address &address, uint64_t bytes);
  cuda::Code allocateHost(void *&address, uint64_t bytes);
  bool freeHost(void *address);
  bool isPinned(const void *address) const;

  /// Happens when somebody waits.
  void enqueue(std::function<void()> work);
  /// All that is queued happens. `waits`: a stuck kernel then stops the caller
  /// for ever.
  cuda::Code flush(bool waits);

  /// Null: `log` says why.
  const Module *load(std::string_view text, std::string &log);
  void launch(const Module *module, const Kernel *kernel,
              std::array<uint32_t, 3> grid, std::array<uint32_t, 3> block,
              uint32_t shared, std::vector<char> arguments,
              std::vector<size_t> offsets);

  /// Of a copy or a launch that has failed: all after it fail, too.
  cuda::Code sticky = cuda::kSuccess;
  bool isStuck = false;

  void writeReport();

private:
  Driver() : options(readDriverOptions()) {}

  std::unique_ptr<Machine> device;
  std::map<const char *, uint64_t> pinned; ///< and their sizes
  std::deque<std::function<void()>> queue;
  uint64_t allocations = 0, launches = 0;
  uint64_t deviceBytes = 0, pinnedBytes = 0; ///< asked for, in all
  uint64_t reserved = 0;                     ///< kept by the context
  /// Calls that found something queued: queries of events, since the runtime
  /// waits by repeating them; synchronizations; copies to memory that is not
  /// pinned; and calls that free or destroy, which a run makes at its end
  /// alone.
  uint64_t hostWaits = 0;
};

} // namespace hone::ptx
