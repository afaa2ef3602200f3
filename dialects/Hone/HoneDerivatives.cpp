//===- HoneDerivatives.cpp - The adjoint and tangent of each op -----------===//
//
// What each adjoint reads, how it is built, and the tangent, side by side.
// Formulas are in the descriptions of the ops that are built. Alternatives are
// listed cheapest in compute first; which one is taken is a policy's decision.
//
//===----------------------------------------------------------------------===//

#include "dialects/Hone/HoneOps.h"

using namespace mlir;

namespace hone {

using Alternatives = SmallVector<ResidualAlternative>;
using Cotangents = FailureOr<SmallVector<Value>>;
using Tangent = FailureOr<Value>;

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
static LogicalResult onlyActive(Operation *op, StringRef derivative,
                                const BitVector &active,
                                ArrayRef<unsigned> allowed) {
  for (unsigned index : active.set_bits())
    if (!llvm::is_contained(allowed, index))
      return op->emitOpError("has no ")
             << derivative << " with respect to operand #" << index
             << ", but a trainable parameter reaches it";
  return success();
}

static LogicalResult onlyActive(Operation *op, const AdjointRequest &request,
                                ArrayRef<unsigned> allowed) {
  return onlyActive(op, "adjoint", request.activeOperands, allowed);
}

static LogicalResult onlyActive(Operation *op, ArrayRef<Value> tangents,
                                ArrayRef<unsigned> allowed) {
  BitVector active(tangents.size());
  for (auto [i, tangent] : llvm::enumerate(tangents))
    active[i] = bool(tangent);
  return onlyActive(op, "tangent", active, allowed);
}

/// The sum of two terms, either of which may be null.
static Value sumOf(OpBuilder &builder, Location loc, Value a, Value b) {
  return a && b ? AddOp::create(builder, loc, a, b) : a ? a : b;
}

//===----------------------------------------------------------------------===//
// EmbeddingOp: ids, which are ambient, have no cotangent.
//===----------------------------------------------------------------------===//

Alternatives EmbeddingOp::getResidualAlternatives(const BitVector &) {
  return readsNothing();
}

Cotangents EmbeddingOp::buildAdjoint(OpBuilder &builder,
                                     const AdjointRequest &request) {
  OpOperand &table = getTableMutable();
  if (failed(onlyActive(*this, request, {table.getOperandNumber()})))
    return failure();
  SmallVector<Value> cotangents(getNumOperands());
  cotangents[table.getOperandNumber()] = EmbeddingParameterAdjointOp::create(
      builder, getLoc(), getTable().getType(), request.cotangents[0],
      readOperand(request, getIdsMutable()), getScaleAttr());
  return cotangents;
}

Tangent EmbeddingOp::buildTangent(OpBuilder &builder,
                                  ArrayRef<Value> tangents) {
  unsigned table = getTableMutable().getOperandNumber();
  if (failed(onlyActive(*this, tangents, {table})))
    return failure();
  return EmbeddingOp::create(builder, getLoc(), getY().getType(), getIds(),
                             tangents[table], getScaleAttr(),
                             /*streamed=*/UnitAttr())
      .getY();
}

//===----------------------------------------------------------------------===//
// EmbeddingNoiseOp: what it adds does not depend on what it is added to.
//===----------------------------------------------------------------------===//

Alternatives EmbeddingNoiseOp::getResidualAlternatives(const BitVector &) {
  return readsNothing();
}

Cotangents EmbeddingNoiseOp::buildAdjoint(OpBuilder &,
                                          const AdjointRequest &request) {
  SmallVector<Value> cotangents(getNumOperands());
  cotangents[getXMutable().getOperandNumber()] = request.cotangents[0];
  return cotangents;
}

Tangent EmbeddingNoiseOp::buildTangent(OpBuilder &, ArrayRef<Value> tangents) {
  return tangents[getXMutable().getOperandNumber()];
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
  unsigned x = getXMutable().getOperandNumber();
  unsigned weight = getWeightMutable().getOperandNumber();
  if (failed(onlyActive(*this, request, {x, weight})))
    return failure();
  Value rstd =
      readAuxiliary(request, getResidualAlternatives(request.activeOperands));
  Value dy = request.cotangents[0];
  SmallVector<Value> cotangents(getNumOperands());
  if (request.activeOperands.test(weight))
    cotangents[weight] = RmsNormParameterAdjointOp::create(
        builder, getLoc(), getWeight().getType(), dy, readOperand(request, x),
        rstd, getHeadsAttr(), getEpsAttr());
  if (request.activeOperands.test(x))
    cotangents[x] = RmsNormAdjointOp::create(
        builder, getLoc(), getX().getType(), dy, readOperand(request, x),
        readOperand(request, weight), rstd, getHeadsAttr(), getOffsetAttr(),
        getEpsAttr());
  return cotangents;
}

Tangent RmsNormOp::buildTangent(OpBuilder &builder, ArrayRef<Value> tangents) {
  unsigned x = getXMutable().getOperandNumber();
  unsigned weight = getWeightMutable().getOperandNumber();
  if (failed(onlyActive(*this, tangents, {x, weight})))
    return failure();
  Value alongInput, alongWeight;
  if (tangents[x])
    alongInput = RmsNormTangentOp::create(
        builder, getLoc(), getY().getType(), tangents[x], getX(), getWeight(),
        getRstd(), getHeadsAttr(), getOffsetAttr(), getEpsAttr());
  if (tangents[weight])
    alongWeight =
        RmsNormOp::create(builder, getLoc(), getY().getType(), /*rstd=*/Type(),
                          getX(), tangents[weight], getHeadsAttr(),
                          /*offset=*/builder.getF64FloatAttr(0.0), getEpsAttr())
            .getY();
  return sumOf(builder, getLoc(), alongInput, alongWeight);
}

//===----------------------------------------------------------------------===//
// LinearOp: its weight, which is ambient, and x if that is trained.
//===----------------------------------------------------------------------===//

Alternatives LinearOp::getResidualAlternatives(const BitVector &active) {
  if (!active.test(getWeightMutable().getOperandNumber()))
    return readsNothing();
  return {ResidualAlternative{
      {Residual::operand(getXMutable().getOperandNumber())}}};
}

/// The cotangent of the bias of `op`, if it is wanted.
template <typename LinearLike>
static void addBiasAdjoint(LinearLike op, OpBuilder &builder,
                           const AdjointRequest &request,
                           SmallVectorImpl<Value> &cotangents) {
  Value bias = op.getBias();
  if (!bias)
    return;
  unsigned index = op.getBiasMutable().begin()->getOperandNumber();
  if (request.activeOperands.test(index))
    cotangents[index] = BiasAdjointOp::create(
        builder, op.getLoc(), bias.getType(), request.cotangents[0]);
}

/// The tangent of `op` along its bias, or null.
template <typename LinearLike>
static Value tangentOfBias(LinearLike op, ArrayRef<Value> tangents) {
  return op.getBias()
             ? tangents[op.getBiasMutable().begin()->getOperandNumber()]
             : Value();
}

/// `allowed` and the bias.
template <typename LinearLike>
static SmallVector<unsigned> andBias(LinearLike op,
                                     std::initializer_list<unsigned> allowed) {
  SmallVector<unsigned> all(allowed);
  if (op.getBias())
    all.push_back(op.getBiasMutable().begin()->getOperandNumber());
  return all;
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
  if (failed(onlyActive(*this, request, andBias(*this, {x, a, b}))))
    return failure();
  Value dy = request.cotangents[0];
  Value valueOfA = readOperand(request, a), valueOfB = readOperand(request, b);
  Value key =
      getKey() ? readOperand(request, *getKeyMutable().begin()) : Value();
  SmallVector<Value> cotangents(getNumOperands());
  addBiasAdjoint(*this, builder, request, cotangents);
  if (request.activeOperands.test(a) || request.activeOperands.test(b)) {
    Value h =
        readAuxiliary(request, getResidualAlternatives(request.activeOperands));
    auto adjoint = LoraParameterAdjointOp::create(
        builder, getLoc(), TypeRange{getA().getType(), getB().getType()}, dy,
        readOperand(request, x), valueOfA, valueOfB, h, key, getScaleAttr(),
        getDropoutAttr(), getOfAttr());
    if (request.activeOperands.test(a))
      cotangents[a] = adjoint.getDa();
    if (request.activeOperands.test(b))
      cotangents[b] = adjoint.getDb();
  }
  if (request.activeOperands.test(x))
    cotangents[x] = LoraLinearAdjointOp::create(
        builder, getLoc(), getX().getType(), dy,
        readOperand(request, getWeightMutable()), valueOfA, valueOfB, key,
        getScaleAttr(), getDropoutAttr(), getOfAttr());
  return cotangents;
}

Tangent LoraLinearOp::buildTangent(OpBuilder &builder,
                                   ArrayRef<Value> tangents) {
  unsigned x = getXMutable().getOperandNumber();
  unsigned a = getAMutable().getOperandNumber();
  unsigned b = getBMutable().getOperandNumber();
  if (failed(onlyActive(*this, tangents, andBias(*this, {x, a, b}))))
    return failure();
  Type type = getY().getType();
  Value bias = tangentOfBias(*this, tangents);
  Value alongInput, alongParameters;
  if (tangents[x])
    alongInput =
        LoraLinearOp::create(builder, getLoc(), type, /*h=*/Type(), tangents[x],
                             getWeight(), getA(), getB(), bias, getKey(),
                             getScaleAttr(), getDropoutAttr(), getOfAttr())
            .getY();
  else if (bias)
    alongInput = BiasTangentOp::create(builder, getLoc(), type, bias);
  if (tangents[a] || tangents[b])
    alongParameters = LoraParameterTangentOp::create(
        builder, getLoc(), type, getX(), getA(), getB(), tangents[a],
        tangents[b], getH(), getKey(), getScaleAttr(), getDropoutAttr(),
        getOfAttr());
  return sumOf(builder, getLoc(), alongInput, alongParameters);
}

//===----------------------------------------------------------------------===//
// RopeOp: a rotation; its adjoint rotates back, its tangent along.
//===----------------------------------------------------------------------===//

Alternatives RopeOp::getResidualAlternatives(const BitVector &) {
  return readsNothing();
}

Cotangents RopeOp::buildAdjoint(OpBuilder &builder,
                                const AdjointRequest &request) {
  OpOperand &x = getXMutable();
  SmallVector<Value> cotangents(getNumOperands());
  auto adjoint =
      RopeOp::create(builder, getLoc(), getX().getType(), request.cotangents[0],
                     readOperand(request, getStartsMutable()), getHeadsAttr(),
                     getThetaAttr(), getStretchAttr(), getScalingAttr(),
                     getInverse() ? nullptr : builder.getUnitAttr());
  cotangents[x.getOperandNumber()] = adjoint;
  return cotangents;
}

Tangent RopeOp::buildTangent(OpBuilder &builder, ArrayRef<Value> tangents) {
  unsigned x = getXMutable().getOperandNumber();
  return RopeOp::create(builder, getLoc(), getX().getType(), tangents[x],
                        getStarts(), getHeadsAttr(), getThetaAttr(),
                        getStretchAttr(), getScalingAttr(), getInverseAttr())
      .getY();
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
      getKvHeadsAttr(), getWindowAttr(), getScaleAttr());
  return SmallVector<Value>{adjoint.getDq(), adjoint.getDk(), adjoint.getDv(),
                            Value()};
}

