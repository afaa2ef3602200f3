//===- ExtractPart.cpp - hone-extract-part --------------------------------===//

#include "passes/Passes.h"

using namespace mlir;

namespace hone {

#define GEN_PASS_DEF_EXTRACTPART
#include "passes/Passes.h.inc"

namespace {
struct ExtractPart : impl::ExtractPartBase<ExtractPart> {
  using ExtractPartBase::ExtractPartBase;

  void runOnOperation() override {
    ModuleOp whole = getOperation();
    SmallVector<ModuleOp> parts(whole.getOps<ModuleOp>());
    auto own = llvm::find_if(parts, [&](ModuleOp each) {
      return each.getSymName() == StringRef(part);
    });
    if (own == parts.end()) {
      InFlightDiagnostic diag = whole.emitError("has no part '")
                                << part << "'; its parts:";
      for (ModuleOp each : parts)
        diag << " " << each.getSymName().value_or("");
      return signalPassFailure();
    }
    whole.getBody()->getOperations().splice(whole.getBody()->end(),
                                            own->getBody()->getOperations());
    for (ModuleOp each : parts)
      each.erase();
  }
};
} // namespace

} // namespace hone
