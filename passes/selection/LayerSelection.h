//===- LayerSelection.h - The layers of a part that a step selects --------===//
//
// The numbers that a schedule computes for a selection: the mask that the
// gradient's entry takes, the layers' numbers from the steps before, and the
// layers that an update is of. docs/methods/lcsb.md has the formulas.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "passes/methods/StepMethod.h"
#include "passes/selection/SelectLayers.h"
#include "passes/selection/SelectionRule.h"

#include <optional>

namespace hone {

class LayerSelection {
public:
  using Value = mlir::Value;

  /// The selection that the settings of `part` ask for; they keep their rules.
  /// Fails with a diagnostic.
  static mlir::FailureOr<LayerSelection> read(StepModel &model,
                                              const TrainedPart &part);

  const SelectionRule &rule() const { return own; }
  /// The slots of the gradient's entry, for selectLayers().
  std::optional<int64_t> slots() const { return inputs; }
  /// The numbers that selectLayers() adds to that entry's arguments, before
  /// begin().
  void setNumbers(llvm::ArrayRef<LayerNumbers> numbers) {
    wantedNumbers.assign(numbers.begin(), numbers.end());
  }
  llvm::ArrayRef<llvm::StringRef> layers() const { return prefixes; }
  /// Layers that are updated only if they are selected; empty: all.
  llvm::ArrayRef<llvm::StringRef> conditionalLayers() const {
    return updatesAll ? llvm::ArrayRef<llvm::StringRef>() : prefixes;
  }
  /// Prefixes of no layer that train beside those: every update is of them.
  llvm::ArrayRef<llvm::StringRef> alwaysLayers() const { return always; }
  /// Names of the entries that createEntries() adds.
  llvm::SmallVector<std::string> names() const;
  void createEntries(const StepModel &model);

  /// Items before the batches.
  void begin(ScheduleBuilder &b);
  /// The arguments of the gradient's entry for this part, after begin().
  llvm::ArrayRef<Value> arguments() const { return values; }
  /// Not zero after the warm-up; null: there is none.
  Value isPast() const { return past; }
  /// Items before the updates, and which layers these are of.
  UpdatedLayers beginUpdates(ScheduleBuilder &b);
  /// After begin(); `squares`: sums of each parameter's squares.
  void average(ScheduleBuilder &b, Value squares);
  void report(ScheduleBuilder &b);
  /// The arguments that scaleLayers() adds to the loss, if forwards are
  /// skipped.
  llvm::SmallVector<Value> evaluationWeights(ScheduleBuilder &b) const;

private:
  explicit LayerSelection(const TrainedPart &part)
      : part(part), own(SelectionRule::of(part.settings)) {}

  /// Where the parameters of each layer are among those of the part.
  mlir::LogicalResult findRanges(StepModel &model);
  std::string setting(llvm::StringRef name) const { return part.symbol(name); }
  bool restartsState() const { return own.kind == SelectionRule::Kind::Badam; }
  bool averages() const { return own.kind == SelectionRule::Kind::Importance; }
  Value ratio(ScheduleBuilder &b);
  void makeNumbers(ScheduleBuilder &b);

  TrainedPart part;
  SelectionRule own;
  llvm::SmallVector<llvm::StringRef> prefixes, always;
  llvm::SmallVector<ParameterRange> ranges;  ///< if gradients are averaged
  llvm::SmallVector<double> numbersOfLayers; ///< in the model, from 0
  llvm::SmallVector<LayerNumbers> wantedNumbers;
  std::optional<int64_t> inputs;
  bool updatesAll = true;
  mlir::Type integers, floats; ///< one for each layer
  EntryOp zeroState;
  /// Values of the schedule that is written.
  Value mask, past, importance, selected, counts;
  llvm::SmallVector<Value> values;
};

} // namespace hone
