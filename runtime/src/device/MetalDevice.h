//===- MetalDevice.h - A GPU of Apple's -----------------------------------===//
//
// Its memory is the host's, so the host copies by itself once the device has
// done all that was asked for before; addresses are the device's all the same.
// Launches go into command buffers, which run in their order.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "device/DeviceWeights.h"
#include "device/MetalDriver.h"

#include <deque>

namespace hone::rt {

class MetalDevice final : public Device {
public:
  /// Device `number` for the kernels of `module`, with `room` for a step and
  /// the weights. None of it is taken yet; Metal has compiled the kernels.
  /// Errors: NoDriver, OldDriver, NoSuchDevice, OldDevice,
  /// DeviceMemoryTooSmall, DeviceCodeRefused, DeviceFailed.
  static Result<std::unique_ptr<MetalDevice>> open(const hone_module &module,
                                                   int number, RoomNeeded room);
  ~MetalDevice() override;

  bool isHostVisible() const override { return false; }
  /// Errors: DeviceMemoryTooSmall.
  Result<DeviceMemory> allocate(uint64_t bytes) override;
  /// Of the module that it was opened for. Errors: DeviceMemoryTooSmall,
  /// DeviceFailed.
  Result<hone_frame> load(const hone_module &module,
                          const MappedWeights &weights) override;
  void copyIn(char *to, const void *from, uint64_t bytes) override;
  Status copyOut(void *to, const char *from, uint64_t bytes) override;
  void copy(char *to, const char *from, uint64_t bytes) override;
  void launch(uint32_t kernel, void *closure, int64_t count) override;
  void observe(KernelObserver *observer) override;
  /// Errors: DeviceFailed, DeviceStuck.
  Status wait() override;

  uint64_t allocatedBytes() const override;

private:
  struct Allocation {
    metal::Id buffer = nullptr;
    char *address = nullptr;  ///< the device's
    char *contents = nullptr; ///< the host's, of the same bytes
    uint64_t bytes = 0;
  };
  /// Work that the device has and has not finished, or not begun.
  struct Commands {
    metal::Id buffer = nullptr;
    uint32_t kernel = 0; ///< the only one, where somebody observes
  };

  MetalDevice(const MetalDriver &driver, MetalDescription description)
      : driver(driver), description(std::move(description)) {}
  void free(char *address, uint64_t bytes) override;
  /// The host's address of memory at one of the device's.
  char *contentsOf(const char *address);
  Status loadCode(const hone_module &module);
  Status loadKernel(metal::Id library, const hone_kernel &kernel);
  /// There are `commands`, or a failure.
  void beginCommands();
  /// Hands the encoded launches to the device.
  void commitCommands(uint32_t kernel);
  /// Waits until at most `most` buffers are left; false: it failed.
  bool finishCommands(size_t most);
  Status failed() const;

  const MetalDriver driver;
  const MetalDescription description;
  metal::Id queue = nullptr;
  const hone_module *module = nullptr;
  std::vector<metal::Id> pipelines;    ///< by kernel
  std::vector<uint32_t> closureBytes;  ///< by kernel
  std::vector<Allocation> allocations; ///< a few
  metal::Id commands = nullptr;        ///< that are being encoded
  metal::Id encoder = nullptr;         ///< of `commands`
  unsigned encoded = 0;                ///< launches in `commands`
  std::deque<Commands> running;
  DeviceWeights weights;
  KernelObserver *observer = nullptr;
  std::string failure; ///< in Metal's words; empty: none
  bool isStuck = false;
};

} // namespace hone::rt
