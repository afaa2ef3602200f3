//===- SchedulePlacement.h - Memory for what crosses items ----------------===//
//
// Entries are placed for themselves; here each run is one buffer, the working
// set of its entry, among the values that cross from item to item.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "passes/module/Schedule.h"
#include "passes/place/ArenaPlan.h"

namespace hone {

/// Whether a value of a schedule is so small that it has a place of its own in
/// the region of scalars, from the first item to the last.
bool isScalar(mlir::Type type);

/// Bytes from one slot of a value to the next, for batches of `rows` rows.
int64_t slotBytes(mlir::Type type, int64_t rows);

/// What a run needs while it runs: the larger working set of its two entries.
int64_t workingSetBytes(RunOp run, const mlir::SymbolTable &symbols);

class SchedulePlacement {
public:
  /// Entries have their hone.scratch_bytes.
  SchedulePlacement(Schedule schedule, int64_t rows);

  /// Batches in flight.
  int64_t batchSlots() const { return batches; }
  int64_t scalarBytes() const { return scalars; }

  /// Places everything and writes it down; returns the bytes used from `base`
  /// on. Scalars are placed from `scalarBase` on, batches from `batchBase` on,
  /// with `batchBytes` bytes each.
  int64_t place(int64_t base, int64_t scalarBase, int64_t batchBase,
                int64_t batchBytes);

private:
  struct PlacedValue {
    mlir::Value value;
    int64_t bytes, count;
    Schedule::Lifetime life;
    std::optional<size_t> buffer; ///< none: a scalar at `offset`, or a batch
    int64_t offset = 0;
  };
  void add(mlir::Value value);
  void addWorkingSet(RunOp run, const mlir::SymbolTable &symbols);

  Schedule schedule;
  int64_t rows;
  int64_t batches = 0, scalars = 0;
  std::vector<PlacedValue> values;
  std::vector<Buffer> buffers;
  /// Of runs, and of the lanes of a repeat, which runs share.
  llvm::DenseMap<mlir::Operation *, size_t> workingSets;
  llvm::DenseMap<std::pair<mlir::Operation *, int64_t>, size_t> lanes;
};

} // namespace hone
