//===- SchedulePlacement.cpp - Memory for what crosses items --------------===//

#include "passes/place/SchedulePlacement.h"

#include "passes/place/Lifetimes.h"

using namespace mlir;

namespace hone {

bool isScalar(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && tensor.hasStaticShape() &&
         bytesAtRows(tensor, 0) <= ArenaPlan::alignment;
}

int64_t slotBytes(Type type, int64_t rows) {
  int64_t bytes = bytesAtRows(type, rows);
  return isScalar(type) ? llvm::alignTo(bytes, 8) : ArenaPlan::align(bytes);
}

int64_t workingSetBytes(RunOp run, const SymbolTable &symbols) {
  int64_t bytes = 0;
  for (EntryOp entry : entriesOf(run, symbols))
    bytes = std::max(bytes, scratchBytes(entry));
  return bytes;
}

SchedulePlacement::SchedulePlacement(Schedule given, int64_t rows)
    : schedule(std::move(given)), rows(rows) {
  SymbolTable symbols(schedule.getOp()->getParentOp());
  for (const Schedule::Item &item : schedule.items()) {
    for (Value result : item.op->getResults())
      add(result);
    if (auto run = dyn_cast<RunOp>(item.op))
      addWorkingSet(run, symbols);
  }
}

void SchedulePlacement::add(Value value) {
  int64_t count = schedule.slotCount(value);
  if (isa<BatchType>(value.getType())) {
    batches = std::max(batches, count);
    values.push_back({value, 0, count, schedule.lifetime(value), {}});
    return;
  }
  int64_t bytes = slotBytes(value.getType(), rows);
  values.push_back({value, bytes, count, schedule.lifetime(value), {}});
  PlacedValue &placed = values.back();
  if (isScalar(value.getType())) {
    placed.offset = scalars;
    scalars += count * bytes;
    return;
  }
  placed.buffer = buffers.size();
  buffers.push_back({count * bytes, placed.life.first, placed.life.last});
}

void SchedulePlacement::addWorkingSet(RunOp run, const SymbolTable &symbols) {
  int64_t bytes = workingSetBytes(run, symbols);
  auto repeat = dyn_cast<RepeatOp>(run->getParentOp());
  if (!repeat || !Schedule::hasLanes(repeat)) {
    int64_t position = schedule.itemOf(run).position;
    workingSets[run] = buffers.size();
    buffers.push_back({bytes, position, position});
    return;
  }
  // Lanes run at the same time, in every tick of the repeat.
  auto [lane, isNew] = lanes.try_emplace(
      {repeat, static_cast<int64_t>(run.getLane())}, buffers.size());
  workingSets[run] = lane->second;
  if (isNew) {
    mlir::Block &body = repeat.getBody().front();
    buffers.push_back({bytes, schedule.itemOf(repeat).position,
                       schedule.itemOf(body.getTerminator()).position});
  }
  Buffer &buffer = buffers[lane->second];
  buffer.bytes = std::max(buffer.bytes, bytes);
}

int64_t SchedulePlacement::place(int64_t base, int64_t scalarBase,
                                 int64_t batchBase, int64_t batchBytes) {
  int64_t bytes = ArenaPlan::place(buffers);
  MLIRContext *context = ScheduleOp(schedule.getOp()).getContext();
  llvm::MapVector<Operation *, SmallVector<Attribute>> slots;
  for (const PlacedValue &placed : values) {
    bool isBatch = isa<BatchType>(placed.value.getType());
    int64_t offset = isBatch         ? batchBase
                     : placed.buffer ? base + buffers[*placed.buffer].offset
                                     : scalarBase + placed.offset;
    slots[placed.value.getDefiningOp()].push_back(
        SlotAttr::get(context, offset, isBatch ? batchBytes : placed.bytes,
                      placed.life.first, placed.life.last, placed.count));
  }
  for (auto &[op, attributes] : slots)
    op->setAttr(HoneDialect::getSlotsAttrName(),
                ArrayAttr::get(context, attributes));
  for (auto [op, index] : workingSets) {
    const Buffer &buffer = buffers[index];
    op->setAttr(HoneDialect::getScratchAttrName(),
                SlotAttr::get(context, base + buffer.offset, buffer.bytes,
                              buffer.first, buffer.last, 1));
  }
  return bytes;
}

} // namespace hone
