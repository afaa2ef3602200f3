//===- Values.h - The values of a schedule, on both sides -----------------===//
//
// Entries use values in the device's memory; scalar functions, conditions,
// checks, settings, reports and exchanges use them in the host's. Where the
// host does not see the device's memory a value that both use is copied when
// the side that did not write it last reads it, and never otherwise.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_RUNTIME_STEP_VALUES_H
#define HONE_RUNTIME_STEP_VALUES_H

#include "device/Device.h"
#include "hone/runtime.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace hone::rt {

class Values {
public:
  static constexpr uint32_t maxDepth = 4;

  /// `arena` is the device's.
  Values(const hone_schedule &schedule, Device &device, char *arena);

  /// Of the repeats that surround the item which runs, outermost first. They
  /// say which slot of a value is meant.
  int64_t iterations[maxDepth] = {};

  uint64_t slotOf(uint32_t index) const;

  /// Write is to write all of the value; what was there is undefined.
  enum class Use { Read, Write };
  /// Where value `index` is for the host, and for the device.
  char *onHost(uint32_t index, Use use);
  char *onDevice(uint32_t index, Use use);

  /// Gives value `to` what value `from` has.
  void copy(uint32_t to, uint32_t from);

private:
  /// One slot of a value that the host has used. The host's bytes and the
  /// device's are the same unless one of them is newer.
  struct Mirror {
    enum { None, Host, Device } newer = None;
    std::unique_ptr<char[]> bytes;
  };

  char *place(uint32_t index) const;
  Mirror &mirrorOf(uint32_t index) {
    return mirrors[firstMirrors[index] + slotOf(index)];
  }

  const hone_schedule &schedule;
  Device &device;
  char *arena;
  /// Empty on a host-visible device, else by value and slot.
  std::vector<Mirror> mirrors;
  std::vector<uint64_t> firstMirrors; ///< by value
};

} // namespace hone::rt

#endif
