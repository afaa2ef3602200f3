//===- HostDevice.cpp - The processor that the program runs on ------------===//

#include "device/HostDevice.h"

#include "base/ByteCount.h"
#include "platform/Pages.h"

#include <cstring>

namespace hone::rt {

Result<DeviceMemory> HostDevice::allocate(uint64_t bytes) {
  if (bytes == 0)
    return DeviceMemory();
  char *base = nullptr;
  platform::Error error = platform::mapMemory(bytes, base);
  DeviceMemory memory(*this, base, bytes);
  if (!error)
    error = platform::makeResident(base, bytes);
  if (!error)
    return memory;
  return Status(ErrorCode::NoMemory, "memory",
                "the plan needs " + describeBytes(bytes) +
                    " of memory and the system refused it: " + error.message(),
                "free memory, use fewer --threads, or compile with a smaller "
                "batch_size or max_seq_length");
}

void HostDevice::free(char *address, uint64_t bytes) {
  platform::unmap(address, bytes);
}

Result<hone_frame> HostDevice::load(const hone_module &module,
                                    const MappedWeights &weights) {
  HONE_ASSIGN(scratch,
              allocate(module.thread_bytes * uint64_t(pool.threads())));
  streaming.emplace(weights.file, pool.threads());
  hone_frame frame = {};
  frame.pool = pool.handle();
  frame.thread_scratch = scratch.address();
  frame.weights = weights.addresses;
  frame.streaming = streaming->handle();
  return frame;
}

void HostDevice::copyIn(char *to, const void *from, uint64_t bytes) {
  memcpy(to, from, bytes);
}

Status HostDevice::copyOut(void *to, const char *from, uint64_t bytes) {
  memcpy(to, from, bytes);
  return Status::ok();
}

void HostDevice::copy(char *to, const char *from, uint64_t bytes) {
  memmove(to, from, bytes);
}

void HostDevice::launch(hone_entry_fn entry, const hone_frame &frame,
                        char *const *values) {
  entry(&frame, values);
}

} // namespace hone::rt
