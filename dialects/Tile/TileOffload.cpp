//===- TileOffload.cpp - Buffers that rest in a file ----------------------===//

#include "dialects/Tile/TileOffload.h"

using namespace mlir;

#define GET_OP_CLASSES
#include "dialects/Tile/TileOffload.cpp.inc"

bool hone::tile::callsRuntime(Operation *op) {
  return isa<PrefetchOp, ReleaseOp, OffloadOp, ReloadOp, AwaitOp>(op);
}
