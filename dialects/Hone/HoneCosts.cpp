//===- HoneCosts.cpp - Floating-point operations of each op ---------------===//
//
// Counts of the mathematics: a multiply-add is two operations, attention sees
// half of the square on average, or its window, an exponential counts as one.
//
//===----------------------------------------------------------------------===//

#include "dialects/Hone/HoneOps.h"

using namespace mlir;

namespace hone {

bool hasRows(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  return tensor.getRank() > 0 && tensor.isDynamicDim(0);
}

bool isAmbient(Value value) {
  Operation *op = value.getDefiningOp();
  return op && op->hasTrait<Ambient>();
}

int64_t elementsAtRows(Type type, int64_t rows) {
  int64_t elements = 1;
  for (int64_t size : cast<ShapedType>(type).getShape())
    elements *= ShapedType::isDynamic(size) ? rows : size;
  return elements;
}

int64_t bytesAtRows(Type type, int64_t rows) {
  return elementsAtRows(type, rows) *
         (cast<ShapedType>(type).getElementTypeBitWidth() / 8);
}

int64_t operandAndResultBytes(Operation *op, int64_t rows) {
  int64_t bytes = 0;
  for (Type type :
       llvm::concat<const Type>(op->getOperandTypes(), op->getResultTypes()))
    bytes += bytesAtRows(type, rows);
  return bytes;
}

/// 2 * rows * m * n for a product with a weight of the type [m, n].
static int64_t productFlops(Value weight, int64_t rows) {
  return 2 * rows * elementsAtRows(weight.getType(), rows);
}

static int64_t elements(Value value, int64_t rows) {
  return elementsAtRows(value.getType(), rows);
}

/// One product of two matrices within causal attention, all heads.
template <typename AttentionLike>
static int64_t attentionProductFlops(AttentionLike op, int64_t rows) {
  int64_t window = std::min<int64_t>(op.getWindow().value_or(rows), rows);
  // The last `window` keys, but for a triangle of the first rows.
  int64_t twiceThePairs = window * (2 * rows - window);
  return twiceThePairs * elements(op.getQ(), 1);
}

/// f(x), and f(x) with f'(x), of one element; erf counts as one too.
static int64_t valueFlops(Activation kind) {
  switch (kind) {
  case Activation::Relu:
    return 1;
  case Activation::Gelu:
    return 5;
  case Activation::GeluTanh:
    return 8;
  case Activation::Silu:
    return 4;
  }
  llvm_unreachable("all activations are handled");
}
static int64_t slopeFlops(Activation kind) {
  switch (kind) {
  case Activation::Relu:
    return 2;
  case Activation::Gelu:
    return 11;
  case Activation::GeluTanh:
    return 16;
  case Activation::Silu:
    return 7;
  }
  llvm_unreachable("all activations are handled");
}

/// Of a random word for each element: Philox4x32-10 makes four of twenty
/// products, each with four other operations.
static int64_t drawFlops(Value value, int64_t rows) {
  return 25 * elements(value, rows);
}

template <typename LoraLike>
static int64_t maskFlops(LoraLike op, Value masked, int64_t rows) {
  return op.getDropout() ? drawFlops(masked, rows) : 0;
}

int64_t EmbeddingNoiseOp::getFlops(int64_t rows) {
  return drawFlops(getY(), rows);
}
int64_t EmbeddingOp::getFlops(int64_t rows) {
  return getScale() ? elements(getY(), rows) : 0;
}
int64_t RmsNormOp::getFlops(int64_t rows) { return 4 * elements(getX(), rows); }
int64_t LinearOp::getFlops(int64_t rows) {
  return productFlops(getWeight(), rows);
}
int64_t LoraLinearOp::getFlops(int64_t rows) {
  return productFlops(getWeight(), rows) + productFlops(getA(), rows) +
         productFlops(getB(), rows) + maskFlops(*this, getX(), rows);
}
int64_t RopeOp::getFlops(int64_t rows) { return 3 * elements(getX(), rows); }
int64_t AttentionOp::getFlops(int64_t rows) {
  return 2 * attentionProductFlops(*this, rows);
}
int64_t GatedActivationOp::getFlops(int64_t rows) {
  return (valueFlops(getActivation()) + 1) * elements(getY(), rows);
}
int64_t ActivationOp::getFlops(int64_t rows) {
  return valueFlops(getActivation()) * elements(getY(), rows);
}
int64_t LayerNormOp::getFlops(int64_t rows) {
  return 8 * elements(getX(), rows);
}
int64_t PositionEmbeddingOp::getFlops(int64_t) { return 0; }
int64_t ColumnsOp::getFlops(int64_t) { return 0; }
int64_t AddOp::getFlops(int64_t rows) { return elements(getY(), rows); }
/// For dx with smoothed labels also the sum of the head's rows, as a product.
int64_t LinearCrossEntropyOp::getFlops(int64_t rows) {
  if (!getDx())
    return productFlops(getWeight(), rows);
  return productFlops(getWeight(), 2 * rows + (getSmoothing() ? 1 : 0));
}

int64_t ConvertOp::getFlops(int64_t rows) { return elements(getX(), rows); }
int64_t ScaleOp::getFlops(int64_t rows) { return elements(getX(), rows); }
int64_t RmsNormAdjointOp::getFlops(int64_t rows) {
  return 8 * elements(getX(), rows);
}
int64_t LinearAdjointOp::getFlops(int64_t rows) {
  return productFlops(getWeight(), rows);
}
int64_t LoraLinearAdjointOp::getFlops(int64_t rows) {
  return productFlops(getWeight(), rows) + productFlops(getA(), rows) +
         productFlops(getB(), rows) + maskFlops(*this, getDx(), rows);
}
int64_t LoraParameterAdjointOp::getFlops(int64_t rows) {
  int64_t products = productFlops(getA(), rows) + productFlops(getB(), rows);
  int64_t masks = maskFlops(*this, getX(), rows);
  return 2 * (products + masks) -
         (getH() ? productFlops(getA(), rows) + masks : 0);
}
int64_t AttentionAdjointOp::getFlops(int64_t rows) {
  return 5 * attentionProductFlops(*this, rows);
}
int64_t GatedActivationAdjointOp::getFlops(int64_t rows) {
  return (slopeFlops(getActivation()) + 3) * elements(getGate(), rows);
}
int64_t ActivationAdjointOp::getFlops(int64_t rows) {
  return (slopeFlops(getActivation()) + 1) * elements(getX(), rows);
}
int64_t LayerNormAdjointOp::getFlops(int64_t rows) {
  return 10 * elements(getX(), rows);
}
int64_t LayerNormParameterAdjointOp::getFlops(int64_t rows) {
  return 5 * elements(getX(), rows);
}
int64_t PositionEmbeddingParameterAdjointOp::getFlops(int64_t rows) {
  return elements(getDy(), rows);
}
int64_t ColumnsAdjointOp::getFlops(int64_t) { return 0; }

int64_t LinearParameterAdjointOp::getFlops(int64_t rows) {
  return productFlops(getDw(), rows);
}
int64_t BiasAdjointOp::getFlops(int64_t rows) {
  return elements(getDy(), rows);
}
int64_t BiasTangentOp::getFlops(int64_t) { return 0; }
int64_t RmsNormParameterAdjointOp::getFlops(int64_t rows) {
  return (getRstd() ? 3 : 5) * elements(getX(), rows);
}
int64_t EmbeddingParameterAdjointOp::getFlops(int64_t rows) {
  return elements(getDy(), rows);
}
/// The logits twice, and the gradient.
int64_t LinearCrossEntropyParameterAdjointOp::getFlops(int64_t rows) {
  return 3 * productFlops(getWeight(), rows);
}

int64_t LayerNormTangentOp::getFlops(int64_t rows) {
  int64_t each = (getTx() ? 10 : 2) + (getTw() ? 2 : 0) + (getTb() ? 1 : 0);
  return each * elements(getX(), rows);
}
int64_t RmsNormTangentOp::getFlops(int64_t rows) {
  return 8 * elements(getX(), rows);
}
int64_t LoraParameterTangentOp::getFlops(int64_t rows) {
  int64_t down = productFlops(getA(), rows) + maskFlops(*this, getX(), rows);
  int64_t up = productFlops(getB(), rows);
  return (getTa() ? down + up : 0) + (getTb() ? (getH() ? 0 : down) + up : 0);
}
int64_t AttentionTangentOp::getFlops(int64_t rows) {
  int64_t scores = 1 + bool(getTq()) + bool(getTk());
  int64_t sums = (getTq() || getTk()) + bool(getTv());
  return (scores + sums) * attentionProductFlops(*this, rows);
}
int64_t GatedActivationTangentOp::getFlops(int64_t rows) {
  return (slopeFlops(getActivation()) + 4) * elements(getGate(), rows);
}
int64_t LinearCrossEntropyTangentOp::getFlops(int64_t rows) {
  return (1 + bool(getTx()) + bool(getTw())) * productFlops(getWeight(), rows);
}
int64_t DotOp::getFlops(int64_t rows) { return 2 * elements(getA(), rows); }

} // namespace hone
