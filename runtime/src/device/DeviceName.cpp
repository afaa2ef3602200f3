//===- DeviceName.cpp - Messages about a device ---------------------------===//

#include "device/DeviceName.h"

#include "base/ByteCount.h"
#include "device/Patience.h"

#include <cstdio>

namespace hone::rt {

std::string DeviceName::place() const {
  return "device " + std::to_string(number) + " (" + name + ")";
}

Status DeviceName::missing(int number, size_t count) {
  return Status(ErrorCode::NoSuchDevice, "--device",
                "there is no device " + std::to_string(number) +
                    "; there are " + std::to_string(count) + ", counted from 0",
                "see train --list-devices");
}

/// A size as in a spec, rounded up.
static std::string describeMebibytes(uint64_t bytes) {
  char text[32];
  const uint64_t hundredths = (bytes * 100 + (1 << 20) - 1) >> 20;
  snprintf(text, sizeof(text), "%llu.%02lluMiB",
           (unsigned long long)(hundredths / 100),
           (unsigned long long)(hundredths % 100));
  return text;
}

Status DeviceName::tooSmall(uint64_t free, uint64_t needed,
                            uint64_t smallestPlan) const {
  const std::string smaller =
      "a smaller max_seq_length or batch_size, or weights of fewer bits";
  return Status(
      ErrorCode::DeviceMemoryTooSmall, place(),
      "has " + describeBytes(free) + " of memory free and the plan needs " +
          describeBytes(needed),
      "end other programs that use the device, or compile with " +
          (smallestPlan == 0 ? "train.residuals: planned, " + smaller
           : smallestPlan < needed
               ? "train.memory_budget: " + describeMebibytes(smallestPlan) +
                     ", the smallest plan"
               : smaller + ": this is the smallest plan"));
}

Status DeviceName::refused(uint64_t bytes, const std::string &why) const {
  return Status(ErrorCode::DeviceMemoryTooSmall, place(),
                "refused " + describeBytes(bytes) + " of the plan: " + why,
                "end other programs that use the device, or compile with a "
                "smaller max_seq_length or batch_size");
}

Status DeviceName::codeRefused(const std::string &who,
                               const std::string &why) const {
  return Status(ErrorCode::DeviceCodeRefused, place(),
                who + " refused the program's kernels: " + why,
                "please report it with the driver's message");
}

Status DeviceName::notOpened(bool isFull, const std::string &why,
                             const std::string &where) const {
  return Status(isFull ? ErrorCode::DeviceMemoryTooSmall
                       : ErrorCode::DeviceFailed,
                place(), "cannot be opened: " + why,
                "see " + where +
                    " for other programs that use the device; the run has not "
                    "begun");
}

Status DeviceName::stopped(const std::string &why) const {
  return Status(ErrorCode::DeviceFailed, place(), "stopped: " + why,
                "the same command resumes from the newest checkpoint");
}

Status DeviceName::stuck(const std::string &where) const {
  return Status(ErrorCode::DeviceStuck, place(),
                "has not finished its work within " +
                    std::to_string(devicePatience()) + " s",
                "see " + where +
                    "; the same command resumes from the newest checkpoint");
}

} // namespace hone::rt
