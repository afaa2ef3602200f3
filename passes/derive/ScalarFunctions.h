//===- ScalarFunctions.h - Formulas of a step on a few numbers ------------===//
//
// Learning rates, clipping, bias corrections: functions of the arith dialect
// that the schedule calls. They are compiled, so that neither a C library nor
// the runtime decides a bit of them.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

namespace hone {

/// The formula `name` as @scalar.`name`, and its callees, added to `module` if
/// they are not there yet. The type of the first vector among operands and
/// result says how long a formula's vectors are; those of another length than
/// the first are @scalar.`name`.`length`. Fails with a diagnostic if something
/// else in the module has the name.
mlir::FailureOr<mlir::func::FuncOp> getScalarFunction(mlir::ModuleOp module,
                                                      llvm::StringRef name,
                                                      mlir::TypeRange operands,
                                                      mlir::Type result);

/// @scalar.`name`, which gives `numbers`. The module has nothing of that name.
mlir::FailureOr<mlir::func::FuncOp>
getConstants(mlir::ModuleOp module, llvm::StringRef name,
             llvm::ArrayRef<double> numbers);

/// Trainable parameters of a layer, in the order of their table.
struct ParameterRange {
  int64_t begin, end;
};

/// @scalar.`name`: the length of each of `ranges` of vectors, from sums of the
/// squares of all `parameters`. The module has nothing of that name.
mlir::FailureOr<mlir::func::FuncOp>
getLayerNorms(mlir::ModuleOp module, llvm::StringRef name,
              llvm::ArrayRef<ParameterRange> ranges, int64_t parameters);

} // namespace hone
