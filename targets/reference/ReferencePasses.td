//===- ReferencePasses.td - The waist as scalar loops ---------------------===//
//
// One pass: the rest of the way to LLVM is the host's.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_TARGETS_REFERENCE_REFERENCEPASSES_TD
#define HONE_TARGETS_REFERENCE_REFERENCEPASSES_TD

include "mlir/Pass/PassBase.td"

def LowerToLoops : Pass<"hone-reference-lower-tiles", "::mlir::ModuleOp"> {
  let summary = "lower tile ops to loops over scalars, as their manual says";
  let description = [{
    Element by element and term by term, in ascending order. Products are chains
    of fused multiply-adds in blocks of their terms, so that in float32 and
    float64 they have the bits of every target that keeps to the manual. Hints
    are not taken.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::math::MathDialect",
                           "::mlir::memref::MemRefDialect",
                           "::mlir::scf::SCFDialect"];
}

#endif // HONE_TARGETS_REFERENCE_REFERENCEPASSES_TD
