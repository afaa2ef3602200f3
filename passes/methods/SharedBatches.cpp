//===- SharedBatches.cpp - Whether ranks may share a schedule's batches ---===//

#include "passes/methods/SharedBatches.h"

#include "passes/place/SchedulePlacement.h"

#include "llvm/ADT/DenseSet.h"

using namespace mlir;

namespace hone {

namespace {

/// Values that follow from the results of runs in one repeat.
class Followers {
public:
  explicit Followers(RepeatOp repeat) {
    repeat.getBody().walk([&](RunOp run) { addAll(run.getResults()); });
    // A carried value may follow from an iteration before.
    size_t before;
    do {
      before = found.size();
      repeat->walk([&](Operation *op) { follow(op); });
    } while (found.size() != before);
  }
  bool has(Value value) const { return found.contains(value); }

private:
  void addAll(ValueRange values) { found.insert(values.begin(), values.end()); }
  void follow(Operation *op) {
    if (auto scalar = dyn_cast<ScalarOp>(op)) {
      if (llvm::any_of(scalar.getOperands(), [&](Value v) { return has(v); }))
        addAll(scalar.getResults());
      return;
    }
    auto repeat = dyn_cast<RepeatOp>(op);
    if (!repeat)
      return;
    mlir::Block &body = repeat.getBody().front();
    for (auto [begin, argument, yielded, result] : llvm::zip_equal(
             repeat.getCarried(), body.getArguments(),
             body.getTerminator()->getOperands(), repeat.getResults()))
      if (has(begin) || has(yielded))
        addAll({argument, result});
  }

  llvm::DenseSet<Value> found;
};

} // namespace

static LogicalResult checkMayShare(RepeatOp repeat) {
  if (repeat.getNumStages() > 1)
    return repeat.emitOpError("expects no stages where ranks share batches");
  const Followers followers(repeat);
  LogicalResult status = success();
  repeat.getBody().walk([&](RunOp run) {
    for (Value value : run->getOperands())
      if (followers.has(value))
        status =
            run.emitOpError("expects nothing that depends on the results of "
                            "a run, since ranks share the batches");
    for (Value result : run.getResults())
      if (!isScalar(result.getType()))
        status = run.emitOpError("expects a few numbers for results, since "
                                 "ranks share the batches");
  });
  return status;
}

LogicalResult checkMayShare(ScheduleOp schedule) {
  LogicalResult status = success();
  schedule.walk([&](RepeatOp repeat) {
    mlir::Block &body = repeat.getBody().front();
    if (llvm::any_of(body, [](Operation &op) { return isa<LoadOp>(op); }) &&
        failed(checkMayShare(repeat)))
      status = failure();
  });
  return status;
}

} // namespace hone
