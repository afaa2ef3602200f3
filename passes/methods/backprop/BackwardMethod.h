//===- BackwardMethod.h - Training by the gradient of a backward ----------===//

#pragma once

#include "passes/methods/StepMethod.h"
#include "passes/selection/LayerSelection.h"

namespace hone {

/// How a step with a backward may be changed.
struct BackwardOptions {
  bool inBackward = false;    ///< updates follow each layer's backward
  bool sharesBatches = false; ///< ranks may share the batches of a step
};

/// The backward of the gradient's entry, which all of `parts` have in common,
/// with all layers or some that are selected before a step.
class BackwardMethod : public StepMethod {
public:
  BackwardMethod(StepModel &model, llvm::ArrayRef<TrainedPart> parts,
                 BackwardOptions options);

  mlir::LogicalResult createEntries() override;
  llvm::SmallVector<Value> begin(ScheduleBuilder &b) override;
  llvm::SmallVector<Value> addBatch(ScheduleBuilder &b, Value batch,
                                    ValueRange carried) override;
  Value end(ScheduleBuilder &b, ValueRange carried) override;
  void appendChecked(ScheduleBuilder &b, llvm::SmallVector<Value> &) override;
  void update(ScheduleBuilder &b) override;
  void report(ScheduleBuilder &b) override;
  void writeGradient(ScheduleBuilder &) override {}
  bool isLossClean() const override { return true; }
  llvm::SmallVector<Value> evaluationArguments(ScheduleBuilder &b) override;
  bool trainsAlone() const override { return options.inBackward; }
  mlir::LogicalResult scheduleTraining() override;

private:
  /// Some of the layers, with an optimizer of their own.
  struct Part {
    explicit Part(TrainedPart trained) : trained(std::move(trained)) {}

    /// Layers that are updated only if they are selected; empty: all.
    llvm::ArrayRef<llvm::StringRef> conditionalLayers() const {
      return selection ? selection->conditionalLayers()
                       : llvm::ArrayRef<llvm::StringRef>();
    }
    /// Prefixes that every update is of, beside them.
    llvm::ArrayRef<llvm::StringRef> alwaysLayers() const {
      return selection ? selection->alwaysLayers()
                       : llvm::ArrayRef<llvm::StringRef>();
    }

    TrainedPart trained;
    std::optional<LayerSelection> selection; ///< none: all in every step
    EntryOp squares, update;
    /// Values of the schedule that is written.
    Value squaresNow, length, rate;
  };

  bool updates() const { return !parts.front().trained.isCompared; }
  /// The gradient's entry; a copy for a compared method.
  mlir::FailureOr<EntryOp> findGradient();
  mlir::LogicalResult selectLayers();
  /// The name of the entry that zeroes the gradient.
  std::string zeroName() const;
  /// The names of all entries that createEntries() adds.
  std::vector<std::string> entryNames() const;
  /// Copies of the gradient's entry that update.
  void createUpdatingEntries();
  /// The entries of `part` that a step runs after the gradient's entry.
  void createPartEntries(Part &part);
  /// Evaluation runs a loss that has the layers of `part` scaled.
  mlir::LogicalResult scaleEvaluation(const Part &part);

  /// Makes the arguments of the gradient's entry beside its scale, for each
  /// part.
  void selectForStep(ScheduleBuilder &b);
  /// The arguments of the update of `part`, and the items that make them.
  llvm::SmallVector<Value> updateScalars(ScheduleBuilder &b, Part &part,
                                         Value clip, Value rate);
  Value runGradient(ScheduleBuilder &b, ValueRange more, Value batch);

  StepModel &model;
  std::vector<Part> parts;
  BackwardOptions options;
  EntryOp zero;
  EntryOp gradient; ///< of the layers that are selected, if any are
  EntryOp ofAll;    ///< of all of them, in a warm-up; null: there is none
  /// The same where they update.
  EntryOp updating, updatingAll;
  /// Values of the schedule that is written.
  Value scale, yes, isWarm;
  llvm::SmallVector<Value> selected;
};

} // namespace hone
