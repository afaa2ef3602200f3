//===- StepMethod.h - A training method's part in a step ------------------===//
//
// A step is one or several methods, each for some of the layers, on the same
// batches: every method has its say for a batch, then the next batch is loaded.
// All estimates are at the parameters that the step began with, since updates
// come last; so methods know nothing of each other (HOSL, Liu et al. 2025, the
// order of phases 1 to 3).
//
//===----------------------------------------------------------------------===//

#pragma once

#include "passes/derive/PerturbParameters.h"
#include "passes/derive/ScheduleBuilder.h"
#include "passes/derive/TangentCopy.h"
#include "passes/methods/Method.h"
#include "passes/module/Layers.h"
#include "passes/parts/LayerParts.h"

#include <memory>

namespace hone {

/// The model that a step trains, and the derived entries that methods share.
struct StepModel {
  mlir::ModuleOp module;
  EntryOp loss;             ///< without arguments
  EntryOp evaluated = loss; ///< evaluation runs it
  ParameterTable parameters;
  Layers layers;
  PerturbedCopies perturbed = {};
  TangentCopies tangents = {};

  /// Fails with a diagnostic if the module has no such loss.
  static mlir::FailureOr<StepModel> find(mlir::ModuleOp module);

  /// A number for each trainable parameter of `prefixes`; null: of all.
  mlir::Type perParameter(mlir::ArrayAttr prefixes = {}) const;
};

/// The layers that one method trains, and how.
struct TrainedPart {
  std::string name; ///< empty: all layers
  const rt::MethodSettings &settings;
  const Method &method;
  const LayerParts &cut; ///< of the model
  /// Another method trains: of this one there is a gradient, and no update.
  bool isCompared = false;
  size_t place = 0; ///< among the parts, from the lowest
  /// Modules of the model update some steps late, see LateOp.
  bool isLate = false;

  Optimizer optimizer() const;
  bool has(llvm::StringRef prefix) const { return cut.has(name, prefix); }
  /// "lower.update", "compare.selection_ratio"
  std::string symbol(llvm::StringRef of) const {
    llvm::StringRef prefix = isCompared ? "compare" : llvm::StringRef(name);
    return ((prefix.empty() ? "" : prefix + ".") + of).str();
  }
  /// The layers that train, for ops that are `on` some; null: all of them.
  mlir::ArrayAttr prefixes(const StepModel &model) const;
};

class StepMethod {
public:
  using Value = mlir::Value;
  using ValueRange = mlir::ValueRange;

  virtual ~StepMethod() = default;

  /// Adds the entries that items run; of a method that is compared, none that
  /// update. Fails with a diagnostic.
  virtual mlir::LogicalResult createEntries() = 0;

  /// Items before the batches; returns the values that these carry.
  virtual llvm::SmallVector<Value> begin(ScheduleBuilder &b) = 0;
  virtual llvm::SmallVector<Value> addBatch(ScheduleBuilder &b, Value batch,
                                            ValueRange carried) = 0;
  /// Items after the batches; returns the mean loss over target tokens.
  virtual Value end(ScheduleBuilder &b, ValueRange carried) = 0;
  /// Where modules update late: later items are of the step whose update is
  /// made; returns that step's loss, from `loss`, this step's.
  virtual Value makeLate(ScheduleBuilder &, Value loss) { return loss; }
  /// Values, beside the loss, that must be finite before there is an update.
  virtual void appendChecked(ScheduleBuilder &b,
                             llvm::SmallVector<Value> &checked) = 0;
  virtual void update(ScheduleBuilder &b) = 0;
  /// The reports of a step beside the loss.
  virtual void report(ScheduleBuilder &b) = 0;
  /// Puts the gradient of its layers into memory.
  virtual void writeGradient(ScheduleBuilder &b) = 0;

  /// The arguments of the evaluated loss for this method.
  virtual llvm::SmallVector<Value> evaluationArguments(ScheduleBuilder &) {
    return {};
  }

  /// Whether the loss that `end` returns is of the step's parameters.
  virtual bool isLossClean() const = 0;
  /// Whether it has a schedule of its own that trains, with no other method.
  virtual bool trainsAlone() const { return false; }
  virtual mlir::LogicalResult scheduleTraining();
  /// The update again, from the reports of a step without other methods.
  virtual mlir::LogicalResult scheduleReplay();
};

/// Adds the schedules of a step of `methods`, and of the gradient of
/// `compared`, if there is one. Fails with a diagnostic.
mlir::LogicalResult
scheduleStep(const StepModel &model,
             llvm::ArrayRef<std::unique_ptr<StepMethod>> methods,
             llvm::ArrayRef<std::unique_ptr<StepMethod>> compared = {});

} // namespace hone
