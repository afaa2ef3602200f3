//===- VerifyPlacement.cpp - hone-verify-placement ------------------------===//
//
// Reads slots as a stranger would: lifetimes come from the IR, not from what
// placement wrote. A broken rule is a bug of hone-place or of a pass that
// moved ops after it.
//
//===----------------------------------------------------------------------===//

#include "passes/Passes.h"
#include "passes/place/Lifetimes.h"

using namespace mlir;

namespace hone {

#define GEN_PASS_DEF_VERIFYPLACEMENT
#include "passes/Passes.h.inc"

namespace {

/// The slots of one body, checked one against the other.
class SlotCheck {
public:
  SlotCheck(mlir::Block &body, int64_t rows, int64_t base, int64_t limit)
      : body(body), lifetimes(body), shared(body, lifetimes), rows(rows),
        base(base), limit(limit) {}

  /// All ops of a body that computes.
  LogicalResult ops();

  LogicalResult results(Operation *op);
  LogicalResult workspace(Operation *op);
  LogicalResult scratch(Operation *op, int64_t bytes);
  LogicalResult tiles(RowTilesOp op);

private:
  struct Use {
    Buffer buffer;
    Operation *op;
    OpResult value; ///< null for what only `op` uses
  };
  LogicalResult slot(Operation *op, Attribute attr, Buffer expected,
                     OpResult value = {});
  LogicalResult resultSlot(OpResult value, ResultSlotAttr attr);

  mlir::Block &body;
  Lifetimes lifetimes;
  SharedMemory shared;
  int64_t rows, base, limit;
  std::vector<Use> seen;
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
      auto offset = static_cast<int64_t>(region.getOffset());
      if (offset < base)
        return region.emitOpError("overlaps the region before it");
      // Behind the arena no slot can be.
      if (offset < arena.getInt())
        base = offset + ArenaPlan::align(region.getBytes());
    }
    for (BlockOp block : module.getOps<BlockOp>()) {
      auto bytes = block->getAttrOfType<IntegerAttr>(
          HoneDialect::getScratchBytesAttrName());
      if (!bytes)
        return block.emitOpError("has no '")
               << HoneDialect::getScratchBytesAttrName() << "'";
      if (failed(SlotCheck(block.getBody().front(), *rows, 0, bytes.getInt())
                     .ops()))
        return failure();
    }
    SymbolTable symbols(module);
    for (EntryOp entry : module.getOps<EntryOp>()) {
      SlotCheck slots(entry.getBody().front(), *rows, base, arena.getInt());
      for (Operation &op : entry.getBody().front()) {
        if (failed(slots.results(&op)))
          return failure();
        auto call = dyn_cast<CallOp>(op);
        if (!call)
          continue;
        auto bytes = symbols.lookup(call.getBlock())
                         ->getAttrOfType<IntegerAttr>(
                             HoneDialect::getScratchBytesAttrName());
        if (failed(slots.scratch(call, bytes.getInt())))
          return failure();
      }
    }
    return success();
  }
};

} // namespace

LogicalResult SlotCheck::slot(Operation *op, Attribute attr, Buffer expected,
                              OpResult value) {
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
  for (const Use &other : seen) {
    if (!ArenaPlan::clash(expected, other.buffer))
      continue;
    bool isWrittenOver = value && other.value &&
                         other.buffer.offset == expected.offset &&
                         lifetimes.mayOverwrite(other.value, value);
    if (isWrittenOver)
      continue;
    InFlightDiagnostic diag =
        op->emitOpError("shares memory with a buffer in use at the same time");
    diag.attachNote(other.op->getLoc()) << "the other buffer is of this op";
    return diag;
  }
  seen.push_back({expected, op, value});
  return success();
}

LogicalResult SlotCheck::resultSlot(OpResult value, ResultSlotAttr attr) {
  auto returned = body.getTerminator()->getOperands();
  if (attr.getResult() >= 0 &&
      attr.getResult() < static_cast<int64_t>(returned.size()) &&
      shared.last(value) == returned[attr.getResult()])
    return success();
  return value.getOwner()->emitOpError("is not written over by the result #")
         << attr.getResult() << ", whose memory it is in";
}

LogicalResult SlotCheck::ops() {
  for (Operation &op : body.without_terminator()) {
    if (failed(results(&op)) || failed(workspace(&op)))
      return failure();
    if (auto rowTiles = dyn_cast<RowTilesOp>(op);
        rowTiles && failed(tiles(rowTiles)))
      return failure();
  }
  return success();
}

LogicalResult SlotCheck::tiles(RowTilesOp op) {
  auto slot = op->getAttrOfType<SlotAttr>(HoneDialect::getScratchAttrName());
  int64_t bytes = slot ? slot.getBytes() : 0;
  if (failed(scratch(op, bytes)))
    return failure();
  return SlotCheck(op.getBody().front(), rowsOfTile(op, rows), 0, bytes).ops();
}

LogicalResult SlotCheck::results(Operation *op) {
  auto slots = op->getAttrOfType<ArrayAttr>(HoneDialect::getSlotsAttrName());
  for (OpResult result : op->getResults()) {
    if (!lifetimes.needsMemory(result))
      continue;
    if (!slots || slots.size() != op->getNumResults())
      return op->emitOpError("expects one slot for each result in '")
             << HoneDialect::getSlotsAttrName() << "'";
    Attribute attr = slots[result.getResultNumber()];
    auto inResult = dyn_cast<ResultSlotAttr>(attr);
    if (failed(inResult
                   ? resultSlot(result, inResult)
                   : slot(op, attr, lifetimes.buffer(result, rows), result)))
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

LogicalResult SlotCheck::scratch(Operation *op, int64_t bytes) {
  return slot(op, op->getAttr(HoneDialect::getScratchAttrName()),
              lifetimes.during(op, bytes));
}

} // namespace hone
