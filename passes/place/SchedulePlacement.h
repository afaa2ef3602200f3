//===- SchedulePlacement.h - Memory for values that cross items -----------===//
//
// Entries are placed for themselves; here each run is one buffer, the working
// set of its entry, among the values that cross from item to item.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "passes/module/Schedule.h"
#include "passes/place/ArenaPlan.h"
#include "passes/place/PlacedRows.h"

namespace hone {

/// Whether a value of a schedule is so small that it has a place of its own in
/// the region of scalars, from the first item to the last.
bool isScalar(mlir::Type type);

/// Bytes from one slot of a value to the next.
int64_t slotBytes(mlir::Type type, PlacedRows rows);

/// Bytes that a run needs: the larger working set of its two entries.
int64_t workingSetBytes(RunOp run, const mlir::SymbolTable &symbols,
                        unsigned placement = 0);

/// Buffer `index` of each of `placements` as a slot, whose offset counts from
/// `base` and which is `count` slots of one size.
SlotAttr slotOf(mlir::Builder &builder,
                llvm::ArrayRef<std::vector<Buffer>> placements, size_t index,
                int64_t first, int64_t last, int64_t base = 0,
                int64_t count = 1);

class SchedulePlacement {
public:
  /// Entries have their hone.scratch_bytes.
  SchedulePlacement(Schedule schedule, llvm::ArrayRef<PlacedRows> rows);

  /// Batches in flight.
  int64_t batchSlots() const { return batches; }
  int64_t scalarBytes() const { return scalars; }

  /// Places everything and writes it down; returns the bytes used from `base`
  /// on in each placement. Scalars are placed from `scalarBase` on, batches
  /// from `batchBase` on, with `batchBytes` bytes each.
  llvm::SmallVector<int64_t> place(int64_t base, int64_t scalarBase,
                                   int64_t batchBase, int64_t batchBytes);

private:
  struct PlacedValue {
    mlir::Value value;
    llvm::SmallVector<int64_t> bytes; ///< of a slot, in each placement
    int64_t count;
    Schedule::Lifetime life;
    std::optional<size_t> buffer; ///< none: a scalar at `offset`, or a batch
    int64_t offset = 0;
  };
  void add(mlir::Value value);
  void addWorkingSet(RunOp run, const mlir::SymbolTable &symbols);

  size_t addBuffer(int64_t first, int64_t last, llvm::ArrayRef<int64_t> bytes);

  Schedule schedule;
  llvm::SmallVector<PlacedRows> rows;
  int64_t batches = 0, scalars = 0;
  std::vector<PlacedValue> values;
  llvm::SmallVector<std::vector<Buffer>> buffers; ///< of each placement
  /// Working sets of runs, and of a repeat's lanes, which runs share.
  llvm::DenseMap<mlir::Operation *, size_t> workingSets;
  llvm::DenseMap<std::pair<mlir::Operation *, int64_t>, size_t> lanes;
};

} // namespace hone
