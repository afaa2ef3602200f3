//===- Blocks.h - How a target wants loops to be cut ----------------------===//
//
// What the passes above the waist know of a machine's caches. No result depends
// on it.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_DIALECTS_TILE_BLOCKS_H
#define HONE_DIALECTS_TILE_BLOCKS_H

#include <cstdint>

namespace hone::tile {

/// The part of a product's result that one iteration computes, at most.
struct Blocks {
  int64_t columns = 64; ///< of f32; of f64 half as many
  int64_t rows = 0;     ///< 0: all
};

} // namespace hone::tile

#endif // HONE_DIALECTS_TILE_BLOCKS_H
