//===- AttentionLowering.h - Attention in the registers of subgroups ------===//

#pragma once

#include "targets/gpu/GpuDialect.h"
#include "targets/gpu/TeamBuilder.h"

namespace hone::simt {

/// Keys of a turn: of more, a lane has no registers for all scores beside its
/// sums. The adjoint has slopes as well.
inline constexpr int64_t keysOfTurn(int64_t headDim, bool byGroups) {
  return headDim <= 64 || byGroups ? 64 : 32;
}
inline constexpr int64_t kKeysOfAdjointTurn = 32;

/// Queries of a turn that a subgroup multiplies with its keys.
inline constexpr int64_t queriesOfTurn(bool byGroups) {
  return byGroups ? 32 : 16;
}

/// Features of a head that a lane has sums of, without groups.
inline constexpr int64_t kResultFeatures = 64;

/// Each emits code for `op` before it; `team` is a workgroup.
void lowerAttention(AttentionOp op, const Team &team);
void lowerAttention(AttentionQueryAdjointOp op, const Team &team);
void lowerAttention(AttentionKeyAdjointOp op, const Team &team);

} // namespace hone::simt
