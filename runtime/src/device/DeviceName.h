//===- DeviceName.h - Messages about a device -----------------------------===//
//
// Errors of all drivers are one: words that differ are the driver's.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "base/Status.h"

#include <string>

namespace hone::rt {

/// The memory of a device that a program needs beside its weights.
struct RoomNeeded {
  RoomNeeded(uint64_t arenaBytes, uint64_t smallestPlan = 0)
      : arenaBytes(arenaBytes), smallestPlan(smallestPlan) {}
  uint64_t arenaBytes;
  /// Bytes of the smallest plan with the weights, for a message; 0: unknown.
  uint64_t smallestPlan;
};

struct DeviceName {
  int number = 0; ///< from 0, as --device takes it
  std::string name;

  /// "device 0 (NVIDIA H200)".
  std::string place() const;

  /// NoSuchDevice, where there are `count`.
  static Status missing(int number, size_t count);
  /// DeviceMemoryTooSmall: before anything is taken.
  Status tooSmall(uint64_t free, uint64_t needed, uint64_t smallestPlan) const;
  /// DeviceMemoryTooSmall: an allocation of the plan; `why` is the driver's.
  Status refused(uint64_t bytes, const std::string &why) const;
  /// DeviceCodeRefused; `who` is the driver with its version.
  Status codeRefused(const std::string &who, const std::string &why) const;
  /// DeviceFailed or, of one whose memory `isFull`, DeviceMemoryTooSmall: the
  /// driver gives no access. `where` shows what occupies the device.
  Status notOpened(bool isFull, const std::string &why,
                   const std::string &where) const;
  /// DeviceFailed.
  Status stopped(const std::string &why) const;
  /// DeviceStuck; `where` shows what occupies the device.
  Status stuck(const std::string &where) const;
};

} // namespace hone::rt
