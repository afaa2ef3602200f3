//===- ProcessMemory.h - The memory of a process beside its arena ---------===//
//
// A sum of all memory that the program allocates and touches, so that honec can
// promise it before there is a program. A change that makes the program keep or
// build more adds it here; test/reliability/plans.py compares the sum with the
// kernel's account.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "module/Schedule.h"

#include <cstdint>

namespace hone::rt {

/// Of Values, one for each slot that it mirrors, and for each call that it may
/// postpone.
inline constexpr uint64_t MirrorBytes = 72, PostponedCallBytes = 32;

/// Of GradientSums, one for each trainable and group that is compared.
inline constexpr uint64_t GradientSumsBytes = 72;

/// Tensors, by their number and the bytes of all their names.
struct NamedTensors {
  uint64_t count = 0, nameBytes = 0;

  void add(uint64_t nameSize) { ++count, nameBytes += nameSize; }
};

/// The facts that decide the sum.
struct ProcessFacts {
  NamedTensors inFile;      ///< of the weights file
  NamedTensors trainables;  ///< hone_module::trainables
  uint64_t weights = 0;     ///< hone_module::weight_count
  bool writesModel = false; ///< the run's result is a model, not an adapter
  uint64_t items = 0;       ///< of all schedules
  uint64_t values = 0;      ///< of all schedules
  uint64_t compared = 0;    ///< layers whose gradients are compared
  uint64_t logits = 0;      ///< of a token, where the program generates text
  uint64_t positions = 0;   ///< of a text, likewise
  bool offloads = false;    ///< values rest in a file, for which is a thread
  uint64_t parts = 0;       ///< that have settings of their own
};

/// Anonymous memory, in bytes: the program's own, tables, and the largest need
/// of a phase.
uint64_t processBytes(const ProcessFacts &facts);

/// Resident pages of files that grow with the model and are no weights: the
/// program's tables, and the header of the weights file.
uint64_t mappedTableBytes(const ProcessFacts &facts);

/// The facts that decide the host's memory for the sake of a device.
struct DeviceFacts {
  uint64_t values = 0;        ///< in all schedules, each slot one
  uint64_t mirrors = 0;       ///< of those, at most how many the host uses
  uint64_t mirroredBytes = 0; ///< their bytes, each rounded up to 8
  PostponedCalls postponed;   ///< of all schedules
  uint64_t batchBytes = 0;    ///< the inputs of a batch
  uint64_t stagedBytes = 0;   ///< those that are exchanged, of all schedules
  /// It has memory of its own, to which copies have a way to go.
  bool hasOwnMemory = false;
};

/// Anonymous memory, in bytes, that a run has on the host only if its kernels
/// run on a device: mirrors of values, calls that are postponed, a batch while
/// it is assembled, and batches that are sent or received; for memory of its
/// own also pinned buffers on the way, and launches that become a graph. The
/// driver's own memory is not part of it.
uint64_t deviceHostBytes(const DeviceFacts &facts);

} // namespace hone::rt
