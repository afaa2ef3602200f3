//===- SequenceTiles.cpp - Tiles of rows that end where sequences do ------===//

#include "dialects/Hone/SequenceTiles.h"

#include "mlir/IR/Builders.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace hone {

int64_t longestSequence(Operation *op) {
  auto rows = op->getAttrOfType<IntegerAttr>(kLongestSequenceAttrName);
  return rows ? rows.getInt() : 0;
}

void setLongestSequence(RowTilesOp tiles, int64_t rows) {
  tiles->setAttr(kLongestSequenceAttrName,
                 Builder(tiles.getContext()).getI64IntegerAttr(rows));
}

int64_t tiledSequences(ModuleOp module) {
  // Targets that say so launch kernels as the batch says, and these count
  // blocks of keys and of queries as above.
  return attentionIterations(module) > 0 ? mostPositions(module).value_or(0)
                                         : 0;
}

int64_t leastSequenceTile(int64_t longest) {
  return llvm::alignTo(longest + kSequenceTileRows - 1, kSequenceTileRows);
}

int64_t bytesBeforeSequences(Type result) {
  constexpr uint64_t cacheLine = 64;
  return llvm::alignTo(bytesAtRows(result, kSequenceTileRows - 1), cacheLine);
}

int64_t bytesBeforeSequences(RowTilesOp tiles) {
  int64_t bytes = 0;
  if (longestSequence(tiles) > 0)
    for (Type result : tiles.getResultTypes())
      bytes += bytesBeforeSequences(result);
  return bytes;
}

bool isOfSequences(Operation *op) {
  // An op that continues a sequence needs earlier rows of it. One of them, a
  // sum, has a result without rows, for which it needs the whole batch.
  return (op->hasTrait<RowWise>() || op->hasTrait<PositionWise>() ||
          isa<ContinuationOpInterface>(op)) &&
         llvm::all_of(op->getResultTypes(), hasRows);
}

} // namespace hone
