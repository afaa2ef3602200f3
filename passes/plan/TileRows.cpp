//===- TileRows.cpp - hone-tile-rows --------------------------------------===//

#include "dialects/Hone/Numerics.h"
#include "dialects/Hone/SequenceTiles.h"
#include "passes/Passes.h"
#include "passes/place/Lifetimes.h"
#include "passes/plan/RowTiling.h"

using namespace mlir;

namespace hone {

#define GEN_PASS_DEF_TILEROWS
#include "passes/Passes.h.inc"

namespace {

/// Whether all of `body` can run, and now does, in tiles of whole sequences.
bool tilesSequences(mlir::Block &body, int64_t height, int64_t most) {
  const int64_t longest =
      tiledSequences(body.getParentOp()->getParentOfType<ModuleOp>());
  const int64_t least = leastSequenceTile(longest);
  if (longest == 0 || height < least || least >= most)
    return false;
  // Heights that plans try are powers of two; between them is the lowest tile.
  height =
      height < 2 * least ? least : llvm::alignTo(height, kSequenceTileRows);
  std::optional<SequenceRun> run = findSequenceRun(body);
  if (run)
    tileSequences(*run, height, longest);
  return run.has_value();
}

struct TileRows : impl::TileRowsBase<TileRows> {
  using TileRowsBase::TileRowsBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    for (int64_t height : {rows.getValue(), forwardRows.getValue()})
      if (height < 0 || height % numerics::kGradientRows) {
        module.emitError("expects the rows of a tile to be a multiple of ")
            << numerics::kGradientRows << ", or 0 for no tiles, but got "
            << height;
        return signalPassFailure();
      }
    auto most = maxRows(module);
    if (failed(most))
      return signalPassFailure();
    for (BlockOp block : module.getOps<BlockOp>()) {
      mlir::Block &body = block.getBody().front();
      bool hasSinks = !body.getOps<GradientOp>().empty();
      int64_t height = hasSinks ? rows : forwardRows;
      if (height == 0 || height >= *most)
        continue;
      if (tilesSequences(body, height, *most))
        continue;
      for (const RowRun &run : findRowRuns(body))
        if (run.isWideInside())
          tileRun(run, height);
    }
  }
};

} // namespace
} // namespace hone
