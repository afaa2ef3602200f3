//===- EraseUnused.cpp - hone-erase-unused --------------------------------===//

#include "passes/Passes.h"
#include "passes/module/Schedule.h"

#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace hone {

#define GEN_PASS_DEF_ERASEUNUSED
#include "passes/Passes.h.inc"

namespace {

struct EraseUnused : impl::EraseUnusedBase<EraseUnused> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    llvm::DenseSet<Operation *> runs;
    for (ScheduleOp schedule : module.getOps<ScheduleOp>())
      for (EntryOp entry : Schedule(schedule).entries())
        runs.insert(entry);
    bool hasSchedule = !module.getOps<ScheduleOp>().empty();
    for (EntryOp entry : llvm::make_early_inc_range(module.getOps<EntryOp>()))
      if (hasSchedule && !runs.contains(entry))
        entry.erase();
    llvm::StringSet<> called;
    module.walk([&](CallOp call) {
      for (FlatSymbolRefAttr callee : call.getCallees())
        called.insert(callee.getValue());
    });
    for (BlockOp block : llvm::make_early_inc_range(module.getOps<BlockOp>()))
      if (!called.contains(block.getName()))
        block.erase();
  }
};

} // namespace
} // namespace hone
