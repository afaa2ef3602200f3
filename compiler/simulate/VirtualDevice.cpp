//===- VirtualDevice.cpp - A device that knows only times -----------------===//

#include "compiler/simulate/VirtualDevice.h"

#include "base/ByteCount.h"
#include "platform/Pages.h"

#include <cstring>

namespace hone::simulate {

/// The host reads no number of a larger copy.
static constexpr uint64_t kMostCopied = 64 * 1024;

Result<rt::DeviceMemory> VirtualDevice::allocate(uint64_t bytes) {
  if (bytes == 0)
    return rt::DeviceMemory();
  char *base = nullptr;
  if (rt::platform::Error error = rt::platform::mapMemory(bytes, base))
    return Status(
        ErrorCode::NoMemory, "memory",
        "a program's plan needs " + rt::describeBytes(bytes) +
            " of addresses and the system refused them: " + error.message(),
        "simulate fewer programs, or smaller batches");
  return rt::DeviceMemory(*this, base, bytes);
}

void VirtualDevice::free(char *address, uint64_t bytes) {
  rt::platform::unmap(address, bytes);
}

Result<hone_frame> VirtualDevice::load(const hone_module &module,
                                       const rt::MappedWeights &) {
  // Entries hand addresses of weights on, and nobody follows them.
  weights.assign(module.weight_count, nullptr);
  hone_frame frame = {};
  frame.device = handle();
  frame.weights = weights.data();
  return frame;
}

void VirtualDevice::copyIn(char *to, const void *from, uint64_t bytes) {
  memcpy(to, from, bytes);
}

Status VirtualDevice::copyOut(void *to, const char *from, uint64_t bytes) {
  memcpy(to, from, bytes);
  return Status::ok();
}

void VirtualDevice::copy(char *to, const char *from, uint64_t bytes) {
  if (bytes <= kMostCopied)
    memmove(to, from, bytes);
}

void VirtualDevice::launch(uint32_t kernel, void *, int64_t) {
  ++counts[kernel];
  if (seconds[kernel] < 0)
    without = kernel;
  else
    program.compute(seconds[kernel]);
}

} // namespace hone::simulate
