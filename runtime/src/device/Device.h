//===- Device.h - Where a step's memory is and its entries run ------------===//
//
// Copies and launches happen in the order in which they are asked for, when the
// device comes to them. Once one has failed, copyOut() and wait() fail, which
// return when all before them has happened; memory holds nothing of use then.
//
// An address of a device is no pointer: unless the device is host-visible the
// host reads and writes what is there through copies. MemoryView hides which.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_RUNTIME_DEVICE_DEVICE_H
#define HONE_RUNTIME_DEVICE_DEVICE_H

#include "base/Status.h"
#include "hone/runtime.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <utility>

namespace hone::rt {

class DeviceMemory;
class Module;
class Weights;

class Device {
public:
  virtual ~Device() = default;

  /// Whether the host reads and writes the device's memory where it is. A
  /// launch has then ended when it returns.
  virtual bool isHostVisible() const = 0;

  /// Zeroed memory that begins at a multiple of 64 bytes, gone with the object;
  /// the device outlives it. Errors: NoResources.
  virtual Result<DeviceMemory> allocate(uint64_t bytes) = 0;

  /// Makes the entries of `module` runnable, with `weights`, and what they need
  /// beside an arena. Both outlive the device, which runs one module. The frame
  /// is what entries are launched with once arena, batch, work and rows are in
  /// it. Errors: NoResources.
  virtual Result<hone_frame> load(const Module &module,
                                  const Weights &weights) = 0;

  /// From and to the host's memory, which is free again on return, and within
  /// the device's, where both ends may overlap. Errors: as wait().
  virtual void copyIn(char *to, const void *from, uint64_t bytes) = 0;
  virtual Status copyOut(void *to, const char *from, uint64_t bytes) = 0;
  virtual void copy(char *to, const char *from, uint64_t bytes) = 0;

  /// Runs an entry of the loaded module. `frame` and `values` are free again on
  /// return; what they point to are addresses of the device.
  virtual void launch(hone_entry_fn entry, const hone_frame &frame,
                      char *const *values) = 0;

  /// Errors: NoResources, Internal.
  virtual Status wait() = 0;

private:
  friend DeviceMemory;
  virtual void free(char *address, uint64_t bytes) = 0;
};

/// Owns memory of a device.
class DeviceMemory {
public:
  DeviceMemory() = default;
  /// Takes over what the device's free() can free; null for 0 bytes.
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

/// Bytes that the host reads or writes, wherever they are. Costs nothing where
/// the host can see them.
class MemoryView {
public:
  /// Of the host's memory.
  MemoryView(void *address = nullptr) : start(static_cast<char *>(address)) {}
  MemoryView(Device &device, char *address)
      : device(device.isHostVisible() ? nullptr : &device), start(address) {}

  MemoryView operator+(uint64_t bytes) const {
    MemoryView moved = *this;
    moved.start += bytes;
    return moved;
  }

  /// Calls each(bytes, size) for one part of the first `size` bytes after
  /// another: to read it, or to write all of it. Parts are whole elements of
  /// any type; of what the host sees there is one. Errors: the first of each(),
  /// or as Device::copyOut.
  template <typename Each> Status read(uint64_t size, Each each) const {
    Status status = Status::ok();
    forEachPart(size, [&](char *part, const char *at, uint64_t bytes) {
      if (device && status.isOk())
        status = device->copyOut(part, at, bytes);
      if (status.isOk())
        status = each(static_cast<const char *>(part), bytes);
    });
    return status;
  }
  template <typename Each> void write(uint64_t size, Each each) const {
    forEachPart(size, [&](char *part, char *at, uint64_t bytes) {
      each(part, bytes);
      if (device)
        device->copyIn(at, part, bytes);
    });
  }

private:
  static constexpr uint64_t PartBytes = 64 * 1024;

  /// Calls each(part, at, bytes): `part` is the host's memory for what is `at`.
  template <typename Each> void forEachPart(uint64_t size, Each each) const {
    if (!device)
      return each(start, start, size);
    auto buffer = std::make_unique<char[]>(std::min(size, PartBytes));
    for (uint64_t done = 0; done < size; done += PartBytes)
      each(buffer.get(), start + done, std::min(size - done, PartBytes));
  }

  Device *device = nullptr; ///< null: the host sees the bytes
  char *start;
};

} // namespace hone::rt

#endif
