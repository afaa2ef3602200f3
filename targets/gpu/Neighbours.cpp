//===- Neighbours.cpp - Points whose numbers lie side by side -------------===//
//
// See Neighbours.h. Loads of neighbours stay one for each number here, with the
// alignment of those that they make together: a device's compiler joins them.
//
//===----------------------------------------------------------------------===//

#include "targets/gpu/Neighbours.h"

#include "targets/gpu/GpuDialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace hone;
using namespace hone::simt;

/// Bytes of a number, or 0 for one that has no whole bytes.
static int64_t widthOf(Value memory) {
  Type element = cast<MemRefType>(memory.getType()).getElementType();
  if (!element.isIntOrFloat() || element.getIntOrFloatBitWidth() % 8)
    return 0;
  return element.getIntOrFloatBitWidth() / 8;
}

/// Of the access of `count` neighbours.
static int64_t unitOf(Value memory, int64_t count) {
  return std::min(kAccessBytes, count * widthOf(memory));
}

/// Whether each row begins as the first one does.
static bool hasEqualRows(Value memory, int64_t count) {
  auto type = cast<MemRefType>(memory.getType());
  SmallVector<int64_t> strides;
  int64_t offset;
  if (failed(type.getStridesAndOffset(strides, offset)) || strides.empty() ||
      strides.back() != 1 || ShapedType::isDynamic(offset) || !widthOf(memory))
    return false;
  strides.back() = offset;
  return llvm::all_of(strides, [&](int64_t stride) {
    return !ShapedType::isDynamic(stride) &&
           stride * widthOf(memory) % unitOf(memory, count) == 0;
  });
}

Value simt::beginsAccess(TeamBuilder &b, Value memory, Value column,
                         int64_t count) {
  if (!hasEqualRows(memory, count))
    return Value();
  Value start = memref::ExtractAlignedPointerAsIndexOp::create(b, memory);
  Value at = b.add(start, b.mul(column, b.index(widthOf(memory))));
  return b.isEqual(b.rem(at, b.index(unitOf(memory, count))), b.index(0));
}

void simt::storeNeighbours(TeamBuilder &b, ArrayRef<Value> numbers,
                           Value memory, SmallVector<Value> indices) {
  Value first = indices.back();
  int64_t most = unitOf(memory, numbers.size()) / widthOf(memory);
  for (int64_t from = 0; !numbers.empty(); from += most) {
    indices.back() = b.add(first, b.index(from));
    StoreNumbersOp::create(b, numbers.take_front(most), memory, indices);
    numbers = numbers.drop_front(most);
  }
}

NeighbourBody::NeighbourBody(Block &body, BlockArgument along)
    : body(body), along(along) {
  for (Operation &op : body) {
    Value memory;
    ValueRange indices;
    if (auto load = dyn_cast<memref::LoadOp>(op)) {
      memory = load.getMemRef();
      indices = load.getIndices();
    } else if (auto store = dyn_cast<memref::StoreOp>(op)) {
      memory = store.getMemRef();
      indices = store.getIndices();
    } else {
      continue;
    }
    bool isBeside =
        !indices.empty() && llvm::isPowerOf2_64(widthOf(memory)) &&
        !depends(memory) && follows(indices.back()) &&
        llvm::none_of(indices.drop_back(), [&](Value i) { return depends(i); });
    if (isBeside)
      accesses[&op] = {memory, indices.back()};
    else
      storesApart |= isa<memref::StoreOp>(op);
  }
}

/// Whether a value differs from one neighbour to the next.
bool NeighbourBody::depends(Value value) const {
  if (value == along)
    return true;
  Operation *op = value.getDefiningOp();
  return op && op->getBlock() == &body &&
         (op->getNumRegions() ||
          llvm::any_of(op->getOperands(), [&](Value v) { return depends(v); }));
}

/// Whether an index is `along`, or begins elsewhere and goes on as it does.
bool NeighbourBody::follows(Value index) const {
  if (index == along)
    return true;
  auto isOutside = [&](Value value) { return value.getParentBlock() != &body; };
  auto sum = index.getDefiningOp<arith::AddIOp>();
  if (!sum || sum->getBlock() != &body)
    return false;
  return (follows(sum.getLhs()) && isOutside(sum.getRhs())) ||
         (follows(sum.getRhs()) && isOutside(sum.getLhs()));
}

