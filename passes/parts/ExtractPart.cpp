//===- ExtractPart.cpp - hone-extract-part --------------------------------===//

#include "passes/Passes.h"
#include "passes/parts/PartExtraction.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace hone {

#define GEN_PASS_DEF_EXTRACTPART
#include "passes/Passes.h.inc"

namespace {
struct ExtractPart : impl::ExtractPartBase<ExtractPart> {
  using ExtractPartBase::ExtractPartBase;

  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<arith::ArithDialect, func::FuncDialect,
                    memref::MemRefDialect, scf::SCFDialect>();
  }

  void runOnOperation() override {
    ModuleOp whole = getOperation();
    SmallVector<ModuleOp> separate(whole.getOps<ModuleOp>());
    if (failed(separate.empty() ? extract(whole) : keep(whole, separate)))
      signalPassFailure();
  }

private:
  LogicalResult extract(ModuleOp whole) {
    llvm::SetVector<StringRef> parts = partsOf(whole);
    if (!parts.contains(StringRef(part)))
      return hasNone(whole, parts.getArrayRef());
    return extractPart(whole, part);
  }

  LogicalResult keep(ModuleOp whole, ArrayRef<ModuleOp> separate) {
    const auto *own = llvm::find_if(separate, [&](ModuleOp each) {
      return ModuleOp(each).getSymName() == StringRef(part);
    });
    if (own == separate.end())
      return hasNone(whole, llvm::map_to_vector(separate, [](ModuleOp each) {
                       return each.getSymName().value_or("");
                     }));
    whole.getBody()->getOperations().splice(
        whole.getBody()->end(), ModuleOp(*own).getBody()->getOperations());
    for (ModuleOp each : separate)
      each.erase();
    return success();
  }

  LogicalResult hasNone(ModuleOp whole, ArrayRef<StringRef> parts) {
    InFlightDiagnostic diag = whole.emitError("has no part '")
                              << part << "'; its parts:";
    for (StringRef each : parts)
      diag << " " << each;
    return diag;
  }
};
} // namespace

} // namespace hone
