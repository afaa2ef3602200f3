//===- SeparateParts.cpp - hone-separate-parts ----------------------------===//

#include "passes/Passes.h"
#include "passes/parts/PartExtraction.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace hone {

#define GEN_PASS_DEF_SEPARATEPARTS
#include "passes/Passes.h.inc"

namespace {
struct SeparateParts : impl::SeparatePartsBase<SeparateParts> {
  void runOnOperation() override {
    ModuleOp whole = getOperation();
    SmallVector<Operation *> all;
    for (Operation &op : *whole.getBody())
      all.push_back(&op);
    SmallVector<ModuleOp> separate;
    for (StringRef part : partsOf(whole)) {
      separate.push_back(cast<ModuleOp>(whole->clone()));
      separate.back().setSymName(part);
    }
    // In its place first, so that its diagnostics have one.
    for (ModuleOp own : separate)
      whole.getBody()->push_back(own);
    for (ModuleOp own : separate)
      if (failed(extractPart(own, *own.getSymName())))
        return signalPassFailure();
    if (separate.empty())
      return;
    for (Operation *op : llvm::reverse(all))
      op->erase();
  }
};
} // namespace

} // namespace hone
