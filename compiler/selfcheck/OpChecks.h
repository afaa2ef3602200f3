//===- OpChecks.h - Each op's derivatives, at the model's widths ----------===//
//
// J v is the result of the tangent that an op builds, J' u that of its adjoint,
// both compiled, in f64. <u, J v> = <J' u, v> to rounding, even if other ops
// are wrong. If the two disagree, a difference of the op's own values tells
// which is wrong.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "compiler/selfcheck/Report.h"

#include "targets/Target.h"
#include "threads/Pool.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/BitVector.h"

namespace hone::selfcheck {

/// An op of a module in f64, and the operands along which it has derivatives.
struct OpSubject {
  mlir::Operation *op;
  llvm::BitVector active;
  std::string name; ///< for people
};

/// The ops of the loss of `module` that something trainable reaches; ops of one
/// kind with the same widths are one. None if nothing trains.
std::vector<OpSubject> findOps(mlir::ModuleOp module);

/// Appends two checks for each of `ops`, which are in blocks of `module`: the
/// largest errors in batches of `rowCounts` rows. Each alternative of the
/// adjoint and each form of the tangent is checked, along each operand. An
/// error if an op has no derivative or the target's code cannot be run.
llvm::Error checkOps(mlir::ModuleOp module, llvm::ArrayRef<OpSubject> ops,
                     llvm::ArrayRef<int64_t> rowCounts, const Target &target,
                     rt::Pool &pool, Report &report);

} // namespace hone::selfcheck
