//===- GpuDialect.h - The dialect simt ------------------------------------===//
//
// GpuOps.td is the manual.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "dialects/Tile/TileDialect.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "targets/gpu/GpuDialect.h.inc"

#define GET_OP_CLASSES
#include "targets/gpu/GpuOps.h.inc"

namespace hone::simt {

/// Where a product's sums go.
struct SumPlace {
  mlir::Value c, row, column, m, n;

  static SumPlace of(tile::ProductOp op) {
    return {op.getC(), op.getCRow(), op.getCColumn(), op.getM(), op.getN()};
  }
  bool operator==(const SumPlace &other) const {
    return c == other.c && row == other.row && column == other.column &&
           m == other.m && n == other.n;
  }
};

/// Whether four subgroups multiply together anywhere in `op`, for which rows of
/// shared memory begin at multiples of `MultiplyGroupOp::kAlignment`.
bool hasGroups(mlir::Operation *op);

} // namespace hone::simt