Tangent AttentionOp::buildTangent(OpBuilder &builder,
                                  ArrayRef<Value> tangents) {
  return AttentionTangentOp::create(builder, getLoc(), getY().getType(), getQ(),
                                    getK(), getV(), getStarts(), tangents[0],
                                    tangents[1], tangents[2], getNormalizer(),
                                    getHeadsAttr(), getKvHeadsAttr(),
                                    getWindowAttr(), getScaleAttr())
      .getTy();
}

//===----------------------------------------------------------------------===//
// GatedActivationOp: both operands.
//===----------------------------------------------------------------------===//

Alternatives GatedActivationOp::getResidualAlternatives(const BitVector &) {
  return {ResidualAlternative{{Residual::operand(0), Residual::operand(1)}}};
}

Cotangents GatedActivationOp::buildAdjoint(OpBuilder &builder,
                                           const AdjointRequest &request) {
  Type type = getY().getType();
  auto adjoint = GatedActivationAdjointOp::create(
      builder, getLoc(), TypeRange{type, type}, getActivationAttr(),
      request.cotangents[0], readOperand(request, getGateMutable()),
      readOperand(request, getUpMutable()));
  return SmallVector<Value>{adjoint.getDgate(), adjoint.getDup()};
}

Tangent GatedActivationOp::buildTangent(OpBuilder &builder,
                                        ArrayRef<Value> tangents) {
  return GatedActivationTangentOp::create(builder, getLoc(), getY().getType(),
                                          getActivationAttr(), getGate(),
                                          getUp(), tangents[0], tangents[1])
      .getTy();
}

