//===- ScheduleUpdate.cpp - hone-schedule-update --------------------------===//

#include "passes/Passes.h"

using namespace mlir;

namespace hone {

#define GEN_PASS_DEF_SCHEDULEUPDATE
#include "passes/Passes.h.inc"

namespace {

struct ScheduleUpdate : impl::ScheduleUpdateBase<ScheduleUpdate> {
  using ScheduleUpdateBase::ScheduleUpdateBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (optimizer != "sgd" && optimizer != "sgd_momentum" &&
        optimizer != "adamw") {
      module.emitError("expects optimizer to be one of sgd, sgd_momentum, "
                       "adamw but got '")
          << optimizer << "'";
      return signalPassFailure();
    }
    if (Operation *taken = SymbolTable(module).lookup("update")) {
      taken->emitOpError("has the name '@update', which scheduling defines; "
                         "give it another name");
      return signalPassFailure();
    }
    OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
    auto entry = EntryOp::create(builder, module.getLoc(), "update");
    builder.setInsertionPoint(entry.getBody().front().getTerminator());
    auto scalar = [&](StringRef name) -> Value {
      return InputOp::create(builder, module.getLoc(),
                             RankedTensorType::get({}, builder.getF64Type()),
                             name);
    };
    Value gradientScale = scalar("gradient_scale");
    Value learningRate = scalar("learning_rate");
    Value weightDecay = scalar("weight_decay");
    if (optimizer == "adamw") {
      Value beta1 = scalar("beta1"), beta2 = scalar("beta2");
      Value epsilon = scalar("epsilon");
      Value correction1 = scalar("bias_correction1");
      Value correction2 = scalar("bias_correction2");
      AdamwOp::create(builder, module.getLoc(), gradientScale, learningRate,
                      weightDecay, beta1, beta2, epsilon, correction1,
                      correction2);
      return;
    }
    Value momentum =
        optimizer == "sgd_momentum" ? scalar("momentum") : Value();
    SgdOp::create(builder, module.getLoc(), gradientScale, learningRate,
                  weightDecay, momentum);
  }
};

} // namespace
} // namespace hone
