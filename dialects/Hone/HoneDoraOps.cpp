//===- HoneDoraOps.cpp - Magnitude and direction apart --------------------===//
//
// Constraint numbers are those of the ops' descriptions and of the tests.
//
//===----------------------------------------------------------------------===//

#include "dialects/Hone/HoneOps.h"
#include "dialects/Hone/ShapeChecks.h"

using namespace mlir;

namespace hone {

//===----------------------------------------------------------------------===//
// Verifiers
//===----------------------------------------------------------------------===//

LogicalResult RowLengthsOp::verify() {
  ShapeChecks check(*this);
  return check.all({
      check.sameDim("lengths", getLengths(), 0, "weight", getWeight(), 0), // C1
      check.sameDim("a", getA(), 1, "weight", getWeight(), 1),             // C2
      check.sameDim("b", getB(), 0, "weight", getWeight(), 0),             // C2
      check.sameDim("a", getA(), 0, "b", getB(), 1),                       // C2
      check.sameElementType("weight", getWeight(), "a", getA()),           // C3
      check.sameElementType("a", getA(), "b", getB()),                     // C3
      check.sameElementType("a", getA(), "lengths", getLengths()),         // C3
  });
}

LogicalResult RescaleOp::verify() {
  ShapeChecks check(*this);
  return check.all({
      check.sameType("x", getX(), "y", getY()),                      // (C1)
      check.sameDim("magnitude", getMagnitude(), 0, "x", getX(), 1), // (C2)
      check.sameDim("lengths", getLengths(), 0, "x", getX(), 1),     // (C2)
      check.sameDim("bias", getBias(), 0, "x", getX(), 1),           // (C2)
      check.computesIn("x", getX(), "magnitude", getMagnitude()),    // (C2)
      check.computesIn("x", getX(), "lengths", getLengths()),        // (C2)
      check.computesIn("x", getX(), "bias", getBias()),              // (C2)
  });
}

LogicalResult RescaleParameterAdjointOp::verify() {
  ShapeChecks check(*this);
  return check.all({
      check.sameType("dy", getDy(), "x", getX()),                // (C1)
      check.sameDim("lengths", getLengths(), 0, "x", getX(), 1), // (C2)
      check.sameDim("dm", getDm(), 0, "x", getX(), 1),           // (C2)
      check.computesIn("x", getX(), "lengths", getLengths()),    // (C2)
      check.computesIn("x", getX(), "dm", getDm()),              // (C2)
  });
}

//===----------------------------------------------------------------------===//
// RescaleOp: x and the lengths, or the lengths alone if the magnitude is
// frozen.
//===----------------------------------------------------------------------===//

SmallVector<ResidualAlternative>
RescaleOp::getResidualAlternatives(const llvm::BitVector &active) {
  ResidualAlternative reads;
  reads.reads.push_back(
      Residual::operand(getLengthsMutable().getOperandNumber()));
  if (active.test(getMagnitudeMutable().getOperandNumber()))
    reads.reads.push_back(Residual::operand(getXMutable().getOperandNumber()));
  return {reads};
}

FailureOr<SmallVector<Value>>
RescaleOp::buildAdjoint(OpBuilder &builder, const AdjointRequest &request) {
  const unsigned x = getXMutable().getOperandNumber(),
                 magnitude = getMagnitudeMutable().getOperandNumber(),
                 lengths = getLengthsMutable().getOperandNumber();
  auto read = [&](unsigned operand) {
    return request.read(Residual::operand(operand));
  };
  Value dy = request.cotangents[0];
  SmallVector<Value> cotangents(getNumOperands());
  for (unsigned operand : request.activeOperands.set_bits()) {
    if (operand == lengths)
      return emitOpError("has no adjoint with respect to 'lengths'");
    Type type = getOperand(operand).getType();
    if (operand == x)
      cotangents[x] = RescaleOp::create(builder, getLoc(), type, dy,
                                        read(magnitude), read(lengths),
                                        /*bias=*/Value());
    else if (operand == magnitude)
      cotangents[magnitude] = RescaleParameterAdjointOp::create(
          builder, getLoc(), type, dy, read(x), read(lengths));
    else
      cotangents[operand] = BiasAdjointOp::create(builder, getLoc(), type, dy);
  }
  return cotangents;
}

/// Linear in `x` and `bias`, and in `magnitude` and `bias`.
FailureOr<Value> RescaleOp::buildTangent(OpBuilder &builder,
                                         ArrayRef<Value> tangents) {
  if (tangents[getLengthsMutable().getOperandNumber()])
    return emitOpError("has no tangent with respect to 'lengths'");
  Value tx = tangents[getXMutable().getOperandNumber()],
        tm = tangents[getMagnitudeMutable().getOperandNumber()],
        tb = getBias() ? tangents.back() : Value();
  Type type = getY().getType();
  if (!tx && !tm)
    return BiasTangentOp::create(builder, getLoc(), type, tb).getTy();
  Value sum;
  if (tx)
    sum = RescaleOp::create(builder, getLoc(), type, tx, getMagnitude(),
                            getLengths(), tb);
  if (!tm)
    return sum;
  Value alongMagnitude = RescaleOp::create(builder, getLoc(), type, getX(), tm,
                                           getLengths(), tx ? Value() : tb);
  if (!sum)
    return alongMagnitude;
  return AddOp::create(builder, getLoc(), sum, alongMagnitude).getY();
}

//===----------------------------------------------------------------------===//
// Costs
//===----------------------------------------------------------------------===//

/// Of parameters alone, whatever the rows: B A, and its sum with the weight
/// squared and added up.
int64_t RowLengthsOp::getFlops(int64_t) {
  return (2 * getA().getType().getDimSize(0) + 3) *
         getWeight().getType().getNumElements();
}
int64_t RescaleOp::getFlops(int64_t rows) {
  return (getBias() ? 2 : 1) * elementsAtRows(getX().getType(), rows);
}
int64_t RescaleParameterAdjointOp::getFlops(int64_t rows) {
  return 3 * elementsAtRows(getX().getType(), rows);
}

} // namespace hone
