//===- Batch.h - Samples as the generated code reads them -----------------===//
//
// The sequences of a batch lie one after another in the rows of the
// input slots, without padding. A row's position is its distance from
// sequence_starts, and attention never crosses that row.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_RUNTIME_STEP_BATCH_H
#define HONE_RUNTIME_STEP_BATCH_H

#include "base/Philox.h"
#include "device/Device.h"
#include "module/Module.h"
#include "step/SampleSource.h"

#include <cstdint>
#include <optional>

namespace hone::rt {

/// The input slots, and how far they are filled.
class Batch {
public:
  /// `base`: from where the module's slots count, an address of `device`. `key`
  /// is what the batch's random streams have in common.
  Batch(const Module &module, Device &device, char *base,
        const RandomStream::Key &key = {});

  /// Appends a sample. The samples of a batch must fit in max_rows.
  void append(const Sample &sample);

  /// Appends `count` tokens behind `past` others of their sequence, which are
  /// in no row.
  void appendContinuation(const int32_t *ids, int64_t count, int64_t past);

  int64_t rows() const { return filled; }

  /// How many tokens of `sample` have a target.
  static uint64_t countTargets(const Sample &sample);

private:
  /// Of the next row; nothing for what is not read.
  std::optional<MemoryView> inputIds, targets, sequenceStarts;
  int64_t filled = 0;
};

} // namespace hone::rt

#endif
