//===- Batch.h - Samples as the generated code reads them -----------------===//
//
// The sequences of a batch lie one after another in the rows of the
// input slots, without padding. A row's position is its distance from
// sequence_starts, and attention never crosses that row.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "base/Philox.h"
#include "device/Device.h"
#include "module/Module.h"
#include "step/SampleSource.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace hone::rt {

/// The input slots, and how far they are filled. Where the host does not see
/// the device's memory a batch is assembled beside it and copied once: nothing
/// else lies between the slots.
class Batch {
public:
  Batch(const Module &module, Device &device);

  /// Begins a batch. `base`: from where the module's slots count, an address of
  /// the device. `key` is common to the batch's random streams.
  void begin(char *base, const RandomStream::Key &key = {});

  /// Appends a sample. The samples of a batch must fit in max_rows.
  void append(const Sample &sample);

  /// Appends `count` tokens after `past` others of their sequence, which are
  /// in no row.
  void appendContinuation(const int32_t *ids, int64_t count, int64_t past);

  /// Ends the batch, which is then on the device. Returns its rows.
  int64_t finish();

  /// Bytes that the host takes only because it does not see the device's
  /// memory.
  uint64_t hostBytes() const { return assembled.size(); }

  /// How many tokens of `sample` have a target.
  static uint64_t countTargets(const Sample &sample);

private:
  /// Where the host has slot `offset`; null for an input that is not read.
  int32_t *at(std::optional<uint64_t> offset);

  const Module &module;
  Device &device;
  uint64_t first = 0;          ///< offset of the first slot
  std::vector<char> assembled; ///< all slots; empty on a host-visible device
  char *base = nullptr;
  /// Of the next row.
  int32_t *inputIds = nullptr, *targets = nullptr, *sequenceStarts = nullptr;
  int64_t filled = 0;
};

} // namespace hone::rt
