//===- Values.h - The values of a schedule, on both sides -----------------===//
//
// Entries use values in the device's memory; scalar functions, conditions,
// checks, settings, reports and exchanges use them in the host's. Where the
// host does not see the device's memory a value that both use is copied when
// the side that did not write it last reads it, and never otherwise. Numbers
// that the host wrote and that stand beside it go along: one copy for all.
//
// The host waits for the device wherever it reads numbers that the device
// wrote. So a scalar function of such numbers is postponed: it is called after
// the next wait, which fetches the operands of all postponed ones. That wait
// comes before anything needs their results, or writes over their operands.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "device/Device.h"
#include "hone/runtime.h"

#include <cstdint>
#include <vector>

namespace hone::rt {

class Values {
public:
  static constexpr uint32_t maxDepth = 4;
  /// Bytes of a scalar, at most, as hone::isScalar has it: without rows, and
  /// the plan lets it share its place with no other value of the schedule.
  static constexpr uint64_t scalarBytes = 64;

  /// `arena` is the device's. Allocates the host's memory beside it.
  Values(const hone_schedule &schedule, Device &device, char *arena);

  /// Bytes that the host takes only because it does not see the device's
  /// memory.
  uint64_t hostBytes() const {
    return bytes.size() + mirrors.size() * (sizeof(Mirror) + sizeof(CopyOut)) +
           (mirrorIndex.size() + firstSlots.size()) * sizeof(uint64_t) +
           postponed.capacity() * sizeof(Call) +
           operands.capacity() * sizeof(char *);
  }

  /// Of the repeats that surround the item which runs, outermost first. They
  /// say which slot of a value is meant.
  int64_t iterations[maxDepth] = {};

  uint64_t slotOf(uint32_t index) const;

  /// Write is to write all of the value; its old contents are undefined.
  enum class Use { Read, Write };
  /// Where value `index` is for the host, if an item, a setting or a report
  /// says that the host uses it, and for the device.
  char *onHost(uint32_t index, Use use);
  char *onDevice(uint32_t index, Use use);

  /// Copies value `from` to value `to`.
  void copy(uint32_t to, uint32_t from);

  /// Postpones run(&frame, ...) if it reads numbers that the host would have to
  /// wait for; false: it is to be called now. Of the `count` values, which the
  /// host uses, those from `firstResult` on are its results.
  bool postpone(hone_entry_fn run, const hone_frame &frame,
                const uint32_t *indices, uint32_t count, uint32_t firstResult);
  /// Makes the postponed calls, after one wait for all their operands.
  void settle();

private:
  static constexpr uint64_t noMirror = ~uint64_t(0);

  /// One slot of a value that the host uses. The host's bytes and the device's
  /// are the same unless one of them is newer; at first it is the device's.
  struct Mirror {
    /// Fetched: the device's, which the next wait brings. Postponed: the
    /// host's, once the postponed calls are made.
    enum { None, Host, Device, Fetched, Postponed } newer = Device;
    uint64_t slot; ///< among those of all values
    char *place;   ///< on the device
    char *bytes;   ///< on the host
    uint64_t size;
    bool isScalar;
    bool isRead = false; ///< by a postponed call
  };
  /// A function that is postponed, or without one a copy.
  struct Call {
    hone_entry_fn run;
    const hone_frame *frame;
    uint64_t bytes; ///< of a copy
    uint32_t count; ///< of operands
  };

  char *place(uint32_t index) const;
  /// Null if the host does not use the value.
  Mirror *mirrorOf(uint32_t index);
  /// Whether the host has newer numbers at both, side by side on both sides.
  static bool travelTogether(const Mirror &mirror, const Mirror &next);
  void copyIn(Mirror &mirror);
  void reserveCalls();
  bool hasRoom(uint32_t count) const;
  void append(const Call &call, const uint32_t *indices, uint32_t firstResult);
  /// The next wait brings it, if the device's is newer.
  void fetch(Mirror &mirror);
  /// Before anything but a postponed call writes it.
  void settleReadsOf(const Mirror &mirror);

  const hone_schedule &schedule;
  Device &device;
  char *arena;
  /// Empty on a host-visible device, else by place.
  std::vector<Mirror> mirrors;
  std::vector<char> bytes; ///< the mirrors'
  /// The mirror of each value and slot, and the place of a value's first.
  std::vector<uint64_t> mirrorIndex, firstSlots;
  std::vector<CopyOut> fetched; ///< by the next wait, each mirror once
  std::vector<Call> postponed;  ///< in the order of their items
  std::vector<char *> operands; ///< of one call after another
};

} // namespace hone::rt
