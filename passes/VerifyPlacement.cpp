//===- VerifyPlacement.cpp - hone-verify-placement ------------------------===//
//
// Reads slots as a stranger would: lifetimes come from the IR, not from what
// placement wrote. A broken rule is a bug of hone-place or of a pass that
// moved ops after it.
//
//===----------------------------------------------------------------------===//

#include "passes/Lifetimes.h"
#include "passes/Passes.h"

using namespace mlir;

namespace hone {

#define GEN_PASS_DEF_VERIFYPLACEMENT
#include "passes/Passes.h.inc"

namespace {

/// The slots of one body, checked one against the other.
class SlotCheck {
public:
  SlotCheck(mlir::Block &body, int64_t rows, int64_t base, int64_t limit)
      : lifetimes(body), rows(rows), base(base), limit(limit) {}

  LogicalResult results(Operation *op);
  LogicalResult workspace(Operation *op);
  LogicalResult scratch(CallOp call, int64_t bytes);

private:
  LogicalResult slot(Operation *op, Attribute attr, Buffer expected);

  Lifetimes lifetimes;
  int64_t rows, base, limit;
  std::vector<std::pair<Buffer, Operation *>> seen;
};

struct VerifyPlacement : impl::VerifyPlacementBase<VerifyPlacement> {
  void runOnOperation() override {
    if (failed(check(getOperation())))
      signalPassFailure();
  }

  static LogicalResult check(ModuleOp module) {
    auto rows = maxRows(module);
    auto arena = module->getAttrOfType<IntegerAttr>(
        HoneDialect::getArenaBytesAttrName());
    if (failed(rows))
      return failure();
    if (!arena)
      return module.emitError("expects the attribute '")
             << HoneDialect::getArenaBytesAttrName() << "'; run hone-place";
    int64_t base = 0;
    for (RegionOp region : module.getOps<RegionOp>()) {
      if (static_cast<int64_t>(region.getOffset()) < base)
        return region.emitOpError("overlaps the region before it");
      base = region.getOffset() + ArenaPlan::align(region.getBytes());
    }
    for (BlockOp block : module.getOps<BlockOp>()) {
      auto bytes = block->getAttrOfType<IntegerAttr>(
          HoneDialect::getScratchBytesAttrName());
      if (!bytes)
        return block.emitOpError("has no '")
               << HoneDialect::getScratchBytesAttrName() << "'";
      SlotCheck slots(block.getBody().front(), *rows, 0, bytes.getInt());
      for (Operation &op : block.getBody().front().without_terminator())
        if (failed(slots.results(&op)) || failed(slots.workspace(&op)))
          return failure();
    }
    SymbolTable symbols(module);
    for (EntryOp entry : module.getOps<EntryOp>()) {
      SlotCheck slots(entry.getBody().front(), *rows, base, arena.getInt());
      for (CallOp call : entry.getBody().getOps<CallOp>()) {
        auto bytes = symbols.lookup(call.getBlock())
                         ->getAttrOfType<IntegerAttr>(
                             HoneDialect::getScratchBytesAttrName());
        if (failed(slots.results(call)) ||
            failed(slots.scratch(call, bytes.getInt())))
          return failure();
      }
    }
    return success();
  }
};

} // namespace

LogicalResult SlotCheck::slot(Operation *op, Attribute attr, Buffer expected) {
  auto slot = dyn_cast_or_null<SlotAttr>(attr);
  if (!slot)
    return op->emitOpError("expects a '#hone.slot' but got ")
           << (attr ? attr : Attribute(UnitAttr::get(op->getContext())));
  if (slot.getBytes() < expected.bytes)
    return op->emitOpError("expects a slot of ")
           << expected.bytes << " bytes but got " << slot.getBytes();
  if (slot.getOffset() % ArenaPlan::alignment || slot.getOffset() < base ||
      slot.getOffset() + slot.getBytes() > limit)
    return op->emitOpError("expects an aligned slot between ")
           << base << " and " << limit << " but got " << attr;
  expected.offset = slot.getOffset();
  for (const auto &[other, otherOp] : seen) {
    if (!ArenaPlan::clash(expected, other))
      continue;
    InFlightDiagnostic diag =
        op->emitOpError("shares memory with a buffer in use at the same time");
    diag.attachNote(otherOp->getLoc()) << "the other buffer is of this op";
    return diag;
  }
  seen.push_back({expected, op});
  return success();
}

LogicalResult SlotCheck::results(Operation *op) {
  auto slots = op->getAttrOfType<ArrayAttr>(HoneDialect::getSlotsAttrName());
  for (OpResult result : op->getResults()) {
    if (!lifetimes.needsMemory(result))
      continue;
    if (!slots || slots.size() != op->getNumResults())
      return op->emitOpError("expects one slot for each result in '")
             << HoneDialect::getSlotsAttrName() << "'";
    if (failed(slot(op, slots[result.getResultNumber()],
                    lifetimes.buffer(result, rows))))
      return failure();
  }
  return success();
}

LogicalResult SlotCheck::workspace(Operation *op) {
  auto interface = dyn_cast<WorkspaceOpInterface>(op);
  if (!interface)
    return success();
  auto types = interface.getWorkspace(rows);
  auto slots =
      op->getAttrOfType<ArrayAttr>(HoneDialect::getWorkspaceAttrName());
  if (types.size() != (slots ? slots.size() : 0))
    return op->emitOpError("expects ")
           << types.size() << " slots in '"
           << HoneDialect::getWorkspaceAttrName() << "'";
  for (auto [index, type] : llvm::enumerate(types))
    if (failed(slot(op, slots[index],
                    lifetimes.during(op, bytesAtRows(type, rows)))))
      return failure();
  return success();
}

LogicalResult SlotCheck::scratch(CallOp call, int64_t bytes) {
  return slot(call, call->getAttr(HoneDialect::getScratchAttrName()),
              lifetimes.during(call, bytes));
}

} // namespace hone
