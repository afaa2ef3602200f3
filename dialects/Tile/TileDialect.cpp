//===- TileDialect.cpp - Registration of the tile dialect -----------------===//
//
// Only registration: verifiers, builders and assembly are in TileOps.cpp.
//
//===----------------------------------------------------------------------===//

#include "dialects/Tile/TileDialect.h"

using namespace hone::tile;

#include "dialects/Tile/TileDialect.cpp.inc"

#include "dialects/Tile/TileEnums.cpp.inc"

void TileDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "dialects/Tile/TileOps.cpp.inc"
      >();
}
