//===- Schedule.h - The step's items, as passes ask for them --------------===//
//
// The one place that knows how a module says what runs when. Passes ask for
// entries by purpose, never by name.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "dialects/Hone/HoneOps.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace hone {

/// The forward entry that returns the loss, one tensor<f64>. Fails with a
/// diagnostic if there is none, or more than one.
mlir::FailureOr<EntryOp> findLossEntry(mlir::ModuleOp module);
/// The entry of the phase `gradient`. Fails with a diagnostic if there is none.
mlir::FailureOr<EntryOp> findGradientEntry(mlir::ModuleOp module);

class Schedule {
public:
  /// One item, in the order of the text.
  struct Item {
    mlir::Operation *op;
    RepeatOp repeat; ///< whose body it is in; null outside
    int64_t stage;
    int64_t position; ///< counted over all items, repeats and yields included
  };

  explicit Schedule(ScheduleOp op);
  /// The schedule of `purpose`, if the module has one.
  static std::optional<Schedule> find(mlir::ModuleOp module, Purpose purpose);

  ScheduleOp getOp() const { return op; }
  llvm::ArrayRef<Item> items() const { return list; }
  const Item &itemOf(mlir::Operation *op) const { return list[index.at(op)]; }

  /// The entries that it runs, those of `else` too, each once, in order.
  llvm::SmallVector<EntryOp> entries() const;

  /// From where `value` is made to where it is last read, in positions. A value
  /// that a repeat carries or reads from outside is in use for the whole
  /// repeat. So is a value that crosses stages, since iterations overlap, and
  /// every value in a repeat with lanes, whose items overlap.
  struct Lifetime {
    int64_t first, last;
  };
  Lifetime lifetime(mlir::Value value) const;

  /// Whether runs of `repeat` may overlap.
  static bool hasLanes(RepeatOp repeat);

  /// How many iterations hold `value` at once: from the stage that makes it to
  /// the last that reads it, both counted.
  int64_t slotCount(mlir::Value value) const;

private:
  /// The last position in `repeat`, its own included.
  int64_t endOf(RepeatOp repeat) const;

  ScheduleOp op;
  llvm::SmallVector<Item> list;
  llvm::DenseMap<mlir::Operation *, size_t> index;
};

/// The inputs of a batch, by name: those that blocks read, and those that
/// schedules exchange for other parts. Calls `visit` for each place, so a name
/// may come again.
void forEachInput(
    mlir::ModuleOp module,
    llvm::function_ref<void(mlir::Operation *, llvm::StringRef, mlir::Type)>
        visit);

/// The entries that `run` may run: its own, and that of `else`.
llvm::SmallVector<EntryOp, 2> entriesOf(RunOp run,
                                        const mlir::SymbolTable &symbols);

/// The entries of a training step in the order in which they run: those of the
/// schedule, or all of a module that has none.
llvm::SmallVector<EntryOp> entriesOfStep(mlir::ModuleOp module);

/// Calls `visit` for each call of `entry` with each block that it may run.
/// Fails with a diagnostic if there is no such block.
mlir::LogicalResult
forEachCall(EntryOp entry, const mlir::SymbolTable &symbols,
            llvm::function_ref<void(CallOp, BlockOp)> visit);

} // namespace hone
