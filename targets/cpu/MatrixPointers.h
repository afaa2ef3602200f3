//===- MatrixPointers.h - From memrefs to the arguments of kernels --------===//
//
// Kernels take raw pointers and 64-bit words; tile ops have memrefs and
// indices.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "targets/cpu/CpuDescription.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"

namespace hone {

mlir::Value indexConstant(mlir::OpBuilder &b, mlir::Location loc,
                          int64_t value);

mlir::Value toWord(mlir::OpBuilder &b, mlir::Location loc, mlir::Value value);

/// The address of buffer[indices...].
mlir::Value elementPointer(mlir::OpBuilder &b, mlir::Location loc,
                           mlir::Value buffer, mlir::ValueRange indices);

/// Lanes of a vector that evenly divides a panel of `columns` columns.
unsigned panelLanes(const CpuDescription &cpu, mlir::Type element,
                    int64_t columns);

/// A panel of `terms` rows for sums of the type `element`: whole cache lines,
/// or, with `mayBeNarrow`, half of one or a quarter where `columns` are that
/// few. Pairs are filled up with zeros.
mlir::MemRefType panelType(mlir::Type element, int64_t terms, int64_t columns,
                           bool pairs, bool mayBeNarrow);

} // namespace hone
