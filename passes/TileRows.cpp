//===- TileRows.cpp - hone-tile-rows --------------------------------------===//

#include "dialects/Hone/Numerics.h"
#include "passes/Lifetimes.h"
#include "passes/Passes.h"
#include "passes/RowTiling.h"

using namespace mlir;

namespace hone {

#define GEN_PASS_DEF_TILEROWS
#include "passes/Passes.h.inc"

namespace {

struct TileRows : impl::TileRowsBase<TileRows> {
  using TileRowsBase::TileRowsBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (rows < 0 || rows % numerics::kGradientRows) {
      module.emitError("expects rows to be a multiple of ")
          << numerics::kGradientRows << ", or 0 for no tiles, but got "
          << rows.getValue();
      return signalPassFailure();
    }
    auto most = maxRows(module);
    if (failed(most))
      return signalPassFailure();
    if (rows == 0 || rows >= *most)
      return;
    for (BlockOp block : module.getOps<BlockOp>())
      for (const RowRun &run : findRowRuns(block.getBody().front()))
        if (run.isWideInside())
          tileRun(run, rows);
  }
};

} // namespace
} // namespace hone
