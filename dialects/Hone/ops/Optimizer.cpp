//===- Optimizer.cpp - Steps of optimizers --------------------------------===//

#include "dialects/Hone/HoneOps.h"
#include "dialects/Hone/Numerics.h"
#include "dialects/Hone/ShapeChecks.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace hone {

int64_t StateSlot::elementsOf(RankedTensorType parameter) const {
  int64_t elements = parameter.getNumElements();
  switch (extent) {
  case Extent::Elements:
    return elements;
  case Extent::Blocks:
    return llvm::divideCeil(elements, numerics::kStateBlock);
  case Extent::Rows:
    return parameter.getRank() == 1 ? 1 : parameter.getDimSize(0);
  case Extent::Columns:
    return parameter.getShape().back();
  }
  llvm_unreachable("all are handled");
}

static LogicalResult verifyUpdate(UpdateOpInterface op) {
  // (C1)
  Value gradient = op.getLayerGradient();
  if (gradient && !gradient.getDefiningOp<LayerGradientOp>())
    return op->emitOpError("expects 'gradient' to be the result of a "
                           "'hone.layer_gradient'");
  // (C2)
  if (gradient && op.getDirectionCoefficients())
    return op->emitOpError("expects a gradient or directions but got both");
  if (gradient && op.getLayersAttr())
    return op->emitOpError("expects one layer or several but got both");
  return ShapeChecks(op).isOfEntry("mask", op.getMask(),
                                   op.getMaskIndex()); // (C3)
}

/// A moment of each element, in bfloat16 if it is `narrow`.
static StateSlot momentum(Type computed, bool narrow) {
  if (narrow)
    return {"state0.bfloat16", BFloat16Type::get(computed.getContext())};
  return {"state0", computed};
}

LogicalResult SgdOp::verify() { return verifyUpdate(*this); }

SmallVector<StateSlot> SgdOp::getStateSlots(Type computed) {
  if (!getMomentum())
    return {};
  return {momentum(computed, getNarrow())};
}

LogicalResult AdamwOp::verify() { return verifyUpdate(*this); }

SmallVector<StateSlot> AdamwOp::getStateSlots(Type computed) {
  return {{"state0", computed}, {"state1", computed}};
}

LogicalResult AdamwCodedOp::verify() { return verifyUpdate(*this); }

SmallVector<StateSlot> AdamwCodedOp::getStateSlots(Type computed) {
  Type byte = IntegerType::get(computed.getContext(), 8);
  return {{"state0.codes", byte},
          {"state1.codes", byte},
          {"state0.largest", computed, StateSlot::Extent::Blocks},
          {"state1.largest", computed, StateSlot::Extent::Blocks}};
}

LogicalResult LionOp::verify() { return verifyUpdate(*this); }

SmallVector<StateSlot> LionOp::getStateSlots(Type computed) {
  return {momentum(computed, getNarrow())};
}

/// Verifies an op that reads each gradient several times.
static LogicalResult verifyUpdateOfTensors(UpdateOpInterface op) {
  // (C4)
  if (op.getDirectionCoefficients())
    return op->emitOpError("expects a gradient in memory but got directions");
  return verifyUpdate(op);
}

LogicalResult AdafactorOp::verify() { return verifyUpdateOfTensors(*this); }

SmallVector<StateSlot> AdafactorOp::getStateSlots(Type computed) {
  return {{"state1.rows", computed, StateSlot::Extent::Rows},
          {"state1.columns", computed, StateSlot::Extent::Columns}};
}

LogicalResult SinkgdOp::verify() { return verifyUpdateOfTensors(*this); }

SmallVector<StateSlot> SinkgdOp::getStateSlots(Type computed) {
  Type real = Float64Type::get(computed.getContext());
  using Extent = StateSlot::Extent;
  return {{"scales.rows", real, Extent::Rows, /*isKept=*/false},
          {"scales.columns", real, Extent::Columns, /*isKept=*/false},
          {"squares.columns", real, Extent::Columns, /*isKept=*/false}};
}

} // namespace hone
