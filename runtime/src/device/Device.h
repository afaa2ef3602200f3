//===- Device.h - Where a step's memory is and its kernels run ------------===//
//
// Copies and launches happen in the order in which they are asked for, when the
// device comes to them. Once one has failed, copyOut() and wait() fail, which
// return when all before them has happened; memory holds nothing of use then.
// Entries are host code: any code that has a frame calls them, and their
// launches come here through hone_launch.
//
// An address of a device is no pointer: unless the device is host-visible the
// host reads and writes its memory through copies. MemoryView hides which.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "base/MemoryView.h"
#include "base/Status.h"
#include "hone/runtime.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hone::rt {

class DeviceMemory;
class Offloading;
namespace platform {
class File;
}

/// Frozen tensors, as the host has them.
struct MappedWeights {
  const void *const *addresses;         ///< parallel to hone_module::weights
  std::string_view file;                ///< the mapping that they lie in
  const platform::File *open = nullptr; ///< the same file
};

/// Bytes of a device that the host is to have.
struct CopyOut {
  void *to;
  const char *from;
  uint64_t bytes;
};

/// Is told of every kernel that has run, and how long it took.
class KernelObserver {
public:
  virtual ~KernelObserver() = default;
  /// `kernel` is its number in hone_module::kernels.
  virtual void ran(uint32_t kernel, double seconds) = 0;
};

/// Says of each launch of an entry whether it runs.
class LaunchGate {
public:
  virtual ~LaunchGate() = default;
  /// Before kernel `kernel`: whether it runs.
  virtual bool admits(uint32_t kernel) = 0;
  /// After it: on a device whose memory the host sees it has ended.
  virtual void launched(uint32_t kernel) = 0;
};

/// A launch on a device whose memory the host sees has ended when it returns.
class Device : public RemoteMemory {
public:
  /// Zeroed memory that begins at a multiple of 64 bytes, gone with the object;
  /// the device outlives it. Errors: NoResources.
  virtual Result<DeviceMemory> allocate(uint64_t bytes) = 0;

  /// Makes the kernels of `module` runnable, with `weights` and other memory
  /// that they need beside an arena. Both outlive the device, which runs one
  /// module. Entries are called with the frame, once arena, batch, work, rows
  /// and numbers are in it. Errors: NoResources.
  virtual Result<hone_frame> load(const hone_module &module,
                                  const MappedWeights &weights) = 0;

  /// copyOut() of each, with one wait for all if the device can.
  virtual Status copyAllOut(const std::vector<CopyOut> &copies) {
    for (const CopyOut &each : copies)
      HONE_TRY(copyOut(each.to, each.from, each.bytes));
    return Status::ok();
  }

  /// Within the device's memory; both ends may overlap.
  virtual void copy(char *to, const char *from, uint64_t bytes) = 0;

  /// See hone_launch: kernel `kernel` of the loaded module.
  virtual void launch(uint32_t kernel, void *closure, int64_t count) = 0;

  /// From now on `observer` is told of each kernel; null: nobody is.
  virtual void observe(KernelObserver *observer) = 0;

  /// Errors: NoResources, Internal.
  virtual Status wait() = 0;

  /// Memory that a driver has been asked for, in bytes of the device's; 0 where
  /// there is no driver.
  virtual uint64_t allocatedBytes() const { return 0; }
  /// Most bytes of the host's memory that the device has for itself: buffers of
  /// copies, launches on their way.
  virtual uint64_t hostBytes() const { return 0; }
  /// How launches have come to the device, in words; empty where each is a
  /// call.
  virtual std::string launchesSoFar() const { return {}; }

  hone_device *handle() { return reinterpret_cast<hone_device *>(this); }

  /// Where values of entries rest from now on, see hone_offload; null: nothing
  /// is written or read, since launches that are left out have done so before,
  /// or never will.
  void offloadTo(Offloading *to) { offloading = to; }
  Offloading *offloadsTo() const { return offloading; }

  /// From now on `by` decides which launches of entries run; null: all do.
  void guard(LaunchGate *by) { launchGate = by; }
  LaunchGate *gate() const { return launchGate; }

private:
  friend DeviceMemory;
  virtual void free(char *address, uint64_t bytes) = 0;

  LaunchGate *launchGate = nullptr;
  Offloading *offloading = nullptr;
};

/// Owns memory of a device.
class DeviceMemory {
public:
  DeviceMemory() = default;
  /// Takes over memory that the device's free() can free; null for 0 bytes.
  DeviceMemory(Device &device, char *address, uint64_t bytes)
      : device(&device), start(address), length(bytes) {}
  ~DeviceMemory() {
    if (start)
      device->free(start, length);
  }
  DeviceMemory(DeviceMemory &&other) noexcept { *this = std::move(other); }
  DeviceMemory &operator=(DeviceMemory &&other) noexcept {
    std::swap(device, other.device);
    std::swap(start, other.start);
    std::swap(length, other.length);
    return *this;
  }

  char *address() const { return start; }
  uint64_t size() const { return length; }

private:
  Device *device = nullptr;
  char *start = nullptr;
  uint64_t length = 0;
};

} // namespace hone::rt
