//===- Linear.cpp - Projections, their biases and slices ------------------===//

#include "dialects/Hone/DerivativeRules.h"
#include "dialects/Hone/ShapeChecks.h"
#include "dialects/Hone/Sizes.h"

using namespace mlir;

namespace hone {

//===----------------------------------------------------------------------===//
// LinearOp: its weight, which is ambient, and x if that is trained.
//===----------------------------------------------------------------------===//

LogicalResult LinearOp::verify() {
  ShapeChecks check(*this);
  return check.all({
      check.sameDim("x", getX(), 0, "y", getY(), 0),           // (C1)
      check.sameDim("weight", getWeight(), 1, "x", getX(), 1), // (C1)
      check.sameDim("weight", getWeight(), 0, "y", getY(), 1), // (C1)
      check.sameDim("bias", getBias(), 0, "y", getY(), 1),     // (C2)
      check.sameElementType("x", getX(), "y", getY()),         // (C3)
  });
}

Alternatives LinearOp::getResidualAlternatives(const llvm::BitVector &active) {
  if (!active.test(getWeightMutable().getOperandNumber()))
    return readsNothing();
  return {ResidualAlternative{
      {Residual::operand(getXMutable().getOperandNumber())}}};
}

Cotangents LinearOp::buildAdjoint(OpBuilder &builder,
                                  const AdjointRequest &request) {
  unsigned x = getXMutable().getOperandNumber();
  unsigned weight = getWeightMutable().getOperandNumber();
  if (failed(onlyActive(*this, request, andBias(*this, {x, weight}))))
    return failure();
  Value dy = request.cotangents[0];
  SmallVector<Value> cotangents(getNumOperands());
  addBiasAdjoint(*this, builder, request, cotangents);
  if (request.activeOperands.test(weight))
    cotangents[weight] = LinearParameterAdjointOp::create(
        builder, getLoc(), getWeight().getType(), dy, readOperand(request, x));
  if (request.activeOperands.test(x))
    cotangents[x] = LinearAdjointOp::create(builder, getLoc(), getX().getType(),
                                            dy, readOperand(request, weight));
  return cotangents;
}

Tangent LinearOp::buildTangent(OpBuilder &builder, ArrayRef<Value> tangents) {
  unsigned x = getXMutable().getOperandNumber();
  unsigned weight = getWeightMutable().getOperandNumber();
  if (failed(onlyActive(*this, tangents, andBias(*this, {x, weight}))))
    return failure();
  Type type = getY().getType();
  // The first product adds the bias's tangent on the way.
  Value bias = tangentOfBias(*this, tangents), sum;
  auto addProduct = [&](Value input, Value matrix) {
    Value product =
        LinearOp::create(builder, getLoc(), type, input, matrix, bias).getY();
    bias = {};
    sum = sumOf(builder, getLoc(), sum, product);
  };
  if (tangents[x])
    addProduct(tangents[x], getWeight());
  if (tangents[weight])
    addProduct(getX(), tangents[weight]);
  if (bias)
    sum = BiasTangentOp::create(builder, getLoc(), type, bias);
  return sum;
}

int64_t LinearOp::getFlops(int64_t rows) {
  return productFlops(getWeight(), rows);
}

LogicalResult LinearAdjointOp::verify() {
  ShapeChecks check(*this);
  return check.all({
      check.sameDim("dy", getDy(), 0, "dx", getDx(), 0),         // (C1)
      check.sameDim("weight", getWeight(), 0, "dy", getDy(), 1), // (C1)
      check.sameDim("weight", getWeight(), 1, "dx", getDx(), 1), // (C1)
      check.sameElementType("dy", getDy(), "dx", getDx()),       // (C2)
  });
}

int64_t LinearAdjointOp::getFlops(int64_t rows) {
  return productFlops(getWeight(), rows);
}

LogicalResult LinearParameterAdjointOp::verify() {
  ShapeChecks check(*this);
  return check.all({
      check.sameDim("dy", getDy(), 0, "x", getX(), 0),   // (C1)
      check.sameDim("dw", getDw(), 0, "dy", getDy(), 1), // (C1)
      check.sameDim("dw", getDw(), 1, "x", getX(), 1),   // (C1)
      check.sameElementType("dy", getDy(), "x", getX()), // (C2)
      check.computesIn("x", getX(), "dw", getDw()),      // (C2)
  });
}

int64_t LinearParameterAdjointOp::getFlops(int64_t rows) {
  return productFlops(getDw(), rows);
}

LogicalResult BiasAdjointOp::verify() {
  ShapeChecks check(*this);
  return check.all({
      check.sameDim("db", getDb(), 0, "dy", getDy(), 1), // (C1)
      check.computesIn("dy", getDy(), "db", getDb()),    // (C2)
  });
}

int64_t BiasAdjointOp::getFlops(int64_t rows) {
  return elements(getDy(), rows);
}

LogicalResult BiasTangentOp::verify() {
  ShapeChecks check(*this);
  return check.all({
      check.sameDim("tb", getTb(), 0, "ty", getTy(), 1), // (C1)
      check.computesIn("ty", getTy(), "tb", getTb()),    // (C2)
  });
}

int64_t BiasTangentOp::getFlops(int64_t) { return 0; }

//===----------------------------------------------------------------------===//
// ColumnsOp: linear.
//===----------------------------------------------------------------------===//

/// (C1, C2)
static LogicalResult verifyColumns(Operation *op, StringRef name, Value all,
                                   StringRef nameOfSome, Value some,
                                   int64_t from) {
  ShapeChecks check(op);
  int64_t features = cast<RankedTensorType>(all.getType()).getDimSize(1);
  int64_t out = cast<RankedTensorType>(some.getType()).getDimSize(1);
  if (from < 0 || from > features - out)
    return op->emitOpError("expects columns of '")
           << name << "', which has " << features << ", but got " << out
           << " from " << from;
  return check.all({check.sameDim(name, all, 0, nameOfSome, some, 0),
                    check.sameElementType(name, all, nameOfSome, some)});
}

LogicalResult ColumnsOp::verify() {
  return verifyColumns(*this, "x", getX(), "y", getY(), getFrom());
}

Alternatives ColumnsOp::getResidualAlternatives(const llvm::BitVector &) {
  return readsNothing();
}

Cotangents ColumnsOp::buildAdjoint(OpBuilder &builder,
                                   const AdjointRequest &request) {
  Value dx = ColumnsAdjointOp::create(builder, getLoc(), getX().getType(),
                                      request.cotangents[0], getFromAttr());
  return SmallVector<Value>{dx};
}

Tangent ColumnsOp::buildTangent(OpBuilder &builder, ArrayRef<Value> tangents) {
  return ColumnsOp::create(builder, getLoc(), getY().getType(), tangents[0],
                           getFromAttr())
      .getY();
}

int64_t ColumnsOp::getFlops(int64_t) { return 0; }

LogicalResult ColumnsAdjointOp::verify() {
  return verifyColumns(*this, "dx", getDx(), "dy", getDy(), getFrom());
}

int64_t ColumnsAdjointOp::getFlops(int64_t) { return 0; }

} // namespace hone
