//===- ProductLowering.h - tile.product on a workgroup --------------------===//

#ifndef HONE_TARGETS_GPU_PRODUCTLOWERING_H
#define HONE_TARGETS_GPU_PRODUCTLOWERING_H

#include "dialects/Tile/TileDialect.h"
#include "targets/gpu/TeamBuilder.h"

namespace hone::simt {

/// Emits code for `op` before it; `team` is a workgroup.
void lowerProduct(tile::ProductOp op, const Team &team);

} // namespace hone::simt

#endif // HONE_TARGETS_GPU_PRODUCTLOWERING_H
