//===- Schedule.cpp - The step's items, as passes ask for them ------------===//

#include "passes/module/Schedule.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace hone {

FailureOr<EntryOp> findLossEntry(ModuleOp module) {
  EntryOp found;
  for (EntryOp entry : module.getOps<EntryOp>()) {
    ArrayRef<Type> results = entry.getResultTypes();
    if (entry.getPhase() != Phase::Forward || results.size() != 1 ||
        results.front() != scalarType(module.getContext()))
      continue;
    if (!found) {
      found = entry;
      continue;
    }
    InFlightDiagnostic diag =
        entry.emitOpError("returns a tensor<f64>, as another entry does: which "
                          "is the loss?");
    diag.attachNote(found.getLoc()) << "the other one is here";
    return diag;
  }
  if (!found)
    return module.emitError("expects a forward 'hone.entry' that returns the "
                            "loss, a tensor<f64>");
  return found;
}

FailureOr<EntryOp> findGradientEntry(ModuleOp module) {
  for (EntryOp entry : module.getOps<EntryOp>())
    if (entry.getPhase() == Phase::Gradient)
      return entry;
  return module.emitError("expects an entry of the phase 'gradient'; run "
                          "hone-derive-backward first");
}

void forEachInput(ModuleOp module,
                  function_ref<void(Operation *, StringRef, Type)> visit) {
  auto visitAll = [&](Operation *op, DictionaryAttr inputs) {
    for (NamedAttribute input : inputs)
      visit(op, input.getName(), cast<TypeAttr>(input.getValue()).getValue());
  };
  module.walk([&](Operation *op) {
    if (auto input = dyn_cast<InputOp>(op))
      visit(op, input.getName(), input.getType());
    else if (auto send = dyn_cast<SendOp>(op); send && send.getInputs())
      visitAll(op, *send.getInputs());
    else if (auto receive = dyn_cast<ReceiveOp>(op);
             receive && receive.getInputs())
      visitAll(op, *receive.getInputs());
  });
}

Schedule::Schedule(ScheduleOp op) : op(op) {
  auto add = [&](Operation *item, RepeatOp repeat) {
    auto staged = dyn_cast<ItemOpInterface>(item);
    index[item] = list.size();
    list.push_back({item, repeat, staged ? staged.getItemStage() : 0,
                    static_cast<int64_t>(list.size())});
  };
  for (Operation &item : op.getBody().front()) {
    add(&item, {});
    item.walk<WalkOrder::PreOrder>([&](Operation *inner) {
      if (inner != &item)
        add(inner, inner->getParentOfType<RepeatOp>());
    });
  }
}

std::optional<Schedule> Schedule::find(ModuleOp module, Purpose purpose) {
  for (ScheduleOp op : module.getOps<ScheduleOp>())
    if (op.getPurpose() == purpose)
      return Schedule(op);
  return std::nullopt;
}

SmallVector<EntryOp> Schedule::entries() const {
  SymbolTable symbols(ScheduleOp(op)->getParentOp());
  llvm::SetVector<EntryOp> entries;
  for (const Item &item : list) {
    if (auto run = dyn_cast<RunOp>(item.op))
      entries.insert_range(entriesOf(run, symbols));
  }
  return entries.takeVector();
}

int64_t Schedule::endOf(RepeatOp repeat) const {
  return itemOf(repeat.getBody().front().getTerminator()).position;
}

/// The op in the body that `op` stands in, directly or deeper; null if none is.
static Operation *ancestorIn(mlir::Block *body, Operation *op) {
  return body->findAncestorOpInBlock(*op);
}

Schedule::Lifetime Schedule::lifetime(Value value) const {
  mlir::Block *body = value.getParentBlock();
  auto repeat = dyn_cast<RepeatOp>(body->getParentOp());
  bool isCarried = isa<BlockArgument>(value);
  if (repeat && (isCarried || slotCount(value) > 1 || hasLanes(repeat)))
    return {itemOf(repeat).position, endOf(repeat)};
  Operation *maker = value.getDefiningOp();
  Lifetime life{itemOf(maker).position, itemOf(maker).position};
  if (auto made = dyn_cast<RepeatOp>(maker))
    life.last = endOf(made);
  for (Operation *user : value.getUsers()) {
    Operation *outer = ancestorIn(body, user);
    auto inside = dyn_cast<RepeatOp>(outer);
    life.last =
        std::max(life.last, inside ? endOf(inside) : itemOf(outer).position);
  }
  return life;
}

bool Schedule::hasLanes(RepeatOp repeat) {
  auto runs = repeat.getBody().getOps<RunOp>();
  return llvm::any_of(runs, [&](RunOp run) {
    return run.getLane() != (*runs.begin()).getLane();
  });
}

int64_t Schedule::slotCount(Value value) const {
  Operation *maker = value.getDefiningOp();
  if (!maker || !isa<RepeatOp>(maker->getParentOp()))
    return 1;
  int64_t last = itemOf(maker).stage;
  for (Operation *user : value.getUsers()) {
    Operation *item = ancestorIn(maker->getBlock(), user);
    if (!isa<YieldOp>(item))
      last = std::max(last, itemOf(item).stage);
  }
  return last - itemOf(maker).stage + 1;
}

SmallVector<EntryOp, 2> entriesOf(RunOp run, const SymbolTable &symbols) {
  SmallVector<EntryOp, 2> entries = {symbols.lookup<EntryOp>(run.getEntry())};
  if (run.getOtherwise())
    entries.push_back(symbols.lookup<EntryOp>(*run.getOtherwise()));
  return entries;
}

SmallVector<EntryOp> entriesOfStep(ModuleOp module) {
  if (std::optional<Schedule> schedule = Schedule::find(module, Purpose::Train))
    return schedule->entries();
  return SmallVector<EntryOp>(module.getOps<EntryOp>());
}

LogicalResult forEachCall(EntryOp entry, const SymbolTable &symbols,
                          function_ref<void(CallOp, BlockOp)> visit) {
  for (CallOp call : entry.getBodyBlock().getOps<CallOp>())
    for (FlatSymbolRefAttr callee : call.getCallees()) {
      auto block = symbols.lookup<BlockOp>(callee.getValue());
      if (!block)
        return call.emitOpError("expects '")
               << callee.getValue() << "' to be a 'hone.block'";
      visit(call, block);
    }
  return success();
}

} // namespace hone