//===----------------------------------------------------------------------===//
// ActivationOp: its input.
//===----------------------------------------------------------------------===//

Alternatives ActivationOp::getResidualAlternatives(const BitVector &) {
  return {ResidualAlternative{{Residual::operand(0)}}};
}

Cotangents ActivationOp::buildAdjoint(OpBuilder &builder,
                                      const AdjointRequest &request) {
  Value dx = ActivationAdjointOp::create(
      builder, getLoc(), getX().getType(), getActivationAttr(),
      request.cotangents[0], readOperand(request, getXMutable()));
  return SmallVector<Value>{dx};
}

Tangent ActivationOp::buildTangent(OpBuilder &builder,
                                   ArrayRef<Value> tangents) {
  return ActivationAdjointOp::create(builder, getLoc(), getY().getType(),
                                     getActivationAttr(), tangents[0], getX())
      .getDx();
}

//===----------------------------------------------------------------------===//
// LayerNormOp: x and its statistics, or x alone.
//===----------------------------------------------------------------------===//

Alternatives LayerNormOp::getResidualAlternatives(const BitVector &) {
  unsigned x = getXMutable().getOperandNumber();
  return {ResidualAlternative{{Residual::operand(x), Residual::auxiliary()}},
          ResidualAlternative{{Residual::operand(x)}}};
}

