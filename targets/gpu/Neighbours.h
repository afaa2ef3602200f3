//===- Neighbours.h - Points whose numbers lie side by side ---------------===//
//
// A thread that has several neighbouring points loads and stores up to 16 bytes
// at once, where the numbers of the points lie side by side as the points do.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "targets/gpu/TeamBuilder.h"

namespace hone::simt {

/// Bytes that a thread loads or stores at once, at most.
inline constexpr int64_t kAccessBytes = 16;

/// Whether `count` numbers of a row of `memory` from `column` on begin where
/// one access of them does. The same is so in each row; null: it need not be.
mlir::Value beginsAccess(TeamBuilder &b, mlir::Value memory, mlir::Value column,
                         int64_t count);

/// Stores numbers side by side from `indices` on, where an access of them
/// begins.
void storeNeighbours(TeamBuilder &b, llvm::ArrayRef<mlir::Value> numbers,
                     mlir::Value memory,
                     llvm::SmallVector<mlir::Value> indices);

/// A body whose points are neighbours along its argument `along`.
class NeighbourBody {
public:
  NeighbourBody(mlir::Block &body, mlir::BlockArgument along);

  /// Whether all that it stores lies side by side as points do, and there is
  /// something that does.
  bool isWide() const;
  /// Bytes of the narrowest number that lies so.
  int64_t narrowest() const;
  /// Whether `count` neighbours from `first` on begin accesses, in all that
  /// lies side by side. Null: not known.
  mlir::Value beginsAccesses(TeamBuilder &b, mlir::Value first, int64_t count);
  /// Copies of the body, which is wide, for points, each `count` of which are
  /// neighbours; their stores come last. Returns the terminator's operands for
  /// each.
  llvm::SmallVector<llvm::SmallVector<mlir::Value>>
  inlined(TeamBuilder &b, llvm::ArrayRef<llvm::SmallVector<mlir::Value>> points,
          int64_t count);

private:
  /// An access that lies side by side with those of neighbours.
  struct Access {
    mlir::Value memory;
    mlir::Value column; ///< its last index
  };
  bool depends(mlir::Value value) const;
  bool follows(mlir::Value index) const;

  mlir::Block &body;
  mlir::BlockArgument along;
  llvm::SmallDenseMap<mlir::Operation *, Access> accesses;
  bool storesApart = false;
};

} // namespace hone::simt
