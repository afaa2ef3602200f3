//===- VerifyPlacement.cpp - hone-verify-placement ------------------------===//
//
// Reads slots as a stranger would: lifetimes come from the IR, not from
// placement's attributes. A broken rule is a bug of hone-place or of a pass
// that moved ops after it.
//
//===----------------------------------------------------------------------===//

#include "dialects/Hone/SequenceTiles.h"
#include "passes/Passes.h"
#include "passes/module/OptimizerState.h"
#include "passes/place/Lifetimes.h"
#include "passes/place/SchedulePlacement.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace hone {

#define GEN_PASS_DEF_VERIFYPLACEMENT
#include "passes/Passes.h.inc"

namespace {

/// A placement, by its number and its rows.
struct Placement {
  unsigned index;
  PlacedRows rows;

  /// For messages: which one is meant, unless it is the first.
  std::string scope() const {
    return index == 0 ? "" : " for " + std::to_string(rows.rows) + " rows";
  }
};

/// The slots of one body in a placement, checked one against the other.
class SlotCheck {
public:
  SlotCheck(mlir::Block &body, Placement placement, int64_t limit)
      : body(body), lifetimes(body), shared(body, lifetimes),
        placement(placement), rows(placement.rows), limit(limit) {}

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
    OpResult value; ///< null for memory that only `op` uses
  };
  LogicalResult slot(Operation *op, Attribute attr, Buffer expected,
                     OpResult value = {});
  LogicalResult resultSlot(OpResult value, ResultSlotAttr attr);

  mlir::Block &body;
  Lifetimes lifetimes;
  SharedMemory shared;
  Placement placement;
  PlacedRows rows;
  int64_t limit;
  std::vector<Use> seen;
};

/// The slots of one schedule in a placement. Lifetimes are in positions of its
/// items; a value that two iterations may hold at once is in use for the whole
/// repeat.
class ScheduleCheck {
public:
  ScheduleCheck(Schedule schedule, Placement placement, int64_t base,
                int64_t limit)
      : schedule(std::move(schedule)), placement(placement),
        rows(placement.rows), base(base), limit(limit),
        symbols(this->schedule.getOp()->getParentOp()) {
    ModuleOp module = this->schedule.getOp()->getParentOfType<ModuleOp>();
    scalars = findRegion(module, "scalars");
    for (RegionOp region : module.getOps<RegionOp>())
      if (region.getName().starts_with("input."))
        batchBytes += ArenaPlan::align(region.getBytes());
  }

  LogicalResult check();

private:
  struct Use {
    Buffer buffer;
    Operation *op;
    int64_t lane; ///< of a working set; -1: a value
  };
  LogicalResult value(Value value, Attribute attr);
  LogicalResult workingSet(RunOp run);
  LogicalResult add(Use use, int64_t from, int64_t to);

