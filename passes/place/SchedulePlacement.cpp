//===- SchedulePlacement.cpp - Memory for values that cross items ---------===//

#include "passes/place/SchedulePlacement.h"

#include "passes/place/Lifetimes.h"

using namespace mlir;

namespace hone {

bool isScalar(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && tensor.hasStaticShape() &&
         bytesAtRows(tensor, 0) <= ArenaPlan::alignment;
}

int64_t slotBytes(Type type, PlacedRows rows) {
  int64_t bytes = bytesIn(type, rows);
  return isScalar(type) ? llvm::alignTo(bytes, 8) : ArenaPlan::align(bytes);
}

int64_t workingSetBytes(RunOp run, const SymbolTable &symbols,
                        unsigned placement) {
  int64_t bytes = 0;
  for (EntryOp entry : entriesOf(run, symbols))
    bytes = std::max(bytes, scratchBytes(entry, placement));
  return bytes;
}

SchedulePlacement::SchedulePlacement(Schedule given, ArrayRef<PlacedRows> rows)
    : schedule(std::move(given)), rows(rows), buffers(rows.size()) {
  SymbolTable symbols(schedule.getOp()->getParentOp());
  for (const Schedule::Item &item : schedule.items()) {
    for (Value result : item.op->getResults())
      add(result);
    if (auto run = dyn_cast<RunOp>(item.op))
      addWorkingSet(run, symbols);
  }
}

size_t SchedulePlacement::addBuffer(int64_t first, int64_t last,
                                    ArrayRef<int64_t> bytes) {
  for (auto [placement, own] : llvm::zip_equal(buffers, bytes))
    placement.push_back({own, first, last});
  return buffers.front().size() - 1;
}

void SchedulePlacement::add(Value value) {
  int64_t count = schedule.slotCount(value);
  if (isa<BatchType>(value.getType())) {
    batches = std::max(batches, count);
    values.push_back({value, {}, count, schedule.lifetime(value), {}});
    return;
  }
  SmallVector<int64_t> bytes, all;
  for (PlacedRows each : rows) {
    bytes.push_back(slotBytes(value.getType(), each));
    all.push_back(count * bytes.back());
  }
  values.push_back({value, bytes, count, schedule.lifetime(value), {}});
  PlacedValue &placed = values.back();
  if (isScalar(value.getType())) {
    placed.offset = scalars;
    scalars += all.front();
    return;
  }
  placed.buffer = addBuffer(placed.life.first, placed.life.last, all);
}

void SchedulePlacement::addWorkingSet(RunOp run, const SymbolTable &symbols) {
  SmallVector<int64_t> bytes;
  for (unsigned i = 0; i < rows.size(); ++i)
    bytes.push_back(workingSetBytes(run, symbols, i));
  auto repeat = dyn_cast<RepeatOp>(run->getParentOp());
  if (!repeat || !Schedule::hasLanes(repeat)) {
    int64_t position = schedule.itemOf(run).position;
    workingSets[run] = addBuffer(position, position, bytes);
    return;
  }
  // Lanes run at the same time, in every tick of the repeat.
  auto [lane, isNew] = lanes.try_emplace(
      {repeat, static_cast<int64_t>(run.getLane())}, buffers.front().size());
  workingSets[run] = lane->second;
  if (isNew) {
    mlir::Block &body = repeat.getBody().front();
    addBuffer(schedule.itemOf(repeat).position,
              schedule.itemOf(body.getTerminator()).position, bytes);
  }
  for (auto [placement, own] : llvm::zip_equal(buffers, bytes)) {
    Buffer &buffer = placement[lane->second];
    buffer.bytes = std::max(buffer.bytes, own);
  }
}

SlotAttr slotOf(Builder &builder, ArrayRef<std::vector<Buffer>> placements,
                size_t index, int64_t first, int64_t last, int64_t base,
                int64_t count) {
  SmallVector<int64_t> fewer;
  for (const std::vector<Buffer> &placement : placements.drop_front())
    fewer.append(
        {base + placement[index].offset, placement[index].bytes / count});
  const Buffer &whole = placements.front()[index];
  return SlotAttr::get(builder.getContext(), base + whole.offset,
                       whole.bytes / count, first, last, count,
                       fewer.empty() ? DenseI64ArrayAttr()
                                     : builder.getDenseI64ArrayAttr(fewer));
}

SmallVector<int64_t> SchedulePlacement::place(int64_t base, int64_t scalarBase,
                                              int64_t batchBase,
                                              int64_t batchBytes) {
  SmallVector<int64_t> bytes;
  for (std::vector<Buffer> &placement : buffers)
    bytes.push_back(ArenaPlan::place(placement));
  MLIRContext *context = ScheduleOp(schedule.getOp()).getContext();
  Builder builder(context);
  llvm::MapVector<Operation *, SmallVector<Attribute>> slots;
  for (const PlacedValue &placed : values) {
    const Schedule::Lifetime &life = placed.life;
    bool isBatch = isa<BatchType>(placed.value.getType());
    slots[placed.value.getDefiningOp()].push_back(
        placed.buffer
            ? slotOf(builder, buffers, *placed.buffer, life.first, life.last,
                     base, placed.count)
            : SlotAttr::get(
                  context, isBatch ? batchBase : scalarBase + placed.offset,
                  isBatch ? batchBytes : placed.bytes.front(), life.first,
                  life.last, placed.count, DenseI64ArrayAttr()));
  }
  for (auto &[op, attributes] : slots)
    op->setAttr(HoneDialect::getSlotsAttrName(),
                ArrayAttr::get(context, attributes));
  for (auto [op, index] : workingSets) {
    const Buffer &whole = buffers.front()[index];
    op->setAttr(HoneDialect::getScratchAttrName(),
                slotOf(builder, buffers, index, whole.first, whole.last, base));
  }
  return bytes;
}

} // namespace hone
