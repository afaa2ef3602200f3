//===- TileDialect.h - The tile dialect and its ops -----------------------===//
//
// See TileOps.td, which is the manual. Bodies of the ops are scalar code over
// arith, math and memref; the targets decide how many lanes run together.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "dialects/Tile/TileDialect.h.inc"
#include "dialects/Tile/TileEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/Tile/TileAttrs.h.inc"

#define GET_TYPEDEF_CLASSES
#include "dialects/Tile/TileTypes.h.inc"

#define GET_OP_CLASSES
#include "dialects/Tile/TileOps.h.inc"

namespace hone::tile {

/// Numbers that share a scale; none if groups are not equal.
std::optional<int64_t> groupSize(mlir::MemRefType packed,
                                 mlir::MemRefType scales, int64_t bits);

/// Whether `op` becomes a call of the runtime, which works through the frame:
/// ops on mapped weights and on the file of offloaded values. Such ops stand
/// outside of `tile.parallel`.
bool callsRuntime(mlir::Operation *op);

/// (C1) to (C3) of the ops that read a matrix however it is stored.
llvm::LogicalResult verifyStorage(mlir::Operation *op, mlir::Value matrix,
                                  mlir::Value scales, mlir::Value biases,
                                  std::optional<int64_t> bits);

/// Scalar code for an element of `matrix`, with its row and column:
/// `keyword (%value, %i, %j) {...}`; parsing begins after the keyword.
mlir::ParseResult parseElementBody(mlir::OpAsmParser &parser,
                                   mlir::Region &region, mlir::Type matrix);
void printElementBody(mlir::OpAsmPrinter &p, llvm::StringRef keyword,
                      mlir::Region &region);
/// A region that is not empty takes (element, index, index) and yields one
/// `element`.
llvm::LogicalResult verifyElementBody(mlir::Operation *op, mlir::Region &region,
                                      mlir::Type element, llvm::StringRef what);

} // namespace hone::tile
