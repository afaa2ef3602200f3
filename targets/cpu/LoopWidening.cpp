//===- LoopWidening.cpp - Scalar bodies on vectors ------------------------===//
//
// Uniform loads move in front of the loop. That is legal because iterations
// are independent by the definition of the op: no iteration writes the numbers
// that another reads; a buffer that the body itself stores to keeps the body
// scalar.
//
//===----------------------------------------------------------------------===//

#include "targets/cpu/LoopWidening.h"

#include "dialects/Tile/TileDialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace hone;

//===----------------------------------------------------------------------===//
// LaneAnalysis
//===----------------------------------------------------------------------===//

LaneAnalysis::LaneAnalysis(Block &body, Value iv, ValueRange perLane,
                           bool mayGather)
    : mayGather(mayGather) {
  if (iv)
    forms[iv] = LaneForm::unit;
  for (Value value : perLane)
    forms[value] = LaneForm::varying;
  for (Operation &op : body)
    if (auto store = dyn_cast<memref::StoreOp>(op))
      stored.insert(store.getMemRef());
  for (Operation &op : body) {
    for (Value result : op.getResults())
      if (auto type = dyn_cast<FloatType>(result.getType()))
        widestFloat = std::max(widestFloat, type.getWidth());
    if (visit(op))
      continue;
    widenable = false;
    for (Value result : op.getResults())
      forms[result] = LaneForm::varying;
  }
  if (widestFloat < 32)
    widestFloat = 32;
}

bool LaneAnalysis::visitAccess(Value buffer, ValueRange indices, bool isStore) {
  if (indices.empty())
    return !isStore && !stored.contains(buffer);
  for (Value index : indices.drop_back())
    if (formOf(index) != LaneForm::uniform)
      return false;
  switch (formOf(indices.back())) {
  case LaneForm::unit:
    return true;
  case LaneForm::uniform:
    return !isStore && !stored.contains(buffer);
  case LaneForm::varying:
    return !isStore && canGather(buffer);
  }
  llvm_unreachable("all forms are handled");
}

/// Processors gather numbers of 32 and 64 bits.
bool LaneAnalysis::canGather(Value buffer) const {
  auto type = cast<MemRefType>(buffer.getType());
  Type element = type.getElementType();
  return mayGather && !stored.contains(buffer) && element.isIntOrFloat() &&
         element.getIntOrFloatBitWidth() >= 32;
}

bool LaneAnalysis::visit(Operation &op) {
  if (auto load = dyn_cast<memref::LoadOp>(op)) {
    if (!visitAccess(load.getMemRef(), load.getIndices(), /*isStore=*/false))
      return false;
    if (!load.getIndices().empty() &&
        formOf(load.getIndices().back()) != LaneForm::uniform)
      forms[load] = LaneForm::varying;
    return true;
  }
  if (auto store = dyn_cast<memref::StoreOp>(op))
    return visitAccess(store.getMemRef(), store.getIndices(), /*isStore=*/true);
  if (op.hasTrait<OpTrait::IsTerminator>())
    return true;

  bool isUniform = llvm::all_of(op.getOperands(), [&](Value operand) {
    return formOf(operand) == LaneForm::uniform;
  });
  // It moves before the loop, which may have no iteration.
  if (isUniform)
    return isPure(&op) && op.getNumRegions() == 0;
  // Lanes outside a mask hold zeros, and integers trap on division by zero.
  if (!OpTrait::hasElementwiseMappableTraits(&op) || !isPure(&op) ||
      op.getNumRegions() != 0 ||
      isa<arith::DivSIOp, arith::DivUIOp, arith::RemSIOp, arith::RemUIOp,
          arith::CeilDivSIOp, arith::CeilDivUIOp, arith::FloorDivSIOp>(op))
    return false;
  bool isUnit = false;
  if (isa<arith::AddIOp>(op))
    isUnit = formOf(op.getOperand(0)) != formOf(op.getOperand(1)) &&
             formOf(op.getOperand(0)) != LaneForm::varying &&
             formOf(op.getOperand(1)) != LaneForm::varying;
  if (isa<arith::SubIOp>(op))
    isUnit = formOf(op.getOperand(0)) == LaneForm::unit &&
             formOf(op.getOperand(1)) == LaneForm::uniform;
  if (isUnit && !op.getResult(0).getType().isIndex())
    isUnit = false;
  for (Value result : op.getResults())
    forms[result] = isUnit ? LaneForm::unit : LaneForm::varying;
  return true;
}

//===----------------------------------------------------------------------===//
// BodyWidener
//===----------------------------------------------------------------------===//