bool NeighbourBody::isWide() const { return !storesApart && !accesses.empty(); }

int64_t NeighbourBody::narrowest() const {
  int64_t width = kAccessBytes;
  for (const auto &[op, access] : accesses)
    width = std::min(width, widthOf(access.memory));
  return width;
}

Value NeighbourBody::beginsAccesses(TeamBuilder &b, Value first,
                                    int64_t count) {
  // In the order of the ops: the map has none.
  Value all;
  llvm::SmallDenseSet<std::pair<Value, Value>> seen;
  for (Operation &op : body) {
    auto found = accesses.find(&op);
    if (found == accesses.end())
      continue;
    auto [memory, column] = found->second;
    if (!seen.insert({memory, column}).second)
      continue;
    std::function<Value(Value)> at = [&](Value index) -> Value {
      if (index == along)
        return first;
      if (index.getParentBlock() != &body)
        return index;
      auto sum = index.getDefiningOp<arith::AddIOp>();
      return b.add(at(sum.getLhs()), at(sum.getRhs()));
    };
    Value begins = beginsAccess(b, memory, at(column), count);
    if (!begins)
      return Value();
    all = all ? b.createOrFold<arith::AndIOp>(all, begins) : begins;
  }
  return all;
}

/// The loads of a body, and the ops that they need.
static llvm::SmallDenseSet<Operation *> loadsOf(Block &body) {
  llvm::SmallDenseSet<Operation *> early;
  for (Operation &op : llvm::reverse(body)) {
    bool isNeeded = llvm::any_of(
        op.getUsers(), [&](Operation *user) { return early.contains(user); });
    if (isa<memref::LoadOp>(op) || isNeeded)
      early.insert(&op);
  }
  return early;
}

SmallVector<SmallVector<Value>>
NeighbourBody::inlined(TeamBuilder &b, ArrayRef<SmallVector<Value>> points,
                       int64_t count) {
  SmallVector<IRMapping> mappings(points.size());
  for (auto [mapping, point] : llvm::zip_equal(mappings, points))
    mapping.map(body.getArguments(), point);
  auto copy = [&](Operation &op, size_t number) {
    auto load = dyn_cast<memref::LoadOp>(b.clone(op, mappings[number]));
    auto found = accesses.find(&op);
    if (!load || found == accesses.end())
      return;
    Value memory = found->second.memory;
    int64_t at = number % count * widthOf(memory);
    int64_t unit = unitOf(memory, count);
    load.setAlignment(at % unit ? widthOf(memory) : unit);
  };
  llvm::SmallDenseSet<Operation *> early = loadsOf(body);
  for (size_t number = 0; number < points.size(); ++number)
    for (Operation &op : body.without_terminator())
      if (early.contains(&op))
        copy(op, number);
  // Op by op: a device's code for a division has branches, and between them
  // there is as much to do as there are points.
  for (size_t first = 0; first < points.size(); first += count)
    for (Operation &op : body.without_terminator())
      if (!early.contains(&op) && !isa<memref::StoreOp>(op))
        for (int64_t n = 0; n < count; ++n)
          copy(op, first + n);
  for (size_t first = 0; first < points.size(); first += count)
    for (Operation &op : body.without_terminator()) {
      auto store = dyn_cast<memref::StoreOp>(op);
      if (!store)
        continue;
      auto mapped = [&](Value value, int64_t n) {
        return mappings[first + n].lookupOrDefault(value);
      };
      SmallVector<Value> numbers, indices;
      for (int64_t n = 0; n < count; ++n)
        numbers.push_back(mapped(store.getValueToStore(), n));
      for (Value index : store.getIndices())
        indices.push_back(mapped(index, 0));
      storeNeighbours(b, numbers, mapped(store.getMemRef(), 0), indices);
    }
  SmallVector<SmallVector<Value>> results;
  for (IRMapping &mapping : mappings) {
    SmallVector<Value> &values = results.emplace_back();
    for (Value value : body.getTerminator()->getOperands())
      values.push_back(mapping.lookupOrDefault(value));
  }
  return results;
}
