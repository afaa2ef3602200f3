//===- SelectLayers.cpp - test-select-layers ------------------------------===//

#include "test/lib/TestPasses.h"

#include "passes/selection/SelectLayers.h"

using namespace mlir;
using namespace hone;

namespace {

struct SelectLayers : PassWrapper<SelectLayers, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(SelectLayers)

  SelectLayers() = default;
  SelectLayers(const SelectLayers &other) : PassWrapper(other) {}

  StringRef getArgument() const override { return "test-select-layers"; }
  StringRef getDescription() const override {
    return "what hone-schedule-step does to a gradient of some layers, without "
           "a schedule";
  }

  void runOnOperation() override {
    for (ScheduleOp schedule : getOperation().getOps<ScheduleOp>()) {
      schedule.emitOpError("runs entries as they are: select layers before "
                           "hone-schedule-step");
      return signalPassFailure();
    }
    std::optional<int64_t> wanted;
    if (slots > 0)
      wanted = slots;
    for (EntryOp entry : getOperation().getOps<EntryOp>())
      if (entry.getPhase() == Phase::Gradient &&
          failed(
              selectLayers(entry, selectedNumbers(entry, slots > 0), wanted)))
        return signalPassFailure();
  }

  Option<int64_t> slots{*this, "slots", llvm::cl::init(1),
                        llvm::cl::desc("slots of the pool; 0: the cotangent "
                                       "goes exactly through all layers")};
};

} // namespace

std::unique_ptr<Pass> hone::createSelectLayers(int64_t slots) {
  auto pass = std::make_unique<SelectLayers>();
  pass->slots = slots;
  return pass;
}

void hone::registerTestPasses() {
  PassRegistration<SelectLayers>();
  registerSetMethod();
  registerEditExchange();
}
