//===- HoneRandomOps.cpp - Ops that draw random numbers, or regularise ----===//
//
// What each stream is called, and what the ops are where nothing trains.
//
//===----------------------------------------------------------------------===//

#include "dialects/Hone/HoneOps.h"
#include "dialects/Hone/ShapeChecks.h"

using namespace mlir;

namespace hone {

//===----------------------------------------------------------------------===//
// Streams
//===----------------------------------------------------------------------===//

static RandomSource directionOf(Value parameter) {
  return {rt::RandomPurpose::Perturb,
          parameter.getDefiningOp<ParameterOp>().getName()};
}

std::optional<RandomSource> PerturbedOp::getRandomSource() {
  return directionOf(getParameter());
}

std::optional<RandomSource> DirectionOp::getRandomSource() {
  return directionOf(getParameter());
}

template <typename LoraLike>
static std::optional<RandomSource> maskOf(LoraLike op) {
  if (!op.getDropout())
    return std::nullopt;
  return RandomSource{rt::RandomPurpose::Dropout, *op.getOf()};
}

std::optional<RandomSource> LoraLinearOp::getRandomSource() {
  return maskOf(*this);
}

std::optional<RandomSource> LoraLinearAdjointOp::getRandomSource() {
  return maskOf(*this);
}

std::optional<RandomSource> LoraParameterAdjointOp::getRandomSource() {
  return maskOf(*this);
}

std::optional<RandomSource> LoraParameterTangentOp::getRandomSource() {
  return maskOf(*this);
}

std::optional<RandomSource> EmbeddingNoiseOp::getRandomSource() {
  return RandomSource{rt::RandomPurpose::Noise, getOf()};
}

//===----------------------------------------------------------------------===//
// Without regularisation
//===----------------------------------------------------------------------===//

bool LoraLinearOp::isRegularizing() { return getDropout().has_value(); }

SmallVector<Value> LoraLinearOp::buildPlain(OpBuilder &builder) {
  auto plain = LoraLinearOp::create(
      builder, getLoc(), getResultTypes(), getX(), getWeight(), getA(), getB(),
      getBias(), /*key=*/Value(), getScaleAttr(), /*dropout=*/FloatAttr(),
      /*of=*/StringAttr());
  return SmallVector<Value>(plain->getResults());
}

bool LinearCrossEntropyOp::isRegularizing() {
  return getSmoothing().has_value();
}

SmallVector<Value> LinearCrossEntropyOp::buildPlain(OpBuilder &builder) {
  auto plain = cast<LinearCrossEntropyOp>(builder.clone(**this));
  plain.removeSmoothingAttr();
  return SmallVector<Value>(plain->getResults());
}

bool EmbeddingNoiseOp::isRegularizing() { return true; }

SmallVector<Value> EmbeddingNoiseOp::buildPlain(OpBuilder &builder) {
  // A block returns none of its arguments.
  if (isa<BlockArgument>(getX()))
    return {
        ConvertOp::create(builder, getLoc(), getY().getType(), getX()).getY()};
  return {getX()};
}

LogicalResult EmbeddingNoiseOp::verify() {
  // (C3)
  if (!(getAlpha().convertToDouble() > 0))
    return emitOpError("expects 'alpha' to be positive");
  return ShapeChecks(*this).sameDim("starts", getStarts(), 0, "x", getX(),
                                    0); // (C2)
}

} // namespace hone
