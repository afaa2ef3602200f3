//===- VerifyTiles.cpp - hone-verify-tiles --------------------------------===//
//
// What targets rely on: they may run the bodies of parallel loops elsewhere,
// and everything around them before the first of them has ended.
//
//===----------------------------------------------------------------------===//

#include "passes/Passes.h"

#include "dialects/Tile/TileDialect.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

namespace hone {
#define GEN_PASS_DEF_VERIFYTILES
#include "passes/Passes.h.inc"
} // namespace hone

using namespace mlir;
using namespace hone;

static bool isKnownDialect(StringRef name) {
  static constexpr StringLiteral known[] = {"builtin", "tile", "arith", "math",
                                            "memref",  "scf",  "func"};
  return llvm::is_contained(known, name);
}

/// Whether the op itself, without its regions, reads or writes memory.
static bool touchesMemory(Operation *op) {
  if (isa<tile::NumberOp, tile::PrefetchOp, tile::ReleaseOp, func::CallOp>(op))
    return false;
  auto effects = dyn_cast<MemoryEffectOpInterface>(op);
  if (!effects)
    return false;
  SmallVector<MemoryEffects::EffectInstance> instances;
  effects.getEffects(instances);
  return !instances.empty();
}

static LogicalResult verifyOp(Operation *op, bool float64) {
  // 1
  if (!isKnownDialect(op->getDialect()->getNamespace()))
    return op->emitOpError("expects to be of a dialect that every target "
                           "knows");
  for (Type type : op->getResultTypes())
    if (!isKnownDialect(type.getDialect().getNamespace()) ||
        isa<VectorType>(type))
      return op->emitOpError("expects results that every target knows but "
                             "got ")
             << type;
  bool isInside = op->getParentOfType<tile::ParallelOp>() != nullptr;
  // 2
  if (!isInside && touchesMemory(op))
    return op->emitOpError("expects to stand in 'tile.parallel': what an entry "
                           "runs must not depend on memory");
  // 3
  if (isInside && isa<tile::PrefetchOp, tile::ReleaseOp>(op))
    return op->emitOpError("expects to stand outside of 'tile.parallel'");
  // 4
  if (!float64 && isInside && llvm::any_of(op->getResultTypes(), [](Type type) {
        return type.isF64();
      }))
    return op->emitOpError("needs f64, which the target does not have");
  return success();
}

namespace {

struct VerifyTiles : public hone::impl::VerifyTilesBase<VerifyTiles> {
  using VerifyTilesBase::VerifyTilesBase;

  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      if (function->hasAttr(tile::TileDialect::kHostAttrName))
        continue;
      WalkResult walked = function.walk([&](Operation *op) {
        return failed(verifyOp(op, float64)) ? WalkResult::interrupt()
                                             : WalkResult::advance();
      });
      if (walked.wasInterrupted())
        return signalPassFailure();
    }
    markAllAnalysesPreserved();
  }
};

} // namespace