  Schedule schedule;
  Placement placement;
  PlacedRows rows;
  int64_t base, limit, batchBytes = 0;
  SymbolTable symbols;
  RegionOp scalars;
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
    if (failed(checkRegionSizes(module, *rows)))
      return failure();
    for (auto [index, placed] : llvm::enumerate(placedRows(module)))
      if (failed(check(module, {static_cast<unsigned>(index), placed})))
        return failure();
    return success();
  }

  static LogicalResult check(ModuleOp module, Placement placement) {
    const int64_t arena = placedNumber(
        module, HoneDialect::getArenaBytesAttrName(),
        HoneDialect::getFewerArenaBytesAttrName(), placement.index);
    int64_t base = 0, end = 0;
    for (RegionOp region : module.getOps<RegionOp>()) {
      const int64_t offset = region.offsetIn(placement.index);
      if (offset < end)
        return region.emitOpError("overlaps the region before it");
      const int64_t bytes = region.getBytes();
      // Rounding up, too, must have a place in 64 bits.
      if (bytes > INT64_MAX - ArenaPlan::alignment ||
          llvm::AddOverflow(offset, ArenaPlan::align(bytes), end))
        return region.emitOpError("expects to end below 2^63 but has ")
               << bytes << " bytes at " << offset;
      // After the arena no slot can be.
      if (offset < arena)
        base = end;
    }
    for (BlockOp block : module.getOps<BlockOp>()) {
      if (!block->hasAttrOfType<IntegerAttr>(
              HoneDialect::getScratchBytesAttrName()))
        return block.emitOpError("has no '")
               << HoneDialect::getScratchBytesAttrName() << "'";
      if (failed(SlotCheck(block.getBody().front(), placement,
                           scratchBytes(block, placement.index))
                     .ops()))
        return failure();
    }
    SymbolTable symbols(module);
    for (EntryOp entry : module.getOps<EntryOp>())
      if (failed(checkEntry(entry, symbols, placement)))
        return failure();
    for (ScheduleOp schedule : module.getOps<ScheduleOp>())
      if (failed(ScheduleCheck(Schedule(schedule), placement, base, arena)
                     .check()))
        return failure();
    return success();
  }

  /// Every region has room for all that is addressed in it.
  static LogicalResult checkRegionSizes(ModuleOp module, int64_t rows) {
    FailureOr<ParameterTable> parameters = ParameterTable::build(module);
    if (failed(parameters))
      return failure();
    llvm::StringMap<int64_t> needed;
    if (!parameters->trainable().empty()) {
      needed["theta"] = parameters->vectorBytes(parameters->thetaElement());
      needed["gradient"] =
          parameters->vectorBytes(parameters->gradientElement());
      const OptimizerState state(module, *parameters);
      for (const StateSlot &slot : state.slots())
        needed[slot.name] = state.bytesOf(slot);
    }
    SymbolTable symbols(module);
    for (EntryOp entry : module.getOps<EntryOp>())
      if (failed(forEachCall(entry, symbols, [&](CallOp call, BlockOp block) {
            for (CacheOp cache : block.getBody().getOps<CacheOp>())
              needed[cacheRegion(call, cache)] =
                  bytesAtRows(cache.getType(), rows);
          })))
        return failure();
    forEachInput(module, [&](Operation *, StringRef name, Type type) {
      needed[("input." + name).str()] = bytesAtRows(type, rows);
    });
    for (RegionOp region : module.getOps<RegionOp>()) {
      auto found = needed.find(region.getName());
      if (found != needed.end() &&
          static_cast<int64_t>(region.getBytes()) < found->second)
        return region.emitOpError("expects ")
               << found->second << " bytes but got " << region.getBytes();
    }
    return success();
  }

  static LogicalResult checkEntry(EntryOp entry, SymbolTable &symbols,
                                  Placement placement) {
    if (!entry->hasAttrOfType<IntegerAttr>(
            HoneDialect::getScratchBytesAttrName()))
      return entry.emitOpError("has no '")
             << HoneDialect::getScratchBytesAttrName() << "'";
    SlotCheck slots(entry.getBodyBlock(), placement,
                    scratchBytes(entry, placement.index));
    RegionOp region =
        findRegion(entry->getParentOfType<ModuleOp>(), "accumulation");
    SlotCheck windows(entry.getBodyBlock(), placement,
                      region ? static_cast<int64_t>(region.getBytes()) : 0);
    for (Operation &op : entry.getBodyBlock()) {
      if (failed((isAccumulation(&op) ? windows : slots).results(&op)))
        return failure();
      auto call = dyn_cast<CallOp>(op);
      if (call && failed(slots.scratch(
                      call, scratchBytes(call, symbols, placement.index))))
        return failure();
    }
    return success();
  }
};

} // namespace

/// Whether `bytes` bytes at `offset` are in [from, to). IR may have numbers
/// whose sum has no place in 64 bits.
static bool isWithin(int64_t offset, int64_t bytes, int64_t from, int64_t to) {
  return offset >= from && offset <= to - bytes;
}

