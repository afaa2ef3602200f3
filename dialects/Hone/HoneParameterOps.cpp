//===- HoneParameterOps.cpp - Verifiers of gradients of parameters --------===//
//
// Constraint numbers are those of the op's description and of the tests.
//
//===----------------------------------------------------------------------===//

#include "dialects/Hone/HoneOps.h"
#include "dialects/Hone/ShapeChecks.h"

using namespace mlir;

namespace hone {

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

LogicalResult BiasAdjointOp::verify() {
  ShapeChecks check(*this);
  return check.all({
      check.sameDim("db", getDb(), 0, "dy", getDy(), 1), // (C1)
      check.computesIn("dy", getDy(), "db", getDb()),    // (C2)
  });
}

LogicalResult BiasTangentOp::verify() {
  ShapeChecks check(*this);
  return check.all({
      check.sameDim("tb", getTb(), 0, "ty", getTy(), 1), // (C1)
      check.computesIn("ty", getTy(), "tb", getTb()),    // (C2)
  });
}

LogicalResult RmsNormParameterAdjointOp::verify() {
  ShapeChecks check(*this);
  return check.all({
      check.sameType("dy", getDy(), "x", getX()),          // (C1)
      check.normHeads(getX(), "dw", getDw(), getHeads()),  // (C1)
      check.sameDim("rstd", getRstd(), 0, "x", getX(), 0), // (C2)
      check.dimIs("rstd", getRstd(), 1, getHeads()),       // (C2)
      check.computesIn("x", getX(), "rstd", getRstd()),    // (C2)
      check.computesIn("x", getX(), "dw", getDw()),        // (C2)
  });
}

LogicalResult EmbeddingParameterAdjointOp::verify() {
  ShapeChecks check(*this);
  return check.all({
      check.sameDim("ids", getIds(), 0, "dy", getDy(), 0), // (C1)
      check.sameDim("dt", getDt(), 1, "dy", getDy(), 1),   // (C1)
      check.isKnown("dt", getDt(), 0),                     // (C2)
      check.computesIn("dy", getDy(), "dt", getDt()),      // (C3)
  });
}

LogicalResult LinearCrossEntropyParameterAdjointOp::verify() {
  ShapeChecks check(*this);
  return check.all({
      check.sameType("dw", getDw(), "weight", getWeight()),      // (C1)
      check.sameDim("weight", getWeight(), 1, "x", getX(), 1),   // (C1)
      check.computesIn("x", getX(), "dw", getDw()),              // (C1)
      check.sameDim("targets", getTargets(), 0, "x", getX(), 0), // (C2)
      check.isKnown("weight", getWeight(), 0),                   // (C3)
      check.isFraction("smoothing", getSmoothing()),             // (C4)
  });
}

} // namespace hone
