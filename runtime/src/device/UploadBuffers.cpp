//===- UploadBuffers.cpp - On the way from the host to a device -----------===//

#include "device/UploadBuffers.h"

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <thread>

namespace hone::rt {

using namespace cuda;

/// After which a device is stuck. No kernel takes a second.
static std::chrono::seconds patience() {
  const char *text = std::getenv("HONE_DEVICE_PATIENCE");
  const int seconds = text ? std::atoi(text) : 0;
  return std::chrono::seconds(seconds > 0 ? seconds : 300);
}

Code UploadBuffers::create() {
  for (Buffer &buffer : buffers) {
    void *start = nullptr;
    if (Code code = driver.allocateHost(&start, Bytes, 0); code != kSuccess)
      return code;
    buffer.start = static_cast<char *>(start);
    if (Code code = driver.createEvent(&buffer.copied, kNoTiming);
        code != kSuccess)
      return code;
  }
  void *start = nullptr;
  Code code = driver.allocateHost(&start, ReadBackBytes, 0);
  landing = static_cast<char *>(start);
  return code;
}

UploadBuffers::~UploadBuffers() {
  if (stuck)
    return;
  for (Buffer &buffer : buffers) {
    if (buffer.copied)
      (void)driver.destroyEvent(buffer.copied);
    if (buffer.start)
      (void)driver.freeHost(buffer.start);
  }
  if (landing)
    (void)driver.freeHost(landing);
}

Code UploadBuffers::wait(Event *event) const {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point start = Clock::now();
  const std::chrono::seconds most = patience();
  for (;;) {
    const Code code = driver.query(event);
    if (code != kNotReady)
      return code;
    const Clock::duration waited = Clock::now() - start;
    if (waited > most) {
      stuck = true;
      return kNotReady;
    }
    // A step is milliseconds: to sleep at once would cost it a part of that.
    if (waited < std::chrono::microseconds(200))
      std::this_thread::yield();
    else
      std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
}

Code UploadBuffers::copyIn(Address to, const char *from, uint64_t bytes,
                           Stream *stream) {
  while (bytes) {
    Buffer *buffer = &buffers[current];
    if (buffer->used == Bytes) {
      if (Code code = driver.record(buffer->copied, stream); code != kSuccess)
        return code;
      current = 1 - current;
      buffer = &buffers[current];
      if (Code code = wait(buffer->copied); code != kSuccess)
        return code;
      buffer->used = 0;
    }
    const uint64_t part = std::min(bytes, Bytes - buffer->used);
    char *at = buffer->start + buffer->used;
    memcpy(at, from, part);
    if (Code code = driver.copyIn(to, at, part, stream); code != kSuccess)
      return code;
    buffer->used += part;
    to += part;
    from += part;
    bytes -= part;
  }
  return kSuccess;
}

} // namespace hone::rt
