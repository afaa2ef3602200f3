//===- DeviceWeights.cpp - Frozen tensors in a device's memory ------------===//

#include "device/DeviceWeights.h"

#include "platform/Pages.h"

#include <algorithm>

namespace hone::rt {

/// Copied at a time, before pages are let go.
static constexpr uint64_t PartBytes = 2 * 1024 * 1024;

static uint64_t bytesOf(const hone_weight &weight) {
  uint64_t bytes = weight.dtype == HONE_U8                                ? 1
                   : weight.dtype == HONE_BF16                            ? 2
                   : weight.dtype == HONE_F64 || weight.dtype == HONE_I64 ? 8
                                                                          : 4;
  for (uint32_t i = 0; i < weight.rank; ++i)
    bytes *= uint64_t(weight.shape[i]);
  return bytes;
}

uint64_t DeviceWeights::bytesOf(const hone_module &module) {
  uint64_t bytes = 0;
  for (uint32_t i = 0; i < module.weight_count; ++i)
    bytes += hone_device_bytes(rt::bytesOf(module.weights[i]));
  return bytes;
}

/// Lets go of the pages that lie in [from, from + bytes) of `file` wholly.
static void dropPagesOf(const char *from, uint64_t bytes,
                        std::string_view file) {
  const uint64_t page = platform::pageBytes();
  const uintptr_t start = reinterpret_cast<uintptr_t>(from);
  const uintptr_t first = (start + page - 1) / page * page;
  const uintptr_t end = (start + bytes) / page * page;
  if (end > first && from >= file.data() &&
      from + bytes <= file.data() + file.size())
    platform::dropPages(reinterpret_cast<const char *>(first), end - first);
}

Status DeviceWeights::load(Device &device, const hone_module &module,
                           const MappedWeights &weights) {
  HONE_ASSIGN(memory, device.allocate(bytesOf(module)));
  uint64_t at = 0;
  for (uint32_t i = 0; i < module.weight_count; ++i) {
    char *to = memory.address() + at;
    const char *from = static_cast<const char *>(weights.addresses[i]);
    const uint64_t size = rt::bytesOf(module.weights[i]);
    addresses.push_back(to);
    at += hone_device_bytes(size);
    // They are not read again, and the file may be larger than the memory.
    for (uint64_t done = 0; done < size; done += PartBytes) {
      const uint64_t part = std::min(size - done, PartBytes);
      device.copyIn(to + done, from + done, part);
      dropPagesOf(from + done, part, weights.file);
    }
  }
  return Status::ok();
}

} // namespace hone::rt
