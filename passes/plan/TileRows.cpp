//===- TileRows.cpp - hone-tile-rows --------------------------------------===//

#include "dialects/Hone/Numerics.h"
#include "passes/Passes.h"
#include "passes/place/Lifetimes.h"
#include "passes/plan/RowTiling.h"

using namespace mlir;

namespace hone {

#define GEN_PASS_DEF_TILEROWS
#include "passes/Passes.h.inc"

namespace {

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
      for (const RowRun &run : findRowRuns(body))
        if (run.isWideInside())
          tileRun(run, height);
    }
  }
};

} // namespace
} // namespace hone