Cotangents LayerNormOp::buildAdjoint(OpBuilder &builder,
                                     const AdjointRequest &request) {
  unsigned x = getXMutable().getOperandNumber();
  unsigned weight = getWeightMutable().getOperandNumber();
  unsigned bias = getBiasMutable().getOperandNumber();
  Value dy = request.cotangents[0], valueOfX = readOperand(request, x);
  Value statistics =
      readAuxiliary(request, getResidualAlternatives(request.activeOperands));
  SmallVector<Value> cotangents(getNumOperands());
  if (request.activeOperands.test(weight) ||
      request.activeOperands.test(bias)) {
    auto adjoint = LayerNormParameterAdjointOp::create(
        builder, getLoc(),
        TypeRange{getWeight().getType(), getBias().getType()}, dy, valueOfX,
        statistics, getEpsAttr());
    if (request.activeOperands.test(weight))
      cotangents[weight] = adjoint.getDw();
    if (request.activeOperands.test(bias))
      cotangents[bias] = adjoint.getDb();
  }
  if (request.activeOperands.test(x))
    cotangents[x] = LayerNormAdjointOp::create(
        builder, getLoc(), getX().getType(), dy, valueOfX,
        readOperand(request, weight), statistics, getEpsAttr());
  return cotangents;
}

Tangent LayerNormOp::buildTangent(OpBuilder &builder,
                                  ArrayRef<Value> tangents) {
  return LayerNormTangentOp::create(builder, getLoc(), getY().getType(), getX(),
                                    getWeight(), tangents[0], tangents[1],
                                    tangents[2], getStatistics(), getEpsAttr())
      .getTy();
}

//===----------------------------------------------------------------------===//
// PositionEmbeddingOp: linear in its table.
//===----------------------------------------------------------------------===//

Alternatives PositionEmbeddingOp::getResidualAlternatives(const BitVector &) {
  return readsNothing();
}

Cotangents PositionEmbeddingOp::buildAdjoint(OpBuilder &builder,
                                             const AdjointRequest &request) {
  unsigned table = getTableMutable().getOperandNumber();
  SmallVector<Value> cotangents(getNumOperands());
  cotangents[table] = PositionEmbeddingParameterAdjointOp::create(
      builder, getLoc(), getTable().getType(), request.cotangents[0],
      readOperand(request, getStartsMutable()), getOffsetAttr());
  return cotangents;
}

