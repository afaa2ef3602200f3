//===- HoneTangentOps.cpp - Verifiers of tangents -------------------------===//
//
// Constraint numbers are those of the op's description and of the tests.
//
//===----------------------------------------------------------------------===//

#include "dialects/Hone/HoneOps.h"
#include "dialects/Hone/ShapeChecks.h"

using namespace mlir;

namespace hone {

/// A direction that is zero has no op.
static LogicalResult anyTangent(Operation *op, ArrayRef<Value> tangents) {
  if (llvm::any_of(tangents, [](Value tangent) { return bool(tangent); }))
    return success();
  return op->emitOpError("expects a tangent of at least one operand");
}

LogicalResult RmsNormTangentOp::verify() {
  ShapeChecks check(*this);
  return check.all({
      check.sameType("tx", getTx(), "x", getX()),                 // (C1)
      check.sameType("x", getX(), "ty", getTy()),                 // (C1)
      check.normHeads(getX(), "weight", getWeight(), getHeads()), // (C1, C3)
      check.sameDim("rstd", getRstd(), 0, "x", getX(), 0),        // (C2)
      check.dimIs("rstd", getRstd(), 1, getHeads()),              // (C2)
      check.computesIn("x", getX(), "rstd", getRstd()),           // (C2)
  });
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
      anyTangent(*this, {getTa(), getTb()}),             // (C4)
      check.computesIn("x", getX(), "a", getA()),        // (C5)
      check.computesIn("x", getX(), "b", getB()),        // (C5)
      check.computesIn("x", getX(), "h", getH()),        // (C5)
      check.sameElementType("ty", getTy(), "x", getX()), // (C5)
      check.isDropout(getDropout(), getOf(), getKey()),  // (C6)
  });
}

LogicalResult AttentionTangentOp::verify() {
  ShapeChecks check(*this);
  // (C2)
  if (failed(check.headGroups(getQ(), getK(), getHeads(), getKvHeads())))
    return failure();
  return check.all({
      check.sameType("tq", getTq(), "q", getQ()),                      // (C1)
      check.sameType("ty", getTy(), "q", getQ()),                      // (C1)
      check.sameType("k", getK(), "v", getV()),                        // (C1)
      check.sameType("tk", getTk(), "k", getK()),                      // (C1)
      check.sameType("tv", getTv(), "v", getV()),                      // (C1)
      check.sameDim("k", getK(), 0, "q", getQ(), 0),                   // (C1)
      check.sameDim("starts", getStarts(), 0, "q", getQ(), 0),         // (C3)
      check.sameDim("normalizer", getNormalizer(), 0, "q", getQ(), 0), // (C3)
      check.dimIs("normalizer", getNormalizer(), 1, 2 * getHeads()),   // (C3)
      anyTangent(*this, {getTq(), getTk(), getTv()}),                  // (C4)
      check.sameElementType("k", getK(), "q", getQ()),                 // (C5)
      check.computesIn("q", getQ(), "normalizer", getNormalizer()),    // (C5)
      check.isPositive("window", getWindow()),                         // (C6)
  });
}

LogicalResult GatedActivationTangentOp::verify() {
  ShapeChecks check(*this);
  return check.all({
      check.sameType("up", getUp(), "gate", getGate()),       // (C1)
      check.sameType("tgate", getTgate(), "gate", getGate()), // (C1)
      check.sameType("tup", getTup(), "gate", getGate()),     // (C1)
      check.sameType("ty", getTy(), "gate", getGate()),       // (C1)
      anyTangent(*this, {getTgate(), getTup()}),              // (C2)
  });
}

LogicalResult LinearCrossEntropyTangentOp::verify() {
  ShapeChecks check(*this);
  return check.all({
      check.sameType("tx", getTx(), "x", getX()),                // (C1)
      check.sameDim("weight", getWeight(), 1, "x", getX(), 1),   // (C1)
      check.sameType("tw", getTw(), "weight", getWeight()),      // (C1)
      check.sameDim("targets", getTargets(), 0, "x", getX(), 0), // (C2)
      check.isKnown("weight", getWeight(), 0),                   // (C3)
      anyTangent(*this, {getTx(), getTw()}),                     // (C4)
      check.isFraction("smoothing", getSmoothing()),             // (C5)
  });
}

} // namespace hone
