//===- Lora.cpp - Projections with an adapter -----------------------------===//

#include "dialects/Hone/DerivativeRules.h"
#include "dialects/Hone/ShapeChecks.h"
#include "dialects/Hone/Sizes.h"

using namespace mlir;

namespace hone {

//===----------------------------------------------------------------------===//
// LoraLinearOp: x and h, or x alone (MeSP), or nothing if A and B are frozen.
//===----------------------------------------------------------------------===//

template <typename LoraLike>
static int64_t maskFlops(LoraLike op, Value masked, int64_t rows) {
  return op.getDropout() ? drawFlops(masked, rows) : 0;
}

template <typename LoraLike>
static std::optional<RandomSource> maskOf(LoraLike op) {
  if (!op.getDropout())
    return std::nullopt;
  return RandomSource{rt::RandomPurpose::Dropout, *op.getOf()};
}

LogicalResult LoraLinearOp::verify() {
  ShapeChecks check(*this);
  return check.all({
      check.sameDim("x", getX(), 0, "y", getY(), 0),           // (C1)
      check.sameDim("weight", getWeight(), 1, "x", getX(), 1), // (C1)
      check.sameDim("weight", getWeight(), 0, "y", getY(), 1), // (C1)
      check.sameDim("a", getA(), 0, "b", getB(), 1),           // (C2)
      check.sameDim("a", getA(), 1, "x", getX(), 1),           // (C2)
      check.sameDim("b", getB(), 0, "y", getY(), 1),           // (C2)
      check.sameDim("bias", getBias(), 0, "y", getY(), 1),     // (C3)
      check.sameDim("h", getH(), 0, "x", getX(), 0),           // (C4)
      check.sameDim("h", getH(), 1, "a", getA(), 0),           // (C4)
      check.sameElementType("x", getX(), "y", getY()),         // (C5)
      check.computesIn("x", getX(), "a", getA()),              // (C5)
      check.computesIn("x", getX(), "b", getB()),              // (C5)
      check.computesIn("x", getX(), "h", getH()),              // (C5)
      check.isDropout(getDropout(), getOf(), getKey()),        // (C6)
  });
}

Type LoraLinearOp::getAuxiliaryType() {
  RankedTensorType type = getX().getType();
  return RankedTensorType::get(
      {type.getDimSize(0), getA().getType().getDimSize(0)},
      computeType(type.getElementType()));
}

Alternatives
LoraLinearOp::getResidualAlternatives(const llvm::BitVector &active) {
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
  Value u;
  if (request.activeOperands.test(a) && request.activeOperands.test(x))
    u = LoraInnerAdjointOp::create(builder, getLoc(), getAuxiliaryType(), dy,
                                   valueOfB, getScaleAttr());
  if (request.activeOperands.test(a) || request.activeOperands.test(b)) {
    Value h =
        readAuxiliary(request, getResidualAlternatives(request.activeOperands));
    auto adjoint = LoraParameterAdjointOp::create(
        builder, getLoc(), TypeRange{getA().getType(), getB().getType()}, dy,
        readOperand(request, x), valueOfA, valueOfB, h, u, key, getScaleAttr(),
        getDropoutAttr(), getOfAttr());
    if (request.activeOperands.test(a))
      cotangents[a] = adjoint.getDa();
    if (request.activeOperands.test(b))
      cotangents[b] = adjoint.getDb();
  }
  if (request.activeOperands.test(x))
    cotangents[x] = LoraLinearAdjointOp::create(
        builder, getLoc(), getX().getType(), dy,
        readOperand(request, getWeightMutable()), valueOfA, valueOfB, u, key,
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

int64_t LoraLinearOp::getFlops(int64_t rows) {
  return productFlops(getWeight(), rows) + productFlops(getA(), rows) +
         productFlops(getB(), rows) + maskFlops(*this, getX(), rows);
}

/// Parts of the product with the weight, if it has more than one. Dropout needs
/// the adapter's share of the result by itself, and has one.
template <typename LoraLike>
static SmallVector<MemRefType> partsOf(LoraLike op, int64_t maxRows) {
  if (op.getDropout())
    return {};
  return productPartsType(op, op.getWeight(), maxRows);
}

/// The parts of partsOf(); `h = scale * x A^T`, unless it is a result; A, if it
/// is formed once.
SmallVector<MemRefType> LoraLinearOp::getWorkspace(int64_t maxRows) {
  SmallVector<MemRefType> buffers = partsOf(*this, maxRows);
  if (!getH())
    buffers.push_back(
        MemRefType::get({maxRows, columns(getB())}, computedType(getX())));
  buffers.append(formedOnce(getA()));
  return buffers;
}

std::optional<RandomSource> LoraLinearOp::getRandomSource() {
  return maskOf(*this);
}

bool LoraLinearOp::isRegularizing() { return getDropout().has_value(); }

SmallVector<Value> LoraLinearOp::buildPlain(OpBuilder &builder) {
  auto plain = LoraLinearOp::create(
      builder, getLoc(), getResultTypes(), getX(), getWeight(), getA(), getB(),
      getBias(), /*key=*/Value(), getScaleAttr(), /*dropout=*/FloatAttr(),
      /*of=*/StringAttr());
  return SmallVector<Value>(plain->getResults());
}

LogicalResult LoraInnerAdjointOp::verify() {
  ShapeChecks check(*this);
  return check.all({
      check.sameDim("b", getB(), 0, "dy", getDy(), 1), // (C1)
      check.sameDim("u", getU(), 0, "dy", getDy(), 0), // (C1)
      check.sameDim("u", getU(), 1, "b", getB(), 1),   // (C1)
      check.computesIn("dy", getDy(), "b", getB()),    // (C2)
      check.computesIn("dy", getDy(), "u", getU()),    // (C2)
  });
}

int64_t LoraInnerAdjointOp::getFlops(int64_t rows) {
  return productFlops(getB(), rows);
}

LogicalResult LoraLinearAdjointOp::verify() {
  ShapeChecks check(*this);
  return check.all({
      check.sameDim("dy", getDy(), 0, "dx", getDx(), 0),         // (C1)
      check.sameDim("weight", getWeight(), 0, "dy", getDy(), 1), // (C1)
      check.sameDim("weight", getWeight(), 1, "dx", getDx(), 1), // (C1)
      check.sameDim("a", getA(), 1, "dx", getDx(), 1),           // (C2)
      check.sameDim("b", getB(), 0, "dy", getDy(), 1),           // (C2)
      check.sameDim("a", getA(), 0, "b", getB(), 1),             // (C2)
      check.sameElementType("dy", getDy(), "dx", getDx()),       // (C3)
      check.computesIn("dx", getDx(), "a", getA()),              // (C3)
      check.computesIn("dx", getDx(), "b", getB()),              // (C3)
      check.isDropout(getDropout(), getOf(), getKey()),          // (C4)
      check.sameDim("u", getU(), 0, "dy", getDy(), 0),           // (C5)
      check.sameDim("u", getU(), 1, "a", getA(), 0),             // (C5)
      check.computesIn("dy", getDy(), "u", getU()),              // (C5)
  });
}

int64_t LoraLinearAdjointOp::getFlops(int64_t rows) {
  return productFlops(getWeight(), rows) + productFlops(getA(), rows) +
         (getU() ? 0 : productFlops(getB(), rows)) +
         maskFlops(*this, getDx(), rows);
}

/// Parts of the product; `u = scale * dy B`, unless it was made before.
SmallVector<MemRefType> LoraLinearAdjointOp::getWorkspace(int64_t maxRows) {
  SmallVector<MemRefType> buffers = partsOf(*this, maxRows);
  if (!getU())
    buffers.push_back(
        MemRefType::get({maxRows, columns(getB())}, computedType(getDy())));
  return buffers;
}

std::optional<RandomSource> LoraLinearAdjointOp::getRandomSource() {
  return maskOf(*this);
}

LogicalResult LoraParameterAdjointOp::verify() {
  ShapeChecks check(*this);
  return check.all({
      check.sameDim("dy", getDy(), 0, "x", getX(), 0),   // (C1)
      check.sameType("a", getA(), "da", getDa()),        // (C2)
      check.sameType("b", getB(), "db", getDb()),        // (C2)
      check.sameDim("a", getA(), 1, "x", getX(), 1),     // (C2)
      check.sameDim("b", getB(), 0, "dy", getDy(), 1),   // (C2)
      check.sameDim("a", getA(), 0, "b", getB(), 1),     // (C2)
      check.sameDim("h", getH(), 0, "x", getX(), 0),     // (C3)
      check.sameDim("h", getH(), 1, "a", getA(), 0),     // (C3)
      check.sameDim("u", getU(), 0, "dy", getDy(), 0),   // (C3)
      check.sameDim("u", getU(), 1, "a", getA(), 0),     // (C3)
      check.sameElementType("dy", getDy(), "x", getX()), // (C4)
      check.computesIn("x", getX(), "a", getA()),        // (C4)
      check.computesIn("x", getX(), "b", getB()),        // (C4)
      check.computesIn("x", getX(), "h", getH()),        // (C4)
      check.computesIn("x", getX(), "u", getU()),        // (C4)
      check.isDropout(getDropout(), getOf(), getKey()),  // (C5)
  });
}

int64_t LoraParameterAdjointOp::getFlops(int64_t rows) {
  int64_t products = productFlops(getA(), rows) + productFlops(getB(), rows);
  int64_t masks = maskFlops(*this, getX(), rows);
  return 2 * (products + masks) -
         (getH() ? productFlops(getA(), rows) + masks : 0) -
         (getU() ? productFlops(getB(), rows) : 0);
}

/// `u = scale * dy B` and `h = scale * x A^T`, each unless it is an operand.
SmallVector<MemRefType> LoraParameterAdjointOp::getWorkspace(int64_t maxRows) {
  auto narrow =
      MemRefType::get({maxRows, columns(getB())}, computedType(getDy()));
  return SmallVector<MemRefType>(!getU() + !getH(), narrow);
}

std::optional<RandomSource> LoraParameterAdjointOp::getRandomSource() {
  return maskOf(*this);
}

LogicalResult LoraParameterTangentOp::verify() {
  ShapeChecks check(*this);
  return check.all({
      check.sameDim("ty", getTy(), 0, "x", getX(), 0),   // (C1)
      check.sameType("ta", getTa(), "a", getA()),        // (C2)
      check.sameType("tb", getTb(), "b", getB()),        // (C2)
      check.sameDim("a", getA(), 1, "x", getX(), 1),     // (C2)
      check.sameDim("b", getB(), 0, "ty", getTy(), 1),   // (C2)
      check.sameDim("a", getA(), 0, "b", getB(), 1),     // (C2)
      check.sameDim("h", getH(), 0, "x", getX(), 0),     // (C3)
      check.sameDim("h", getH(), 1, "a", getA(), 0),     // (C3)
      check.anyTangent({getTa(), getTb()}),              // (C4)
      check.computesIn("x", getX(), "a", getA()),        // (C5)
      check.computesIn("x", getX(), "b", getB()),        // (C5)
      check.computesIn("x", getX(), "h", getH()),        // (C5)
      check.sameElementType("ty", getTy(), "x", getX()), // (C5)
      check.isDropout(getDropout(), getOf(), getKey()),  // (C6)
  });
}

int64_t LoraParameterTangentOp::getFlops(int64_t rows) {
  int64_t down = productFlops(getA(), rows) + maskFlops(*this, getX(), rows);
  int64_t up = productFlops(getB(), rows);
  return (getTa() ? down + up : 0) + (getTb() ? (getH() ? 0 : down) + up : 0);
}

/// `scale * x ta^T` if `ta` is given, then `h = scale * x A^T` if it is read
/// and was not kept; `ta`, if it is formed once.
SmallVector<MemRefType> LoraParameterTangentOp::getWorkspace(int64_t maxRows) {
  auto narrow =
      MemRefType::get({maxRows, columns(getB())}, computedType(getX()));
  unsigned count = bool(getTa()) + (getTb() && !getH());
  SmallVector<MemRefType> buffers(count, narrow);
  buffers.append(formedOnce(getTa()));
  return buffers;
}

std::optional<RandomSource> LoraParameterTangentOp::getRandomSource() {
  return maskOf(*this);
}

//===----------------------------------------------------------------------===//
// RowLengthsOp
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

/// Counts parameters alone, not rows: B A, and its sum with the weight squared
/// and added up.
int64_t RowLengthsOp::getFlops(int64_t) {
  return (2 * getA().getType().getDimSize(0) + 3) *
         getWeight().getType().getNumElements();
}

/// A, if it is formed once.
SmallVector<MemRefType> RowLengthsOp::getWorkspace(int64_t) {
  return formedOnce(getA(), /*byElement=*/true);
}

//===----------------------------------------------------------------------===//
// RescaleOp: x and the lengths, or the lengths alone if the magnitude is
// frozen.
//===----------------------------------------------------------------------===//

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

Alternatives RescaleOp::getResidualAlternatives(const llvm::BitVector &active) {
  ResidualAlternative reads;
  reads.reads.push_back(
      Residual::operand(getLengthsMutable().getOperandNumber()));
  if (active.test(getMagnitudeMutable().getOperandNumber()))
    reads.reads.push_back(Residual::operand(getXMutable().getOperandNumber()));
  return {reads};
}

Cotangents RescaleOp::buildAdjoint(OpBuilder &builder,
                                   const AdjointRequest &request) {
  const unsigned x = getXMutable().getOperandNumber(),
                 magnitude = getMagnitudeMutable().getOperandNumber();
  if (failed(onlyActive(*this, request, andBias(*this, {x, magnitude}))))
    return failure();
  Value dy = request.cotangents[0];
  Value lengths = readOperand(request, getLengthsMutable());
  SmallVector<Value> cotangents(getNumOperands());
  if (request.activeOperands.test(x))
    cotangents[x] = RescaleOp::create(builder, getLoc(), getX().getType(), dy,
                                      readOperand(request, magnitude), lengths,
                                      /*bias=*/Value());
  if (request.activeOperands.test(magnitude))
    cotangents[magnitude] = RescaleParameterAdjointOp::create(
        builder, getLoc(), getMagnitude().getType(), dy,
        readOperand(request, x), lengths);
  addBiasAdjoint(*this, builder, request, cotangents);
  return cotangents;
}

/// Linear in `x` and `bias`, and in `magnitude` and `bias`.
Tangent RescaleOp::buildTangent(OpBuilder &builder, ArrayRef<Value> tangents) {
  const unsigned x = getXMutable().getOperandNumber(),
                 magnitude = getMagnitudeMutable().getOperandNumber();
  if (failed(onlyActive(*this, tangents, andBias(*this, {x, magnitude}))))
    return failure();
  Type type = getY().getType();
  // The first term adds the bias's tangent on the way.
  Value bias = tangentOfBias(*this, tangents), sum;
  auto addTerm = [&](Value input, Value factor) {
    Value term = RescaleOp::create(builder, getLoc(), type, input, factor,
                                   getLengths(), bias);
    bias = {};
    sum = sumOf(builder, getLoc(), sum, term);
  };
  if (tangents[x])
    addTerm(tangents[x], getMagnitude());
  if (tangents[magnitude])
    addTerm(getX(), tangents[magnitude]);
  if (bias)
    sum = BiasTangentOp::create(builder, getLoc(), type, bias);
  return sum;
}

int64_t RescaleOp::getFlops(int64_t rows) {
  return (getBias() ? 2 : 1) * elementsAtRows(getX().getType(), rows);
}

/// The factors.
SmallVector<MemRefType> RescaleOp::getWorkspace(int64_t) {
  auto type = cast<RankedTensorType>(getLengths().getType());
  return {MemRefType::get(type.getShape(), type.getElementType())};
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

int64_t RescaleParameterAdjointOp::getFlops(int64_t rows) {
  return 3 * elementsAtRows(getX().getType(), rows);
}

} // namespace hone
