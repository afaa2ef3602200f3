//===- UploadBuffers.cpp - On the way from the host to a device -----------===//

#include "device/UploadBuffers.h"

#include "device/Patience.h"

#include <algorithm>
#include <cstring>

namespace hone::rt {

using namespace cuda;

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
  Code code = kNotReady;
  stuck = !waitPatiently([&] {
    code = driver.query(event);
    return code != kNotReady;
  });
  return code;
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
