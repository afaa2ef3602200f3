//===- UploadBuffers.h - On the way from the host to a device -------------===//
//
// Copies from memory that the driver has not pinned wait for all that came
// before. So bytes go through two buffers in turns: while one is copied, the
// other is filled, and the host waits for the device only where it is two
// buffers ahead of it.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "device/CudaDriver.h"

namespace hone::rt {

class UploadBuffers {
public:
  static constexpr uint64_t Bytes = 2 * 1024 * 1024; ///< of each

  explicit UploadBuffers(const CudaDriver &driver) : driver(driver) {}
  ~UploadBuffers();

  cuda::Code create();
  /// Runs after everything given to `stream` before; `from` is free on return.
  cuda::Code copyIn(cuda::Address to, const char *from, uint64_t bytes,
                    cuda::Stream *stream);

  /// The buffer in which the host reads copies from the device; of at least 64
  /// KiB.
  char *readBack() const { return landing; }
  static constexpr uint64_t ReadBackBytes = 64 * 1024;
  /// The host's memory that the driver is asked for.
  static constexpr uint64_t PinnedBytes = 2 * Bytes + ReadBackBytes;

  /// Waits until `event` has happened, for as long as a device may take; a
  /// driver's own wait has no end.
  cuda::Code wait(cuda::Event *event) const;
  bool isStuck() const { return stuck; }

private:
  struct Buffer {
    char *start = nullptr;
    cuda::Event *copied = nullptr; ///< all that was in it
    uint64_t used = 0;
  };
  const CudaDriver &driver;
  Buffer buffers[2];
  char *landing = nullptr;
  unsigned current = 0;
  mutable bool stuck = false;
};

} // namespace hone::rt
