//===- CudaDevice.h - A GPU of NVIDIA's -----------------------------------===//
//
// Its memory is three allocations of planned sizes: arena, weights, and the
// module's own tables. Copies and launches wait in one stream; the host waits
// where it reads and at a step's end.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "device/DeviceWeights.h"
#include "device/LaunchList.h"
#include "device/UploadBuffers.h"

namespace hone::rt {

class CudaDevice final : public Device {
public:
  /// Device `number` for the kernels of `module`, with `room` for a step and
  /// the weights. None of it is taken yet; the driver has compiled the kernels.
  /// Errors: NoDriver, OldDriver, NoSuchDevice, OldDevice,
  /// DeviceMemoryTooSmall, DeviceCodeRefused, DeviceFailed.
  static Result<std::unique_ptr<CudaDevice>> open(const hone_module &module,
                                                  int number, RoomNeeded room);
  ~CudaDevice() override;

  bool isHostVisible() const override { return false; }
  /// Errors: DeviceMemoryTooSmall.
  Result<DeviceMemory> allocate(uint64_t bytes) override;
  /// Of the module that it was opened for. Errors: DeviceMemoryTooSmall,
  /// DeviceFailed.
  Result<hone_frame> load(const hone_module &module,
                          const MappedWeights &weights) override;
  void copyIn(char *to, const void *from, uint64_t bytes) override;
  Status copyOut(void *to, const char *from, uint64_t bytes) override;
  Status copyAllOut(const std::vector<CopyOut> &copies) override;
  void copy(char *to, const char *from, uint64_t bytes) override;
  void launch(uint32_t kernel, void *closure, int64_t count) override;
  void observe(KernelObserver *observer) override;
  /// Errors: DeviceFailed, DeviceStuck.
  Status wait() override;

  /// Of arena and weights together.
  uint64_t allocatedBytes() const override { return allocated; }
  uint64_t hostBytes() const override {
    return UploadBuffers::PinnedBytes + LaunchList::MostHostBytes;
  }
  std::string launchesSoFar() const override {
    return list.describe(timedLaunches);
  }
  const LaunchList &launches() const { return list; }
  /// How often the host has waited for the device.
  uint64_t waits() const { return waited; }

private:
  /// A launch whose time nobody has asked for yet.
  struct Timed {
    uint32_t kernel = 0;
    cuda::Event *before = nullptr, *after = nullptr;
  };

  CudaDevice(const CudaDriver &driver, CudaDescription description)
      : driver(driver), description(std::move(description)),
        buffers(this->driver), list(this->driver) {}
  void free(char *address, uint64_t bytes) override;
  /// Remembers the first code that is none of success.
  void note(cuda::Code code) {
    if (failure == cuda::kSuccess)
      failure = code;
  }
  Status failed() const;
  Status loadCode(const hone_module &module);
  void reportTimes();
  /// Brings gathered launches to the stream, ahead of whatever comes next.
  void flush();

  const CudaDriver driver;
  const CudaDescription description;
  cuda::Context *context = nullptr;
  cuda::Stream *stream = nullptr;
  cuda::LoadedCode *code = nullptr;
  cuda::Event *reached = nullptr; ///< wait() waits for it
  UploadBuffers buffers;
  LaunchList list;
  const hone_module *module = nullptr;
  std::vector<cuda::Function *> functions; ///< by kernel
  std::vector<void *> arguments;           ///< as many as any kernel has
  DeviceWeights weights;
  KernelObserver *observer = nullptr;
  std::vector<Timed> timed;
  size_t timedCount = 0;
  uint64_t timedLaunches = 0; ///< in all
  uint64_t allocated = 0, waited = 0;
  cuda::Code failure = cuda::kSuccess;
};

} // namespace hone::rt
