//===- HostDevice.cpp - The processor that the program runs on ------------===//

#include "device/HostDevice.h"

#include "base/ByteCount.h"
#include "platform/Pages.h"

#include <chrono>
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
  streaming.emplace(weights.file, /*threads=*/1, weights.open);
  kernels = module.kernels;
  hone_frame frame = {};
  frame.device = handle();
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

void HostDevice::launch(uint32_t kernel, void *closure, int64_t count) {
  hone_task task = kernels[kernel].task;
  if (!observer)
    return pool.run(task, closure, count);
  auto start = std::chrono::steady_clock::now();
  pool.run(task, closure, count);
  std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  observer->ran(kernel, took.count());
}

} // namespace hone::rt
