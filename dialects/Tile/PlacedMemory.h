//===- PlacedMemory.h - Where buffers are in each placement ---------------===//
//
// The code of all placements is one and looks its offsets up. These attributes
// hold the offsets, for passes that ask which buffers are apart. They are gone
// where names become addresses.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "llvm/ADT/StringRef.h"

namespace hone::tile {

/// Attribute of a tile.offset, array<i64>: its bytes in each placement.
inline constexpr llvm::StringLiteral kPlacedOffsetsAttrName =
    "tile.placed_offsets";
/// Attribute of a tile.view, array<i64>: how many of its bytes are used in each
/// placement. A view without it has the bytes of its type.
inline constexpr llvm::StringLiteral kPlacedBytesAttrName = "tile.placed_bytes";

} // namespace hone::tile
