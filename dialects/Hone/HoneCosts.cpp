//===- HoneCosts.cpp - Floating-point operations of each op ---------------===//
//
// Counts of the mathematics: a multiply-add is two operations, attention sees
// half of the square on average, an exponential counts as one.
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
static int64_t attentionProductFlops(Value q, int64_t rows) {
  return rows * elements(q, rows);
}

int64_t EmbeddingOp::getFlops(int64_t) { return 0; }
int64_t RmsNormOp::getFlops(int64_t rows) { return 4 * elements(getX(), rows); }
int64_t LinearOp::getFlops(int64_t rows) {
  return productFlops(getWeight(), rows);
}
int64_t LoraLinearOp::getFlops(int64_t rows) {
  return productFlops(getWeight(), rows) + productFlops(getA(), rows) +
         productFlops(getB(), rows);
}
int64_t RopeOp::getFlops(int64_t rows) { return 3 * elements(getX(), rows); }
int64_t AttentionOp::getFlops(int64_t rows) {
  return 2 * attentionProductFlops(getQ(), rows);
}
int64_t SwigluOp::getFlops(int64_t rows) { return 5 * elements(getY(), rows); }
int64_t AddOp::getFlops(int64_t rows) { return elements(getY(), rows); }
int64_t LinearCrossEntropyOp::getFlops(int64_t rows) {
  return productFlops(getWeight(), rows) * (getDx() ? 2 : 1);
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
         productFlops(getB(), rows);
}
int64_t LoraParameterAdjointOp::getFlops(int64_t rows) {
  int64_t products = productFlops(getA(), rows) + productFlops(getB(), rows);
  return 2 * products - (getH() ? productFlops(getA(), rows) : 0);
}
int64_t AttentionAdjointOp::getFlops(int64_t rows) {
  return 5 * attentionProductFlops(getQ(), rows);
}
int64_t SwigluAdjointOp::getFlops(int64_t rows) {
  return 10 * elements(getGate(), rows);
}

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

int64_t RmsNormTangentOp::getFlops(int64_t rows) {
  return 8 * elements(getX(), rows);
}
int64_t LoraParameterTangentOp::getFlops(int64_t rows) {
  int64_t down = productFlops(getA(), rows), up = productFlops(getB(), rows);
  return (getTa() ? down + up : 0) + (getTb() ? (getH() ? 0 : down) + up : 0);
}
int64_t AttentionTangentOp::getFlops(int64_t rows) {
  int64_t scores = 1 + bool(getTq()) + bool(getTk());
  int64_t sums = (getTq() || getTk()) + bool(getTv());
  return (scores + sums) * attentionProductFlops(getQ(), rows);
}
int64_t SwigluTangentOp::getFlops(int64_t rows) {
  return 11 * elements(getGate(), rows);
}
int64_t LinearCrossEntropyTangentOp::getFlops(int64_t rows) {
  return (1 + bool(getTx()) + bool(getTw())) * productFlops(getWeight(), rows);
}
int64_t DotOp::getFlops(int64_t rows) { return 2 * elements(getA(), rows); }

} // namespace hone
