//===- ScalarBuilder.cpp - The words that scalar code is written in -------===//

#include "dialects/Tile/ScalarBuilder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace hone;

Value ScalarBuilder::load(Value memref, ValueRange indices) {
  return memref::LoadOp::create(*this, memref, indices);
}

void ScalarBuilder::store(Value value, Value memref, ValueRange indices) {
  memref::StoreOp::create(*this, value, memref, indices);
}

Value ScalarBuilder::index(int64_t value) {
  return arith::ConstantIndexOp::create(*this, value);
}

Value ScalarBuilder::real(Type type, double value) {
  return arith::ConstantOp::create(*this, getFloatAttr(type, value));
}

template <typename Int, typename Float>
static Value binary(ScalarBuilder &k, Value a, Value b) {
  if (a.getType().isIntOrIndex())
    return k.createOrFold<Int>(a, b);
  return Float::create(k, a, b);
}

Value ScalarBuilder::add(Value a, Value b) {
  return binary<arith::AddIOp, arith::AddFOp>(*this, a, b);
}

Value ScalarBuilder::sub(Value a, Value b) {
  return binary<arith::SubIOp, arith::SubFOp>(*this, a, b);
}

Value ScalarBuilder::mul(Value a, Value b) {
  return binary<arith::MulIOp, arith::MulFOp>(*this, a, b);
}

Value ScalarBuilder::div(Value a, Value b) {
  return binary<arith::DivUIOp, arith::DivFOp>(*this, a, b);
}

Value ScalarBuilder::rem(Value a, Value b) {
  return createOrFold<arith::RemUIOp>(a, b);
}

Value ScalarBuilder::min(Value a, Value b) {
  return createOrFold<arith::MinUIOp>(a, b);
}

Value ScalarBuilder::ceilDiv(Value a, int64_t b) {
  return div(add(a, index(b - 1)), index(b));
}

Value ScalarBuilder::exp(Value a) { return math::ExpOp::create(*this, a); }

Value ScalarBuilder::convert(Type type, Value a) {
  return convertScalarToDtype(*this, getLoc(), a, type,
                              /*isUnsignedCast=*/false);
}

void ScalarBuilder::loop(Value from, Value to, int64_t step,
                         function_ref<void(Value)> body) {
  scf::ForOp::create(*this, from, to, index(step), ValueRange(),
                     [&](OpBuilder &, Location, Value i, ValueRange) {
                       body(i);
                       scf::YieldOp::create(*this);
                     });
}

void ScalarBuilder::overBox(ValueRange bounds, Block &body) {
  Value zero = index(0);
  loop(zero, bounds[0], 1, [&](Value i) {
    if (bounds.size() == 1)
      return (void)inlined(body, i);
    loop(zero, bounds[1], 1, [&](Value j) { inlined(body, {i, j}); });
  });
}

void ScalarBuilder::when(Value condition, function_ref<void()> then,
                         function_ref<void()> otherwise) {
  auto branch = scf::IfOp::create(*this, condition, bool(otherwise));
  OpBuilder::InsertionGuard guard(*this);
  setInsertionPointToStart(branch.thenBlock());
  then();
  if (!otherwise)
    return;
  setInsertionPointToStart(branch.elseBlock());
  otherwise();
}

SmallVector<Value> ScalarBuilder::inlined(Block &body, ValueRange arguments) {
  IRMapping mapping;
  mapping.map(body.getArguments(), arguments);
  for (Operation &op : body.without_terminator())
    clone(op, mapping);
  SmallVector<Value> values;
  for (Value value : body.getTerminator()->getOperands())
    values.push_back(mapping.lookupOrDefault(value));
  return values;
}
