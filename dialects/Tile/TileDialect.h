//===- TileDialect.h - The tile dialect and its ops -----------------------===//
//
// See TileOps.td, which is the manual. Bodies of the ops are scalar code over
// arith, math and memref; the targets decide how many lanes run together.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_DIALECTS_TILE_TILEDIALECT_H
#define HONE_DIALECTS_TILE_TILEDIALECT_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "dialects/Tile/TileDialect.h.inc"
#include "dialects/Tile/TileEnums.h.inc"

#define GET_OP_CLASSES
#include "dialects/Tile/TileOps.h.inc"

#endif // HONE_DIALECTS_TILE_TILEDIALECT_H
