//===- ScheduleStep.cpp - hone-schedule-step ------------------------------===//

#include "passes/Passes.h"
#include "passes/methods/Methods.h"
#include "passes/methods/StepMethod.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace hone {

#define GEN_PASS_DEF_SCHEDULESTEP
#include "passes/Passes.h.inc"

namespace {
struct ScheduleStep : impl::ScheduleStepBase<ScheduleStep> {
  using ScheduleStepBase::ScheduleStepBase;

  void runOnOperation() override {
    FailureOr<std::vector<TrainedPart>> parts = readParts();
    if (failed(parts) || failed(checkCompared(*parts)))
      return signalPassFailure();
    FailureOr<StepModel> model = StepModel::find(getOperation());
    if (failed(model))
      return signalPassFailure();
    FailureOr<LayerParts> cut =
        LayerParts::cutFor(parts->front().name, model->loss, lowerLayers);
    if (failed(cut))
      return signalPassFailure();
    for (TrainedPart &part : *parts)
      part.cut = &*cut;
    auto methods = createMethods(
        *model, *parts, {inBackward, llvm::to_vector(ranks), rank.getValue()});
    auto compared = createCompared(*model, parts->front());
    if (failed(methods) || failed(compared) ||
        failed(scheduleStep(*model, *methods, *compared)))
      signalPassFailure();
  }

private:
  friend struct hone::MethodOptions; // reads the options, which are protected

  LogicalResult checkCompared(ArrayRef<TrainedPart> parts) {
    if (!compare.empty() && parts.size() > 1)
      return getOperation().emitError(
          "expects one method for all layers where another is compared");
    if (!compare.empty() && !ranks.empty())
      return getOperation().emitError(
          "expects no ranks where a method is compared: each would have the "
          "gradient of its own batches");
    return success();
  }

  /// The method that is compared; empty: there is none.
  FailureOr<SmallVector<std::unique_ptr<StepMethod>>>
  createCompared(StepModel &model, TrainedPart own) {
    if (compare.empty())
      return SmallVector<std::unique_ptr<StepMethod>>();
    own.options = comparedOptions(own.options, compare);
    own.isCompared = true;
    return createMethods(model, own, {});
  }

  FailureOr<std::vector<TrainedPart>> readParts() {
    std::vector<TrainedPart> parts;
    if (lower.empty() && upper.empty())
      parts.push_back({"", MethodOptions::of(*this)});
    else
      for (auto [name, text] : {std::pair(LayerParts::lower, &lower),
                                std::pair(LayerParts::upper, &upper)}) {
        FailureOr<MethodOptions> own = parseMethodOptions(*text);
        if (failed(own))
          return getOperation().emitError("expects options of a method but "
                                          "got '")
                 << *text << "'";
        parts.push_back({name.str(), *own});
      }
    for (TrainedPart &part : parts) {
      std::optional<Optimizer::Rule> rule =
          parseOptimizer(part.options.optimizer);
      if (!rule)
        return getOperation().emitError("expects optimizer to be one of sgd, "
                                        "sgd_momentum, adamw but got '")
               << part.options.optimizer << "'";
      part.optimizer = {*rule, part.options.rateOfB};
    }
    return parts;
  }
};
} // namespace

} // namespace hone
