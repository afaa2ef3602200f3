//===- PlainBlocks.h - Blocks as they are where nothing trains ------------===//
//
// Dropout, noise and smoothed labels are of training alone: a loss that is
// evaluated, and text, are of the model itself.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "dialects/Hone/HoneOps.h"

namespace hone {

/// Removes from `block` the work of training alone (RegularizerOpInterface).
void makePlain(BlockOp block);

/// `entry` without its blocks' work of training alone: itself if there is none,
/// else a copy, `@entry.plain`, of blocks `@block.plain`. Fails with a
/// diagnostic if a name is taken.
mlir::FailureOr<EntryOp> createPlainCopy(EntryOp entry);

/// Erases `entry`, if nothing runs it, and blocks that nothing calls then.
void eraseUnrun(EntryOp entry);

/// Erases ambient values of `block` that nothing reads.
void eraseUnreadAmbient(BlockOp block);

} // namespace hone