LogicalResult SlotCheck::slot(Operation *op, Attribute attr, Buffer expected,
                              OpResult value) {
  auto slot = dyn_cast_or_null<SlotAttr>(attr);
  if (!slot)
    return op->emitOpError("expects a '#hone.slot' but got ")
           << (attr ? attr : Attribute(UnitAttr::get(op->getContext())));
  const int64_t offset = slot.offsetIn(placement.index),
                bytes = slot.bytesIn(placement.index);
  if (bytes < expected.bytes)
    return op->emitOpError("expects a slot of ")
           << expected.bytes << " bytes" << placement.scope() << " but got "
           << bytes;
  if (offset % ArenaPlan::alignment || !isWithin(offset, bytes, 0, limit))
    return op->emitOpError("expects an aligned slot between ")
           << 0 << " and " << limit << placement.scope() << " but got " << attr;
  expected.offset = offset;
  for (const Use &other : seen) {
    if (!ArenaPlan::clash(expected, other.buffer))
      continue;
    bool isWrittenOver = value && other.value &&
                         other.buffer.offset == expected.offset &&
                         lifetimes.mayOverwrite(other.value, value);
    if (isWrittenOver)
      continue;
    InFlightDiagnostic diag =
        op->emitOpError("shares memory with a buffer in use at the same time")
        << placement.scope();
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
  int64_t bytes = slot ? slot.bytesIn(placement.index) : 0;
  if (failed(scratch(op, bytes)))
    return failure();
  return SlotCheck(op.getBody().front(),
                   {placement.index, rowsOfTile(op, rows)},
                   bytes - bytesBeforeSequences(op))
      .ops();
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
  auto types = interface.getWorkspace(rows.most);
  auto fewer = interface.getWorkspace(rows.rows);
  auto slots =
      op->getAttrOfType<ArrayAttr>(HoneDialect::getWorkspaceAttrName());
  if (types.size() != (slots ? slots.size() : 0))
    return op->emitOpError("expects ")
           << types.size() << " slots in '"
           << HoneDialect::getWorkspaceAttrName() << "'";
  for (auto [index, type] : llvm::enumerate(types))
    if (failed(slot(op, slots[index],
                    lifetimes.during(op, bytesIn(type, fewer[index])))))
      return failure();
  return success();
}

LogicalResult ScheduleCheck::check() {
  for (const Schedule::Item &item : schedule.items()) {
    auto slots =
        item.op->getAttrOfType<ArrayAttr>(HoneDialect::getSlotsAttrName());
    if ((slots ? slots.size() : 0) != item.op->getNumResults())
      return item.op->emitOpError("expects one slot for each result in '")
             << HoneDialect::getSlotsAttrName() << "'";
    for (OpResult result : item.op->getResults())
      if (failed(value(result, slots[result.getResultNumber()])))
        return failure();
    if (auto run = dyn_cast<RunOp>(item.op); run && failed(workingSet(run)))
      return failure();
  }
  return success();
}

LogicalResult ScheduleCheck::value(Value value, Attribute attr) {
  Operation *op = value.getDefiningOp();
  auto slot = dyn_cast<SlotAttr>(attr);
  if (!slot)
    return op->emitOpError("expects a '#hone.slot' but got ") << attr;
  int64_t count = schedule.slotCount(value);
  if (slot.getCount() < count)
    return op->emitOpError("expects ")
           << count << " slots, one for each iteration that holds it, but got "
           << slot.getCount();
  bool isBatch = isa<BatchType>(value.getType());
  int64_t bytes = isBatch ? batchBytes : slotBytes(value.getType(), rows);
  const int64_t offset = slot.offsetIn(placement.index),
                found = slot.bytesIn(placement.index);
  if (found < bytes)
    return op->emitOpError("expects a slot of ")
           << bytes << " bytes" << placement.scope() << " but got " << found;
  int64_t whole;
  if (llvm::MulOverflow(found, slot.getCount(), whole) ||
      !isWithin(offset, whole, 0, limit) ||
      (!isScalar(value.getType()) && offset % ArenaPlan::alignment))
    return op->emitOpError("expects aligned slots within the arena of ")
           << limit << " bytes" << placement.scope() << " but got " << slot;
  // Batches are all of one place, below the rest.
  if (isBatch)
    return success();
  Schedule::Lifetime life = schedule.lifetime(value);
  int64_t end = ScheduleOp(schedule.getOp()).getBody().front().empty()
                    ? 0
                    : schedule.items().back().position;
  bool isSmall = isScalar(value.getType());
  Use use{{whole, isSmall ? 0 : life.first, isSmall ? end : life.last, offset},
          op,
          /*lane=*/-1};
  if (!isSmall)
    return add(use, base, limit);
  int64_t from = scalars ? scalars.offsetIn(placement.index) : 0;
  return add(use, from,
             from + (scalars ? static_cast<int64_t>(scalars.getBytes()) : 0));
}

LogicalResult ScheduleCheck::workingSet(RunOp run) {
  auto slot = run->getAttrOfType<SlotAttr>(HoneDialect::getScratchAttrName());
  int64_t bytes = workingSetBytes(run, symbols, placement.index);
  if (!slot || slot.bytesIn(placement.index) < bytes)
    return run.emitOpError("expects a working set of ")
           << bytes << " bytes" << placement.scope();
  auto repeat = dyn_cast<RepeatOp>(run->getParentOp());
  int64_t first = schedule.itemOf(run).position, last = first;
  if (repeat && Schedule::hasLanes(repeat)) {
    first = schedule.itemOf(repeat).position;
    last = schedule.itemOf(repeat.getBody().front().getTerminator()).position;
  }
  return add({{bytes, first, last, slot.offsetIn(placement.index)},
              run,
              static_cast<int64_t>(run.getLane())},
             base, limit);
}

LogicalResult ScheduleCheck::add(Use use, int64_t from, int64_t to) {
  const Buffer &buffer = use.buffer;
  if (!isWithin(buffer.offset, buffer.bytes, from, to))
    return use.op->emitOpError("expects a slot between ")
           << from << " and " << to << " but got " << buffer.bytes
           << " bytes at " << buffer.offset;
  for (const Use &other : seen) {
    // Runs of one lane follow one another.
    bool isOneLane = use.lane >= 0 && use.lane == other.lane;
    if (isOneLane || !ArenaPlan::clash(buffer, other.buffer))
      continue;
    InFlightDiagnostic diag =
        use.op->emitOpError(
            "shares memory with a buffer in use at the same time")
        << placement.scope();
    diag.attachNote(other.op->getLoc()) << "the other buffer is of this item";
    return diag;
  }
  seen.push_back(use);
  return success();
}

LogicalResult SlotCheck::scratch(Operation *op, int64_t bytes) {
  return slot(op, op->getAttr(HoneDialect::getScratchAttrName()),
              lifetimes.during(op, bytes));
}

} // namespace hone
