//===- HoneDerivatives.cpp - The adjoint of each op -----------------------===//
//
// What each adjoint reads, and how it is built, side by side. Formulas are in
// the descriptions of the adjoint ops. Alternatives are listed cheapest in
// compute first; which one is taken is a policy's decision.
//
//===----------------------------------------------------------------------===//

#include "dialects/Hone/HoneOps.h"

using namespace mlir;

namespace hone {

using Alternatives = SmallVector<ResidualAlternative>;
using Cotangents = FailureOr<SmallVector<Value>>;

bool ResidualAlternative::readsAuxiliary() const {
  return llvm::any_of(reads, [](const Residual &residual) {
    return residual.kind == Residual::Kind::Auxiliary;
  });
}

static Alternatives readsNothing() { return {ResidualAlternative{}}; }

static Value readOperand(const AdjointRequest &request, unsigned index) {
  return request.read(Residual::operand(index));
}

static Value readOperand(const AdjointRequest &request, OpOperand &operand) {
  return readOperand(request, operand.getOperandNumber());
}

/// The auxiliary result if the chosen alternative has it, else null.
static Value readAuxiliary(const AdjointRequest &request,
                           const Alternatives &alternatives) {
  if (!alternatives[request.alternative].readsAuxiliary())
    return {};
  return request.read(Residual::auxiliary());
}

/// Fails, naming the operand, if an operand other than `allowed` is active.
static LogicalResult onlyActive(Operation *op, const AdjointRequest &request,
                                ArrayRef<unsigned> allowed) {
  for (unsigned index : request.activeOperands.set_bits())
    if (!llvm::is_contained(allowed, index))
      return op->emitOpError("has no adjoint with respect to operand #")
             << index << ", but a trainable parameter reaches it";
  return success();
}

//===----------------------------------------------------------------------===//
// EmbeddingOp: ids and a frozen table have no cotangent.
//===----------------------------------------------------------------------===//

Alternatives EmbeddingOp::getResidualAlternatives(const BitVector &) {
  return readsNothing();
}

Cotangents EmbeddingOp::buildAdjoint(OpBuilder &,
                                     const AdjointRequest &request) {
  if (failed(onlyActive(*this, request, {})))
    return failure();
  return SmallVector<Value>(getNumOperands());
}

//===----------------------------------------------------------------------===//
// RmsNormOp: x and 1/rms, or x alone.
//===----------------------------------------------------------------------===//

Alternatives RmsNormOp::getResidualAlternatives(const BitVector &) {
  unsigned x = getXMutable().getOperandNumber();
  return {ResidualAlternative{{Residual::operand(x), Residual::auxiliary()}},
          ResidualAlternative{{Residual::operand(x)}}};
}

Cotangents RmsNormOp::buildAdjoint(OpBuilder &builder,
                                   const AdjointRequest &request) {
  OpOperand &x = getXMutable();
  if (failed(onlyActive(*this, request, {x.getOperandNumber()})))
    return failure();
  Value rstd = readAuxiliary(request,
                             getResidualAlternatives(request.activeOperands));
  SmallVector<Value> cotangents(getNumOperands());
  cotangents[x.getOperandNumber()] = RmsNormAdjointOp::create(
      builder, getLoc(), getX().getType(), request.cotangents[0],
      readOperand(request, x), readOperand(request, getWeightMutable()), rstd,
      getEpsAttr());
  return cotangents;
}

//===----------------------------------------------------------------------===//
// LinearOp: reads only its weight, which is ambient.
//===----------------------------------------------------------------------===//

Alternatives LinearOp::getResidualAlternatives(const BitVector &) {
  return readsNothing();
}

Cotangents LinearOp::buildAdjoint(OpBuilder &builder,
                                  const AdjointRequest &request) {
  OpOperand &x = getXMutable();
  if (failed(onlyActive(*this, request, {x.getOperandNumber()})))
    return failure();
  SmallVector<Value> cotangents(getNumOperands());
  cotangents[x.getOperandNumber()] = LinearAdjointOp::create(
      builder, getLoc(), getX().getType(), request.cotangents[0],
      readOperand(request, getWeightMutable()));
  return cotangents;
}

//===----------------------------------------------------------------------===//
// LoraLinearOp: x and h, or x alone (MeSP), or nothing if A and B are frozen.
//===----------------------------------------------------------------------===//

Alternatives LoraLinearOp::getResidualAlternatives(const BitVector &active) {
  unsigned x = getXMutable().getOperandNumber();
  if (!active.test(getAMutable().getOperandNumber()) &&
      !active.test(getBMutable().getOperandNumber()))
    return readsNothing();
  return {ResidualAlternative{{Residual::operand(x), Residual::auxiliary()}},
          ResidualAlternative{{Residual::operand(x)}}};
}

Cotangents LoraLinearOp::buildAdjoint(OpBuilder &builder,
                                      const AdjointRequest &request) {
  unsigned x = getXMutable().getOperandNumber();
  unsigned a = getAMutable().getOperandNumber();
  unsigned b = getBMutable().getOperandNumber();
  if (failed(onlyActive(*this, request, {x, a, b})))
    return failure();
  Value dy = request.cotangents[0];
  Value valueOfA = readOperand(request, a), valueOfB = readOperand(request, b);
  SmallVector<Value> cotangents(getNumOperands());
  if (request.activeOperands.test(a) || request.activeOperands.test(b)) {
    Value h = readAuxiliary(request,
                            getResidualAlternatives(request.activeOperands));
    auto adjoint = LoraParameterAdjointOp::create(
        builder, getLoc(), TypeRange{getA().getType(), getB().getType()}, dy,
        readOperand(request, x), valueOfA, valueOfB, h, getScaleAttr());
    if (request.activeOperands.test(a))
      cotangents[a] = adjoint.getDa();
    if (request.activeOperands.test(b))
      cotangents[b] = adjoint.getDb();
  }
  if (request.activeOperands.test(x))
    cotangents[x] = LoraLinearAdjointOp::create(
        builder, getLoc(), getX().getType(), dy,
        readOperand(request, getWeightMutable()), valueOfA, valueOfB,
        getScaleAttr());
  return cotangents;
}

//===----------------------------------------------------------------------===//
// RopeOp: a rotation; its adjoint rotates back and reads nothing.
//===----------------------------------------------------------------------===//

Alternatives RopeOp::getResidualAlternatives(const BitVector &) {
  return readsNothing();
}

Cotangents RopeOp::buildAdjoint(OpBuilder &builder,
                                const AdjointRequest &request) {
  OpOperand &x = getXMutable();
  SmallVector<Value> cotangents(getNumOperands());
  auto adjoint = RopeOp::create(
      builder, getLoc(), getX().getType(), request.cotangents[0],
      readOperand(request, getStartsMutable()), getHeadsAttr(), getThetaAttr(),
      getScalingAttr(), getInverse() ? nullptr : builder.getUnitAttr());
  cotangents[x.getOperandNumber()] = adjoint;
  return cotangents;
}

//===----------------------------------------------------------------------===//
// AttentionOp: queries, keys, values, output and normalizer.
//===----------------------------------------------------------------------===//

Alternatives AttentionOp::getResidualAlternatives(const BitVector &) {
  return {ResidualAlternative{{Residual::operand(0), Residual::operand(1),
                               Residual::operand(2), Residual::result(0),
                               Residual::auxiliary()}}};
}

Cotangents AttentionOp::buildAdjoint(OpBuilder &builder,
                                     const AdjointRequest &request) {
  auto adjoint = AttentionAdjointOp::create(
      builder, getLoc(),
      TypeRange{getQ().getType(), getK().getType(), getV().getType()},
      request.cotangents[0], readOperand(request, getQMutable()),
      readOperand(request, getKMutable()), readOperand(request, getVMutable()),
      request.read(Residual::result(0)), request.read(Residual::auxiliary()),
      readOperand(request, getStartsMutable()), getHeadsAttr(),
      getKvHeadsAttr(), getScaleAttr());
  return SmallVector<Value>{adjoint.getDq(), adjoint.getDk(), adjoint.getDv(),
                            Value()};
}

//===----------------------------------------------------------------------===//
// SwigluOp: both operands.
//===----------------------------------------------------------------------===//

Alternatives SwigluOp::getResidualAlternatives(const BitVector &) {
  return {ResidualAlternative{{Residual::operand(0), Residual::operand(1)}}};
}

Cotangents SwigluOp::buildAdjoint(OpBuilder &builder,
                                  const AdjointRequest &request) {
  Type type = getY().getType();
  auto adjoint = SwigluAdjointOp::create(
      builder, getLoc(), TypeRange{type, type}, request.cotangents[0],
      readOperand(request, getGateMutable()),
      readOperand(request, getUpMutable()));
  return SmallVector<Value>{adjoint.getDgate(), adjoint.getDup()};
}

//===----------------------------------------------------------------------===//
// AddOp: the cotangent goes to both operands.
//===----------------------------------------------------------------------===//

Alternatives AddOp::getResidualAlternatives(const BitVector &) {
  return readsNothing();
}

Cotangents AddOp::buildAdjoint(OpBuilder &, const AdjointRequest &request) {
  return SmallVector<Value>{request.cotangents[0], request.cotangents[0]};
}

//===----------------------------------------------------------------------===//
// LinearCrossEntropyOp: the gradient that the forward pass wrote. There is no
// alternative without it: to form it is to run the forward pass.
//===----------------------------------------------------------------------===//

Alternatives
LinearCrossEntropyOp::getResidualAlternatives(const BitVector &) {
  return {ResidualAlternative{{Residual::auxiliary()}}};
}

Cotangents LinearCrossEntropyOp::buildAdjoint(OpBuilder &builder,
                                              const AdjointRequest &request) {
  OpOperand &x = getXMutable();
  if (failed(onlyActive(*this, request, {x.getOperandNumber()})))
    return failure();
  SmallVector<Value> cotangents(getNumOperands());
  cotangents[x.getOperandNumber()] = ScaleOp::create(
      builder, getLoc(), getX().getType(),
      request.read(Residual::auxiliary()), request.cotangents[0]);
  return cotangents;
}

} // namespace hone
