//===- HostDevice.h - The processor that the program runs on --------------===//
//
// Memory is the plan's: one mapping each for arena and scratch, resident from
// the start. Weights stay where their file is mapped, a launch is a loop of the
// pool.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "device/Device.h"
#include "device/Streaming.h"
#include "threads/Pool.h"

#include <optional>

namespace hone::rt {

class HostDevice final : public Device {
public:
  /// Kernels run on `pool`, which outlives the device.
  explicit HostDevice(Pool &pool) : pool(pool) {}

  bool isHostVisible() const override { return true; }
  Result<DeviceMemory> allocate(uint64_t bytes) override;
  Result<hone_frame> load(const hone_module &module,
                          const MappedWeights &weights) override;
  void copyIn(char *to, const void *from, uint64_t bytes) override;
  Status copyOut(void *to, const char *from, uint64_t bytes) override;
  void copy(char *to, const char *from, uint64_t bytes) override;
  void launch(uint32_t kernel, void *closure, int64_t count) override;
  void observe(KernelObserver *toldOf) override { observer = toldOf; }
  Status wait() override { return Status::ok(); }

private:
  void free(char *address, uint64_t bytes) override;

  Pool &pool;
  const hone_kernel *kernels = nullptr;
  KernelObserver *observer = nullptr;
  DeviceMemory scratch; ///< of the pool's threads
  std::optional<Streaming> streaming;
};

} // namespace hone::rt