void BodyWidener::emitUniform(OpBuilder &b, IRMapping &scalars) {
  for (Operation &op : body.without_terminator())
    if (op.getNumResults() != 0 &&
        analysis.formOf(op.getResult(0)) == LaneForm::uniform)
      b.clone(op, scalars);
}

Value BodyWidener::wide(OpBuilder &b, Value value) {
  if (Value known = vectors.lookup(value))
    return known;
  Location loc = value.getLoc();
  Value lane0 = scalar->lookupOrDefault(value);
  Type type = wideType(value.getType());
  Value result = vector::BroadcastOp::create(b, loc, type, lane0);
  if (analysis.formOf(value) == LaneForm::unit) {
    auto numbers = llvm::to_vector(llvm::seq<int64_t>(0, lanes));
    Value lane =
        arith::ConstantOp::create(b, loc, type, b.getIndexVectorAttr(numbers));
    result = arith::AddIOp::create(b, loc, result, lane);
  }
  return vectors[value] = result;
}

/// Lanes at `indices`, of which the last one varies.
void BodyWidener::emitGather(OpBuilder &b, Operation &load, Value buffer,
                             ValueRange indices, Value mask) {
  Location loc = load.getLoc();
  auto type = cast<VectorType>(wideType(load.getResult(0).getType()));
  Value zero = arith::ConstantOp::create(b, loc, type, b.getZeroAttr(type));
  if (!mask) {
    auto all = VectorType::get(lanes, b.getI1Type());
    mask = arith::ConstantOp::create(b, loc, all,
                                     DenseElementsAttr::get(all, true));
  }
  SmallVector<Value> start = llvm::map_to_vector(
      indices, [&](Value index) { return scalar->lookupOrDefault(index); });
  start.back() = arith::ConstantIndexOp::create(b, loc, 0);
  vectors[load.getResult(0)] = vector::GatherOp::create(
      b, loc, type, buffer, start, wide(b, indices.back()), mask, zero);
}

void BodyWidener::emitWideOp(OpBuilder &b, Operation &op, Value mask) {
  Location loc = op.getLoc();
  auto mapped = [&](ValueRange values) {
    return llvm::map_to_vector(
        values, [&](Value v) { return scalar->lookupOrDefault(v); });
  };
  if (auto load = dyn_cast<memref::LoadOp>(op)) {
    auto type = cast<VectorType>(wideType(load.getType()));
    Value buffer = scalar->lookupOrDefault(load.getMemRef());
    if (!load.getIndices().empty() &&
        analysis.formOf(load.getIndices().back()) == LaneForm::varying)
      return emitGather(b, op, buffer, load.getIndices(), mask);
    SmallVector<Value> indices = mapped(load.getIndices());
    if (!mask) {
      vectors[load] = vector::LoadOp::create(b, loc, type, buffer, indices);
      return;
    }
    Value zero = arith::ConstantOp::create(b, loc, type, b.getZeroAttr(type));
    vectors[load] =
        vector::MaskedLoadOp::create(b, loc, type, buffer, indices, mask, zero);
    return;
  }
  if (auto store = dyn_cast<memref::StoreOp>(op)) {
    Value buffer = scalar->lookupOrDefault(store.getMemRef());
    SmallVector<Value> indices = mapped(store.getIndices());
    Value value = wide(b, store.getValueToStore());
    if (mask)
      vector::MaskedStoreOp::create(b, loc, buffer, indices, mask, value);
    else
      vector::StoreOp::create(b, loc, value, buffer, indices);
    return;
  }
  if (analysis.formOf(op.getResult(0)) == LaneForm::unit) {
    b.clone(op, *scalar);
    return;
  }
  OperationState state(loc, op.getName());
  for (Value operand : op.getOperands())
    state.operands.push_back(wide(b, operand));
  for (Type type : op.getResultTypes())
    state.types.push_back(wideType(type));
  state.attributes = op.getAttrs();
  Operation *widened = b.create(state);
  for (auto [from, to] : llvm::zip(op.getResults(), widened->getResults()))
    vectors[from] = to;
}

SmallVector<Value>
BodyWidener::emitWide(OpBuilder &b, IRMapping scalars, Value base, Value mask,
                      const llvm::DenseMap<Value, Value> &known) {
  if (iv)
    scalars.map(iv, base);
  scalar = &scalars;
  vectors = known;
  for (Operation &op : body.without_terminator())
    if (op.getNumResults() == 0 ||
        analysis.formOf(op.getResult(0)) != LaneForm::uniform)
      emitWideOp(b, op, mask);
  SmallVector<Value> yielded;
  for (Value value : body.getTerminator()->getOperands())
    yielded.push_back(wide(b, value));
  scalar = nullptr;
  return yielded;
}
