//===- DeviceWeights.h - Frozen tensors in a device's memory --------------===//

#pragma once

#include "device/Device.h"

#include <vector>

namespace hone::rt {

/// One allocation of the planned size, in the order of hone_module::weights.
class DeviceWeights {
public:
  /// Their size on the device, in bytes.
  static uint64_t bytesOf(const hone_module &module);

  /// Copies all weights to `device`, which outlives them. Pages of the file are
  /// let go once they are copied. Errors: those of allocate(); wait() reports
  /// those of the copies.
  Status load(Device &device, const hone_module &module,
              const MappedWeights &weights);
  void release() { memory = DeviceMemory(); }
  /// Never gives the memory back: the driver of a stuck device would wait.
  void abandon() { (void)new DeviceMemory(std::move(memory)); }

  /// Addresses, parallel to hone_module::weights.
  const void *const *table() const { return addresses.data(); }

private:
  DeviceMemory memory;
  std::vector<const void *> addresses;
};

} // namespace hone::rt
