//===- LoopLowering.h - tile.each, tile.map and tile.reduce become loops --===//
//
// The decision whether a body can be widened is LoopWidening's; here is only
// the shape of the loops around it.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "dialects/Tile/TileDialect.h"
#include "targets/cpu/CpuDescription.h"

namespace hone {

/// Replaces `op` by loops over whole vectors, then the rest: one masked vector
/// where masks are cheap, scalars elsewhere.
void lowerMap(tile::MapOp op, const CpuDescription &cpu);

/// The same with one accumulator vector for each result. Lanes are joined by
/// halving, so the order of the joins is a function of the bound alone.
void lowerReduce(tile::ReduceOp op, const CpuDescription &cpu);

/// Replaces `op`, whose body has no tile op any more, by loops over its points.
void lowerEach(tile::EachOp op);

/// Joins lane i with lane i + n/2, and so on down to one.
mlir::Value joinLanes(mlir::OpBuilder &b, mlir::Location loc,
                      tile::Combine kind, mlir::Value vector);

} // namespace hone