Tangent PositionEmbeddingOp::buildTangent(OpBuilder &builder,
                                          ArrayRef<Value> tangents) {
  unsigned table = getTableMutable().getOperandNumber();
  return PositionEmbeddingOp::create(builder, getLoc(), getY().getType(),
                                     getStarts(), tangents[table],
                                     getOffsetAttr())
      .getY();
}

//===----------------------------------------------------------------------===//
// ColumnsOp: linear.
//===----------------------------------------------------------------------===//

Alternatives ColumnsOp::getResidualAlternatives(const BitVector &) {
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

//===----------------------------------------------------------------------===//
// AddOp: the cotangent goes to both operands; tangents add.
//===----------------------------------------------------------------------===//

Alternatives AddOp::getResidualAlternatives(const BitVector &) {
  return readsNothing();
}

Cotangents AddOp::buildAdjoint(OpBuilder &, const AdjointRequest &request) {
  return SmallVector<Value>{request.cotangents[0], request.cotangents[0]};
}

Tangent AddOp::buildTangent(OpBuilder &builder, ArrayRef<Value> tangents) {
  return sumOf(builder, getLoc(), tangents[0], tangents[1]);
}

//===----------------------------------------------------------------------===//
// LinearCrossEntropyOp: the gradient that the forward pass wrote. There is no
// alternative without it: to form it is to run the forward pass.
//===----------------------------------------------------------------------===//

Alternatives
LinearCrossEntropyOp::getResidualAlternatives(const BitVector &active) {
  unsigned x = getXMutable().getOperandNumber();
  ResidualAlternative reads;
  if (active.test(x))
    reads.reads.push_back(Residual::auxiliary());
  if (active.test(getWeightMutable().getOperandNumber()))
    reads.reads.push_back(Residual::operand(x));
  return {reads};
}

Cotangents LinearCrossEntropyOp::buildAdjoint(OpBuilder &builder,
                                              const AdjointRequest &request) {
  unsigned x = getXMutable().getOperandNumber();
  unsigned weight = getWeightMutable().getOperandNumber();
  if (failed(onlyActive(*this, request, {x, weight})))
    return failure();
  SmallVector<Value> cotangents(getNumOperands());
  if (request.activeOperands.test(weight))
    cotangents[weight] = LinearCrossEntropyParameterAdjointOp::create(
        builder, getLoc(), getWeight().getType(), request.cotangents[0],
        readOperand(request, x), readOperand(request, weight),
        readOperand(request, getTargetsMutable()), getSmoothingAttr());
  if (request.activeOperands.test(x))
    cotangents[x] = ScaleOp::create(builder, getLoc(), getX().getType(),
                                    request.read(Residual::auxiliary()),
                                    request.cotangents[0]);
  return cotangents;
}

Tangent LinearCrossEntropyOp::buildTangent(OpBuilder &builder,
                                           ArrayRef<Value> tangents) {
  unsigned x = getXMutable().getOperandNumber();
  unsigned weight = getWeightMutable().getOperandNumber();
  if (failed(onlyActive(*this, tangents, {x, weight})))
    return failure();
  if (getDx() && !tangents[weight])
    return DotOp::create(builder, getLoc(), getDx(), tangents[x]).getProduct();
  return LinearCrossEntropyTangentOp::create(
             builder, getLoc(), RankedTensorType::get({}, builder.getF64Type()),
             getX(), getWeight(), getTargets(), tangents[x], tangents[weight],
             getSmoothingAttr(), /*streamed=*/UnitAttr())
      .getTloss();
}

//===----------------------------------------------------------------------===//
// ScaleOp: created by adjoints, which forward mode may meet; linear in each
// operand.
//===----------------------------------------------------------------------===//

Tangent ScaleOp::buildTangent(OpBuilder &builder, ArrayRef<Value> tangents) {
  auto scaled = [&](Value x, Value factor) -> Value {
    if (!x || !factor)
      return {};
    return ScaleOp::create(builder, getLoc(), getX().getType(), x, factor);
  };
  return sumOf(builder, getLoc(), scaled(tangents[0], getFactor()),
               scaled(getX(), tangents[1]));
}

} // namespace hone
