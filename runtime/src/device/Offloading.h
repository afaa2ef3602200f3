//===- Offloading.h - Values of a step that rest in a file ----------------===//
//
// One thread writes and reads them in the order in which it is asked, beside
// the kernels. The file has no name, so it goes with the process however that
// ends, and room for all of it from the start, so that a full disk is known
// before the first step. Values pass the system's cache by: there they would
// take the memory that they are to free. Where the file system has no such way,
// written bytes go to the disk at once and are dropped from the cache.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "base/Status.h"
#include "hone/runtime.h"
#include "platform/Scratch.h"
#include "platform/Thread.h"

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

namespace hone::rt {

class Offloading {
public:
  /// Of memory that values pass through on their way.
  static constexpr uint64_t BounceBytes = 256 * 1024;

  /// A file of `bytes` bytes in `folder`. Errors: CannotCreate, NoThread.
  static Result<std::unique_ptr<Offloading>> create(const std::string &folder,
                                                    uint64_t bytes);
  ~Offloading();

  /// See hone_offload, hone_reload and hone_await. Called by one thread.
  void write(const void *start, uint64_t bytes, uint64_t offset);
  void read(void *start, uint64_t bytes, uint64_t offset);
  void await(const void *start);

  /// Waits for all that was begun. Errors: the first one there was since the
  /// beginning, WriteFailed or ReadFailed.
  Status settle();
  bool hasFailed() const { return failed.load(std::memory_order_acquire); }

  /// Of the file.
  uint64_t size() const { return fileBytes; }
  /// Bytes written to the file so far.
  uint64_t writtenBytes() const { return written; }

  /// Once it is settled: all of it, piece by piece, and the same the other way.
  /// Errors: of the function; ReadFailed; WriteFailed.
  Status
  visit(const std::function<Status(const char *part, uint64_t size)> &to) const;
  Status fill(uint64_t offset, const char *part, uint64_t size);

private:
  struct Request {
    char *start;
    uint64_t bytes, offset;
    bool isWrite;
  };
  /// A call begins one or two for each value that a layer keeps, and waits for
  /// them before many more begin.
  static constexpr uint64_t mostRequests = 64;
  struct Bounce {
    alignas(platform::directBlock) char bytes[BounceBytes];
  };

  Offloading() = default;
  static void *enter(void *self);
  void serve();
  void post(const Request &request);
  platform::Error run(const Request &request) const;
  platform::Error transfer(const Request &request) const;
  platform::Error transferDirectly(const Request &request) const;
  /// Writes bytes that need not be whole blocks; transfers are direct again
  /// after it, if they can be.
  platform::Error writeThroughCache(const char *part, uint64_t size,
                                    uint64_t offset);
  void fail(platform::Error error, bool isWrite);

  platform::File file;
  std::string folder;
  uint64_t fileBytes = 0, written = 0;
  std::atomic<bool> isDirect{false}; ///< passes the cache by
  /// Direct transfers go through it, since values lie at any address.
  std::unique_ptr<Bounce> bounce;
  platform::Thread thread;
  bool isStarted = false;

  std::mutex mutex;
  std::condition_variable changed;
  /// By number; those from `ended` on have not ended.
  Request requests[mostRequests];
  uint64_t posted = 0, ended = 0;
  bool stops = false;
  std::atomic<bool> failed{false};
  platform::Error error; ///< the first one, once it failed
  bool errorIsOfWrite = false;
};

} // namespace hone::rt
