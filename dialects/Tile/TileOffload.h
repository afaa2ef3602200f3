//===- TileOffload.h - Buffers that rest in a file ------------------------===//

#pragma once

#include "dialects/Tile/TileDialect.h"

#define GET_OP_CLASSES
#include "dialects/Tile/TileOffload.h.inc"

namespace hone::tile {

/// Whether `op` becomes a call of the runtime, which finds what it needs
/// through the frame: what is said of mapped weights and of the file of
/// offloaded values. Such ops stand outside of `tile.parallel`.
bool callsRuntime(mlir::Operation *op);

} // namespace hone::tile
