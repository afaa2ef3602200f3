//===- BFloat16.h - Operands of pairs -------------------------------------===//
//
// For CPUs with instructions for pairs of bfloat16, which all have masks and
// vectors of 512 bits: 16 numbers of f32.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "mlir/IR/Builders.h"

namespace hone {

/// At most 16 numbers of f32, rounded to nearest even; of bf16 as they are.
mlir::Value roundToBFloat16(mlir::OpBuilder &b, mlir::Location loc,
                            mlir::Value numbers);

/// The first 16 of `left` terms of a row at `address`, rounded; zero for those
/// that are not left. `element`: f32 or bf16.
mlir::Value loadRoundedTerms(mlir::OpBuilder &b, mlir::Location loc,
                             mlir::Type element, mlir::Value address,
                             mlir::Value left);

} // namespace hone
