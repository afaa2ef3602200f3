//===- ScheduleStep.cpp - hone-schedule-step ------------------------------===//

#include "passes/Passes.h"
#include "passes/methods/Methods.h"
#include "passes/methods/SharedBatches.h"
#include "passes/methods/StepSettings.h"
#include "passes/selection/SelectLayers.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace hone {

#define GEN_PASS_DEF_SCHEDULESTEP
#include "passes/Passes.h.inc"

namespace {
struct ScheduleStep : impl::ScheduleStepBase<ScheduleStep> {
  using ScheduleStepBase::ScheduleStepBase;

  void runOnOperation() override {
    FailureOr<StepSettings> settings = StepSettings::read(getOperation());
    if (failed(settings))
      return signalPassFailure();
    // The attribute is for this pass alone.
    getOperation()->removeAttr(HoneDialect::getMethodAttrName());
    FailureOr<StepModel> model = StepModel::find(getOperation());
    if (failed(model))
      return signalPassFailure();
    FailureOr<LayerParts> cut = cutParts(*settings, model->loss);
    if (failed(cut) || failed(check(*settings, *model, *cut)))
      return signalPassFailure();
    std::vector<TrainedPart> parts;
    for (const rt::MethodSettings *own : settings->methods())
      parts.push_back({partOf(*settings, *own).str(), *own,
                       *findMethod(own->method), *cut, /*isCompared=*/false,
                       placeOf(*settings, *own),
                       /*isLate=*/settings->train.asynchronous});
    std::vector<TrainedPart> compared;
    if (settings->compares())
      compared.push_back({"", settings->train,
                          *findMethod(settings->train.compare), *cut,
                          /*isCompared=*/true});
    const rt::TrainSettings &train = settings->train;
    if (failed(scheduleStep(
            *model,
            createMethods(*model, parts,
                          {train.optimizer_in_backward, train.data_parallel}),
            createMethods(*model, compared, {}))))
      return signalPassFailure();
    if (train.data_parallel)
      for (ScheduleOp schedule : getOperation().getOps<ScheduleOp>())
        if (failed(checkMayShare(schedule)))
          return signalPassFailure();
  }

private:
  /// Checks that settings and model keep the rules of methods.
  LogicalResult check(const StepSettings &settings, const StepModel &model,
                      const LayerParts &cut) {
    std::optional<Problem> problem = findMethodProblem(
        settings, [&](const std::string &key) { return settings.isGiven(key); },
        [&](const rt::MethodSettings &own) {
          return countLayers(model.loss, cut, partOf(settings, own));
        });
    if (!problem)
      return success();
    return getOperation().emitError()
           << problem->setting.key() << ": " << problem->problem << "; "
           << problem->remedy;
  }
};
} // namespace

} // namespace hone
