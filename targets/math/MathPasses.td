//===- MathPasses.td - exp and log as arithmetic -------------------------===//
//
// For targets whose machines have no instruction for them, and whose programs
// should not call a library: its numbers differ from system to system.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_TARGETS_MATH_MATHPASSES_TD
#define HONE_TARGETS_MATH_MATHPASSES_TD

include "mlir/Pass/PassBase.td"

def ApproximateMath : Pass<"hone-approximate-math"> {
  let summary = "replace f32 exp and log by polynomials";
  let description = [{
    Scalars and vectors get the same polynomial, so a value does not depend on
    whether its loop was widened. f64 stays.
  }];
  let options = [
    Option<"scalesVectors", "scales-vectors", "bool", "false",
           "whether AVX-512 multiplies by powers of two; changes no bit">,
  ];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect",
                           "::mlir::arith::ArithDialect",
                           "::mlir::math::MathDialect",
                           "::mlir::vector::VectorDialect"];
}

def ExpandMath : Pass<"hone-expand-math"> {
  let summary = "replace f64 exp and log by arithmetic";
  let description = [{
    Scalars and vectors get the same arithmetic, so that no C library decides a
    digit. Both are within 2 ulp, with the limits that IEEE gives them. f32 is
    `hone-approximate-math`'s.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::math::MathDialect"];
}

#endif // HONE_TARGETS_MATH_MATHPASSES_TD
